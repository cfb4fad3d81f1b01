package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
)

const (
	// silent bounds the time that is measured while the agent is silent.
	silent = 20 * time.Second
	// early is when the heap of a talking session is read first, as the base of the goal. In shorter runs it is read earlier,
	// and there is no goal.
	early = time.Minute
	// growth is the factor by which the heap may be larger at the end.
	growth = 1.1
)

// measureSteady measures both clients at the same time, each in a page of its own, first while the agent is silent and
// then while it talks.
func measureSteady(ctx context.Context, b *browsertest.Browser, d time.Duration) (_ []figures.Row, err error) {
	service, err := startService(ctx, netem.Conditions{}, netem.Conditions{}, nil)
	if err != nil {
		return nil, err
	}
	defer service.Close()
	ctx, cancel := context.WithTimeout(ctx, d+silent+patience)
	defer cancel()
	pages := map[string]*browsertest.Page{}
	for _, client := range clients {
		p, err := b.NewPage(ctx, service.page())
		if err != nil {
			return nil, err
		}
		defer p.Close()
		if err := countThreadTime(ctx, p); err != nil {
			return nil, err
		}
		if err := p.Eval(ctx, script(`stay("`+client+`")`), nil); err != nil {
			return nil, fmt.Errorf("%s: %w; the console: %v", client, err, p.Console())
		}
		pages[client] = p
	}
	idle, err := work(ctx, pages, min(silent, d/4))
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		if err := p.Eval(ctx, script("talk()"), nil); err != nil {
			return nil, err
		}
	}
	first := min(early, d/4)
	log.Printf("steady: %v", d)
	if err := figures.Wait(ctx, first); err != nil {
		return nil, err
	}
	before, err := heaps(ctx, pages)
	if err != nil {
		return nil, err
	}
	talking, err := work(ctx, pages, d-first)
	if err != nil {
		return nil, err
	}
	after, err := heaps(ctx, pages)
	if err != nil {
		return nil, err
	}
	goal := none
	if first == early {
		goal = figures.Goal{Of: figures.AtMost, Bound: growth * before["ours"] / 1e6, Why: fmt.Sprintf("that after %v + 10 %%", first)}
	}
	row := func(what, unit string, of func(client string) float64, goal figures.Goal) figures.Row {
		return figures.Row{What: what, Unit: unit, Ours: of("ours"), JavaScript: of("plain"), Runs: 1, Goal: goal}
	}
	share := func(of map[string]taken, part func(taken) float64) func(string) float64 {
		return func(client string) float64 { return 100 * part(of[client]) }
	}
	script, tasks := func(t taken) float64 { return t.script }, func(t taken) float64 { return t.tasks }
	in := func(of map[string]float64) func(string) float64 {
		return func(client string) float64 { return of[client] / 1e6 }
	}
	return []figures.Row{
		row("script, agent silent", "% of a core", share(idle, script), atMost(0.15)),
		row("all tasks of the main thread, agent silent", "% of a core", share(idle, tasks), atMost(0.8)),
		row("script, agent talking", "% of a core", share(talking, script), atMost(1.2)),
		row("all tasks of the main thread, agent talking", "% of a core", share(talking, tasks), atMost(2.1)),
		row(fmt.Sprintf("heap of a session that has talked for %v, WebAssembly memory included", first), "MB", in(before), none),
		row(fmt.Sprintf("heap of a session that has talked for %v", d), "MB", in(after), goal),
	}, nil
}

func heaps(ctx context.Context, pages map[string]*browsertest.Page) (map[string]float64, error) {
	all := map[string]float64{}
	for client, p := range pages {
		bytes, err := heap(ctx, p)
		if err != nil {
			return nil, err
		}
		all[client] = bytes
	}
	return all, nil
}

// taken is the share of the time that the main thread of a page spends in scripts, and in all tasks.
type taken struct{ script, tasks float64 }

// work measures the main threads for a while.
func work(ctx context.Context, pages map[string]*browsertest.Page, d time.Duration) (map[string]taken, error) {
	begin := map[string]map[string]float64{}
	for client, p := range pages {
		var err error
		if begin[client], err = metrics(ctx, p); err != nil {
			return nil, err
		}
	}
	if err := figures.Wait(ctx, d); err != nil {
		return nil, err
	}
	all := map[string]taken{}
	for client, p := range pages {
		end, err := metrics(ctx, p)
		if err != nil {
			return nil, err
		}
		per := func(name string) float64 {
			return (end[name] - begin[client][name]) / (end["Timestamp"] - begin[client]["Timestamp"])
		}
		all[client] = taken{per("ScriptDuration"), per("TaskDuration")}
	}
	return all, nil
}

// countThreadTime makes the browser measure the tasks in processor time instead of elapsed time.
func countThreadTime(ctx context.Context, p *browsertest.Page) error {
	_, err := browsertest.Call(ctx, p, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	return err
}

// metrics returns the browser's performance metrics; times are in seconds.
func metrics(ctx context.Context, p *browsertest.Page) (map[string]float64, error) {
	result, err := browsertest.Call(ctx, p, performance.GetMetrics, cdp.Empty{})
	all := map[string]float64{}
	for _, m := range result.Metrics {
		all[m.Name] = m.Value
	}
	return all, err
}
