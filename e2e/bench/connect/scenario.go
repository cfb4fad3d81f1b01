package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
)

// The download conditions of a slow connection, for the rows about cold visits.
const (
	lineRate    = 9_000_000 // bits per second
	lineLatency = 60 * time.Millisecond
)

// scenario is one way to visit a page, measured several times with each client.
type scenario struct {
	name string
	runs int
	// page returns the script to run in the page; client is "plain" or "ours".
	page func(client string) string
	// roundTrip is the round-trip time of sockets, requests and media.
	roundTrip time.Duration
	// slow is the factor by which the processor is throttled; 0 is full speed.
	slow float64
	// line limits the download.
	line bool
	// tls encrypts everything, so that each new connection costs its handshakes. The line is then that of the service, because
	// the browser's limits don't delay handshakes.
	tls bool
	// again measures repeated visits of a page instead of the first one.
	again bool
	rows  func(results) []figures.Row
}

func visit(client string) string  { return script(`visit("` + client + `")`) }
func loaded(client string) string { return script(`loaded("` + client + `", 5, false)`) }
func first(client string) string  { return script(`loaded("` + client + `", 1, false)`) }

// preloaded is an element that was in view for a while before the click: with preload="visible", and with nothing loaded early.
func preloaded(client string) string {
	return script(`element("` + map[string]string{"ours": "visible", "plain": "none"}[client] + `")`)
}

// chat is a conversation in text, which the plain client does not have.
func chat(client string) string { return script(`chat("` + client + `")`) }

// The runtime prepares its session before; the plain client can't.
func preparedFive(client string) string { return script(`loaded("` + client + `", 5, true)`) }
func prepared(client string) string     { return script(`loaded("` + client + `", 1, true)`) }

func script(call string) string {
	return `import("/e2e/bench/connect/page/measure.js").then((measure) => measure.` + call + `)`
}

// figure is one measurement: times in milliseconds, as measure.js names them, and bytes.
type figure map[string]float64

// clients are measured in this order, and in every other run in the reverse order.
var clients = []string{"plain", "ours"}

// results are the figures of each client.
type results map[string][]figure

// measure runs the clients alternately.
func (s *scenario) measure(ctx context.Context, b *browsertest.Browser, certificate *tls.Certificate) (all results, err error) {
	rest := netem.Conditions{Delay: s.roundTrip / 2}
	http, encryption := rest, (*tls.Certificate)(nil)
	if s.tls {
		encryption = certificate
	}
	if s.tls && s.line {
		http = netem.Conditions{Delay: lineLatency / 2, Bandwidth: lineRate}
	}
	service, err := startService(ctx, http, rest, encryption)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	log.Printf("%s: %d runs of each client", s.name, s.runs)
	visited := map[string]*browsertest.Page{}
	if s.again {
		for _, client := range clients {
			p, err := b.NewPage(ctx, service.page())
			if err != nil {
				return nil, err
			}
			defer p.Close()
			if _, err := s.once(ctx, service, p, client); err != nil {
				return nil, fmt.Errorf("%s: %w", client, err)
			}
			visited[client] = p
		}
		if err := figures.Wait(ctx, cached); err != nil {
			return nil, err
		}
	}
	all = results{}
	for i := range s.runs {
		for j := range clients {
			client := clients[(i+j)%len(clients)]
			f, err := s.arrive(ctx, b, service, visited[client], client)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", client, err)
			}
			all[client] = append(all[client], f)
		}
	}
	return all, nil
}

const (
	// patience bounds one visit.
	patience = 30 * time.Second
	// cached is how long the browser gets after a visit to cache the compiled program.
	cached = 3 * time.Second
)

// arrive measures one client: in the page visited, which it has used before, or if that is
// nil in a new page with empty caches.
func (s *scenario) arrive(ctx context.Context, b *browsertest.Browser, service *service, visited *browsertest.Page, client string) (figure, error) {
	if visited != nil {
		if err := visited.Navigate(ctx, service.page()); err != nil {
			return nil, err
		}
		return s.once(ctx, service, visited, client)
	}
	p, err := b.NewPage(ctx, service.page())
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return s.once(ctx, service, p, client)
}

// once measures one client in an open page.
func (s *scenario) once(ctx context.Context, service *service, p *browsertest.Page, client string) (figure, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if s.slow > 0 {
		if err := p.SetCPUThrottle(ctx, s.slow); err != nil {
			return nil, err
		}
	}
	if s.line && !s.tls {
		if err := p.SetDownload(ctx, lineLatency, lineRate); err != nil {
			return nil, err
		}
	}
	service.files.read.Store(0)
	var f figure
	err := p.Eval(ctx, s.page(client), &f)
	if err != nil {
		return nil, fmt.Errorf("%w; the console: %v", err, p.Console())
	}
	f["bytes"] = float64(service.files.read.Load())
	f["heap"], err = heap(ctx, p)
	return f, err
}

// heap returns the bytes that the page's scripts use, including WebAssembly memory.
func heap(ctx context.Context, p *browsertest.Page) (float64, error) {
	var memory float64
	if err := p.Eval(ctx, script("memory()"), &memory); err != nil {
		return 0, err
	}
	bytes, err := p.Heap(ctx)
	return memory + bytes, err
}

// row compares one figure of both clients.
func (r results) row(what, figure string, goal figures.Goal) figures.Row {
	row := figures.Row{What: what, Unit: "ms", Runs: len(r["ours"]), Goal: goal}
	row.Ours, row.JavaScript = r.median("ours", figure), r.median("plain", figure)
	return row
}

func (r results) median(client, figure string) float64 {
	var values []float64
	for _, f := range r[client] {
		values = append(values, f[figure])
	}
	return figures.Median(values)
}

// in returns the row converted to another unit; size is that unit in units of the row.
func in(unit string, size float64, row figures.Row) figures.Row {
	row.Unit, row.Ours, row.JavaScript = unit, row.Ours/size, row.JavaScript/size
	if row.Goal.Of == figures.AtMost {
		row.Goal.Bound /= size
	}
	return row
}

func ratio(bound float64) figures.Goal { return figures.Goal{Of: figures.Ratio, Bound: bound} }

func atMost(bound float64) figures.Goal { return figures.Goal{Of: figures.AtMost, Bound: bound} }

// own is a row for one set of results, without a comparison.
func (r results) own(what, client, figure string) figures.Row {
	return figures.Row{What: what, Unit: "ms", Alone: true, Runs: len(r[client]), Ours: r.median(client, figure)}
}

var none figures.Goal

var scenarios = []scenario{
	{name: "loaded", runs: 7, page: loaded, rows: func(r results) []figures.Row {
		return []figures.Row{
			r.row("connect to first frame, loaded, first in the page", "frame", ratio(1.1)),
			r.row("connect to first frame, loaded, fifth in the page", "last", ratio(0.75)),
			r.row("connect to first word, loaded, first in the page", "word", none),
			in("MB", 1e6, r.row("heap after five sessions, WebAssembly memory included", "heap", none)),
		}
	}},
	{name: "far", runs: 5, page: first, roundTrip: 100 * time.Millisecond, rows: func(r results) []figures.Row {
		return []figures.Row{
			r.row("connect to first frame, loaded, 100 ms round trip, relay only", "frame", ratio(0.65)),
			r.row("connect to first word, loaded, 100 ms round trip, relay only", "word", none),
		}
	}},
	{name: "slow", runs: 5, page: first, slow: 4, rows: func(r results) []figures.Row {
		return []figures.Row{
			r.row("connect to first frame, loaded, processor × 4", "frame", ratio(1.3)),
			r.row("connect to first word, loaded, processor × 4", "word", none),
			r.row("total blocking time of a connect, loaded, processor × 4", "blocked", none),
			r.row("longest task of a connect, loaded, processor × 4", "longest", none),
		}
	}},
	{name: "prepared", runs: 7, page: preparedFive, rows: func(r results) []figures.Row {
		return []figures.Row{
			r.row("connect to first frame, prepared, first in the page", "frame", ratio(1.1)),
			r.row("connect to first frame, prepared, fifth in the page", "last", ratio(0.75)),
			r.row("connect to first word, prepared, first in the page", "word", none),
		}
	}},
	{name: "prepared-far", runs: 5, page: prepared, roundTrip: 100 * time.Millisecond, rows: func(r results) []figures.Row {
		return []figures.Row{
			r.row("connect to first frame, prepared, 100 ms round trip, relay only", "frame", ratio(0.65)),
			r.row("connect to first word, prepared, 100 ms round trip, relay only", "word", none),
		}
	}},
	{name: "prepared-slow", runs: 5, page: prepared, slow: 4, rows: func(r results) []figures.Row {
		return []figures.Row{r.row("connect to first frame, prepared, processor × 4", "frame", ratio(1.15))}
	}},
	{name: "element", runs: 5, page: preloaded, roundTrip: lineLatency, line: true, tls: true, rows: func(r results) []figures.Row {
		const what = "click to first frame of an element that was in view for 3 s, cold, TLS, 9 Mbit/s and 60 ms for everything, "
		return []figures.Row{
			r.own(what+`preload="visible"`, "ours", "frame"),
			r.own(what+"nothing loaded early", "plain", "frame"),
		}
	}},
	{name: "cold", runs: 5, page: visit, line: true, rows: func(r results) []figures.Row {
		return []figures.Row{
			r.row("import to first frame, cold, 9 Mbit/s and 60 ms", "importToFrame", atMost(1450)),
			r.row("import to ready, cold, 9 Mbit/s and 60 ms", "ready", none),
			r.row("import to first word, cold, 9 Mbit/s and 60 ms", "importToWord", none),
			in("kB", 1e3, r.row("bytes before the first frame, modules and program", "bytesToFrame", atMost(760e3))),
			in("kB", 1e3, r.row("bytes of modules and program, both parts", "bytes", atMost(1200e3))),
			in("MB", 1e6, r.row("heap after one session, WebAssembly memory included", "heap", none)),
		}
	}},
	{name: "cold-tls", runs: 5, page: visit, roundTrip: lineLatency, line: true, tls: true, rows: func(r results) []figures.Row {
		return []figures.Row{
			r.row("import to first frame, cold, TLS, 9 Mbit/s and 60 ms for everything", "importToFrame", none),
			r.row("import to ready, cold, TLS, 9 Mbit/s and 60 ms for everything", "ready", none),
		}
	}},
	{name: "cold-local", runs: 5, page: visit, rows: func(r results) []figures.Row {
		return []figures.Row{r.row("import to first frame, cold, no limits", "importToFrame", atMost(350))}
	}},
	{name: "chat", runs: 5, page: chat, line: true, rows: func(r results) []figures.Row {
		bytes := in("kB", 1e3, r.own("bytes before the first answer of a chat, modules and program", "ours", "bytesToAnswer"))
		bytes.Goal = atMost(500)
		return []figures.Row{r.own("import to first answer of a chat, cold, 9 Mbit/s and 60 ms", "ours", "importToAnswer"), bytes}
	}},
	{name: "cold-slow", runs: 5, page: visit, line: true, slow: 4, rows: func(r results) []figures.Row {
		return []figures.Row{
			r.row("import to first frame, cold, 9 Mbit/s and 60 ms, processor × 4", "importToFrame", atMost(2200)),
			r.row("import to ready, cold, 9 Mbit/s and 60 ms, processor × 4", "ready", none),
		}
	}},
	{name: "blocking", runs: 5, page: visit, slow: 4, rows: func(r results) []figures.Row {
		return []figures.Row{
			r.row("total blocking time, import to connected, cold, processor × 4", "blocked", atMost(250)),
			r.row("longest task, import to connected, cold, processor × 4", "longest", atMost(150)),
			r.row("import to first frame, cold, processor × 4", "importToFrame", none),
		}
	}},
	{name: "warm", runs: 5, page: visit, again: true, rows: func(r results) []figures.Row {
		for _, client := range clients {
			for _, f := range r[client] {
				f["sum"] = f["ready"] + f["frame"]
			}
		}
		return []figures.Row{
			r.row("ready + first frame, warm visit", "sum", ratio(1.3)),
			r.row("import to ready, warm visit", "ready", none),
			r.row("connect to first frame, warm visit", "frame", none),
			r.row("import to first frame, warm visit", "importToFrame", none),
		}
	}},
}
