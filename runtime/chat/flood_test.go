package chat

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const (
	floodLength = 30_000 // segments
	// floodRoom is how much the heap may grow in a flood, in bytes: far less than
	// its segments, and far more than the noise of the garbage collector.
	floodRoom = 6 << 20
)

// flood answers every turn with many segments, as fast as they are read.
type flood struct {
	line   func(n int) string
	length int
	given  atomic.Int64 // segments written so far
}

func (f *flood) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	if !strings.HasSuffix(r.URL, "/assistant/converse") {
		return &fetch.Response{Status: 200, Header: fetch.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
	}
	return &fetch.Response{
		Status: 200, Header: fetch.Header{"content-type": "application/x-ndjson"}, Body: &floodBody{flood: f, ctx: ctx},
	}, nil
}

type floodBody struct {
	*flood
	ctx  context.Context
	n    int
	rest bytes.Buffer
}

func (b *floodBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	for b.rest.Len() < len(p) && b.n < b.length {
		b.rest.WriteString(b.line(b.n))
		b.rest.WriteByte('\n')
		b.n++
		b.given.Add(1)
	}
	if b.rest.Len() == 0 {
		return 0, io.EOF
	}
	return b.rest.Read(p)
}

func (*floodBody) Close() error { return nil }

// words is a flood of text, of which each piece is different.
func words(n int) string {
	return fmt.Sprintf(`{"role":"assistant","type":"text","content":"word %d of an answer that never ends ","segmentNumber":%d,"et":0.5,"threadId":"5f0c"}`, n, n)
}

// heapGauge notes the highest point of the heap above where it began.
type heapGauge struct{ began, highest int64 }

func newHeapGauge() *heapGauge { return &heapGauge{began: leaktest.Heap()} }

func (g *heapGauge) read() { g.highest = max(g.highest, leaktest.Heap()-g.began) }

func startFlood(t *testing.T, f *flood, hear func(event.Event)) *Session {
	t.Helper()
	genie := "https://brain.example"
	s := must.Get(New(Options{Options: session.Options{Token: "token", GenieURL: &genie, OnEvent: hear, HTTPClient: fetch.As(f)}}))(t)
	t.Cleanup(s.Close)
	must.Do(t, s.Connect(context.Background()))
	return s
}

// TestALongStreamTakesConstantMemory, in a loop and in a listener,
// although the listener is slower than the service.
func TestALongStreamTakesConstantMemory(t *testing.T) {
	f := &flood{line: words, length: floodLength}
	var heard, behind int64
	gauge := newHeapGauge()
	s := startFlood(t, f, func(e event.Event) {
		if _, ok := e.(event.BrainSegment); !ok {
			return
		}
		heard++
		behind = max(behind, f.given.Load()-heard)
		if heard%3000 == 0 {
			gauge.read()
			time.Sleep(time.Millisecond)
		}
	})
	began, n := time.Now(), 0
	for seg, err := range s.Stream(t.Context(), "Go on", TurnOptions{}) {
		must.Do(t, err)
		if want := fmt.Sprintf("word %d of", n); !strings.HasPrefix(seg.ContentString(), want) {
			t.Fatalf("segment %d is %q", n, seg.ContentString())
		}
		n++
	}
	if n != floodLength || heard != floodLength {
		t.Errorf("%d segments in the loop, %d in the listener", n, heard)
	}
	// Two events a segment wait for the listener, and a buffer is read ahead.
	if limit := int64(session.MaxUndelivered + 1000); behind > limit {
		t.Errorf("the service was %d segments ahead, want at most %d", behind, limit)
	}
	if gauge.highest > floodRoom {
		t.Errorf("the heap grew by %d kB", gauge.highest>>10)
	}
	t.Logf("measured: chat: %d segments through a stream and a listener in %v, heap +%d kB",
		n, time.Since(began).Round(time.Millisecond), max(0, gauge.highest>>10))
}

// TestAnAnswerWithoutAnEnd is in the events as a whole, and kept as far as any answer
// of a model goes, although the caller set no limit.
func TestAnAnswerWithoutAnEnd(t *testing.T) {
	const length, room = keptSegments + 5000, 16 << 20
	heard := 0
	gauge := newHeapGauge()
	s := startFlood(t, &flood{line: words, length: length}, func(e event.Event) {
		if _, ok := e.(event.BrainSegment); ok {
			heard++
		}
	})
	turn, err := s.SendText(t.Context(), "Go on", TurnOptions{})
	gauge.read()
	if err != nil || heard != length {
		t.Errorf("%d segments were heard of, %v", heard, err)
	}
	if !turn.Truncated || len(turn.Segments) != keptSegments || turn.ThreadID != "5f0c" {
		t.Errorf("%d segments were kept, truncated: %v", len(turn.Segments), turn.Truncated)
	}
	if gauge.highest > room {
		t.Errorf("the heap grew by %d kB", gauge.highest>>10)
	}
}

// TestAFloodOfTheLargestSegments is bounded by its bytes, not by its count.
func TestAFloodOfTheLargestSegments(t *testing.T) {
	const length = 60
	extra := strings.Repeat("x", 100_000)
	f := &flood{length: length, line: func(int) string { return `{"type":"think","content":"","metadata":{"more":"` + extra + `"}}` }}
	s := startFlood(t, f, nil)
	turn, err := s.SendText(t.Context(), "Go on", TurnOptions{})
	if err != nil || !turn.Truncated || len(turn.Segments) != converse.MaxKept/len(extra) {
		t.Errorf("%d segments were kept, truncated: %v, %v", len(turn.Segments), turn.Truncated, err)
	}
}

// TestASlowListenerIsWaitedFor by bytes too: few segments can be many of them.
func TestASlowListenerIsWaitedFor(t *testing.T) {
	const length, size = 60, 200_000
	pad := strings.Repeat("x", size)
	f := &flood{length: length, line: func(int) string { return `{"type":"think","content":"","pad":"` + pad + `"}` }}
	var behind, heard int64
	s := startFlood(t, f, func(e event.Event) {
		if _, ok := e.(event.BrainSegment); ok {
			time.Sleep(time.Millisecond)
			heard++
			behind = max(behind, f.given.Load()-heard)
		}
	})
	for _, err := range s.Stream(t.Context(), "Go on", TurnOptions{}) {
		must.Do(t, err)
	}
	if limit := int64(maxUndelivered/size + 3); heard != length || behind > limit {
		t.Errorf("%d segments were heard, and the service was %d ahead, want at most %d", heard, behind, limit)
	}
}
