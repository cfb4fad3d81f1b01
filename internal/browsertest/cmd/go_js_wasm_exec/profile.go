//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/profiler"
	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/internal/browsertest"
)

// cpuProfilePath returns the file that -test.cpuprofile asks for, or "". Go has
// no CPU profiler for js: its file would be empty, so the browser's profile
// takes its place.
func cpuProfilePath(args []string) string {
	path := testFlag(args, "cpuprofile")
	if dir := testFlag(args, "outputdir"); path != "" && dir != "" && !filepath.IsAbs(path) {
		return filepath.Join(dir, path)
	}
	return path
}

func startProfile(ctx context.Context, page *browsertest.Page) error {
	err := page.Run(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		if _, err := cdp.Call(ctx, t, profiler.Enable, cdp.Empty{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, t, profiler.Start, cdp.Empty{})
		return err
	}))
	if err != nil {
		return fmt.Errorf("start CPU profile: %w", err)
	}
	return nil
}

func stopProfile(ctx context.Context, page *browsertest.Page, path string) error {
	err := page.Run(ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		res, err := cdp.Call(ctx, t, profiler.Stop, cdp.Empty{})
		if err != nil {
			return err
		}
		return os.WriteFile(path, encodeProfile(res.Profile), 0o644)
	}))
	if err != nil {
		return fmt.Errorf("write CPU profile: %w", err)
	}
	return nil
}

// encodeProfile turns the browser's profile into pprof's format, a gzipped
// protocol buffer (https://github.com/google/pprof/blob/main/proto/profile.proto,
// whose field numbers appear below). A node of the browser's call tree becomes a
// location with a function of its own.
func encodeProfile(p *profiler.Profile) []byte {
	var out message
	table := stringTable{index: map[string]int{}}
	table.id("") // the format wants it first

	valueType := func(kind, unit string) message {
		var m message
		m.number(1, table.id(kind))
		m.number(2, table.id(unit))
		return m
	}
	out.message(1, valueType("samples", "count"))
	out.message(1, valueType("cpu", "nanoseconds"))

	parents := map[int64]int64{}
	for _, node := range p.Nodes {
		for _, child := range node.Children {
			parents[child] = node.ID
		}
	}
	const idle, root = "(idle)", "(root)"
	skip := map[int64]bool{}
	for _, node := range p.Nodes {
		frame := node.CallFrame
		skip[node.ID] = frame.FunctionName == idle || frame.FunctionName == root
		name := frame.FunctionName
		if name == "" {
			name = "(anonymous)"
		}
		var function, line, location message
		function.number(1, int(node.ID))
		function.number(2, table.id(name))
		function.number(4, table.id(frame.URL))
		out.message(5, function)
		line.number(1, int(node.ID))
		line.number(2, int(frame.LineNumber)+1)
		location.number(1, int(node.ID))
		location.message(4, line)
		out.message(4, location)
	}

	type sum struct {
		count int
		time  time.Duration
	}
	sums := map[int64]*sum{}
	for i, id := range p.Samples {
		if sums[id] == nil {
			sums[id] = &sum{}
		}
		sums[id].count++
		// The browser's clock can step back a little between two samples.
		sums[id].time += max(0, time.Duration(p.TimeDeltas[i])*time.Microsecond)
	}
	for _, node := range p.Nodes { // the order of nodes, not of the map, for the same bytes each time
		total := sums[node.ID]
		if total == nil || skip[node.ID] {
			continue
		}
		var sample message
		for id := node.ID; id != 0 && !skip[id]; id = parents[id] {
			sample.number(1, int(id))
		}
		sample.number(2, total.count)
		sample.number(2, int(total.time))
		out.message(2, sample)
	}

	out.message(11, valueType("cpu", "nanoseconds"))
	out.number(12, int(time.Millisecond)) // Chromium samples every millisecond
	out.number(10, int((p.EndTime-p.StartTime)*float64(time.Microsecond)))
	for _, s := range table.strings {
		out.bytes(6, []byte(s))
	}

	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	w.Write(out)
	w.Close()
	return file.Bytes()
}

// stringTable numbers the strings of a profile.
type stringTable struct {
	strings []string
	index   map[string]int
}

func (t *stringTable) id(s string) int {
	id, ok := t.index[s]
	if !ok {
		id = len(t.strings)
		t.index[s] = id
		t.strings = append(t.strings, s)
	}
	return id
}

// message is a protocol buffer message in the making.
type message []byte

func (m *message) number(field, value int) {
	*m = binary.AppendUvarint(*m, uint64(field)<<3)
	*m = binary.AppendUvarint(*m, uint64(value))
}

func (m *message) bytes(field int, value []byte) {
	const lengthDelimited = 2
	*m = binary.AppendUvarint(*m, uint64(field)<<3|lengthDelimited)
	*m = binary.AppendUvarint(*m, uint64(len(value)))
	*m = append(*m, value...)
}

func (m *message) message(field int, value message) { m.bytes(field, value) }
