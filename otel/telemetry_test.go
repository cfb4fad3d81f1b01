package agentotel_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/agentruntime/agentruntime/agenttest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/localservice"
	agentotel "github.com/agentruntime/agentruntime/otel"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const script = `
rules:
  - when: {contains: note}
    steps:
      - tool: {name: save_note, args: {note: call back}}
      - say: It is noted.
`

// logged is the log of the service.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) contains(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), part)
}

// TestAConversationIsTraced: the spans of a live session against the local service, with a turn, a
// tool and a lost connection, and of one in text.
func TestAConversationIsTraced(t *testing.T) {
	log := &logged{}
	server := agenttest.NewServerWith(t, localservice.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	server.Script(script)
	spans, reader := tracetest.NewInMemoryExporter(), metric.NewManualReader()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	telemetry := must.Get(agentotel.New(agentotel.Options{TracerProvider: tracers, MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))}))(t)
	ctx, call := tracers.Tracer("test").Start(t.Context(), "call")

	events := make(chan event.Event, 10000)
	o := avatar.OptionsFor(server.AppInit("silent"))
	o.AllowPrivateHosts, o.MicStart = true, avatar.MicDeferred
	o.OnEvent = func(e event.Event) { events <- e }
	telemetry.Attach(ctx, &o.Options)
	s := must.Get(avatar.New(o))(t)
	defer s.Close()
	must.Do(t, s.Connect(t.Context()))
	must.Get(s.Speak(t.Context(), "Please take a note."))(t)
	await[event.TurnTimings](t, events)
	mend := server.Cut()
	await[event.Reconnecting](t, events)
	mend()
	await[event.Reconnected](t, events)
	s.Disconnect(session.DisconnectOptions{})
	s.Close()

	text := chat.OptionsFor(server.AppInit("silent"))
	telemetry.Attach(ctx, &text.Options)
	c := must.Get(chat.New(text))(t)
	defer c.Close()
	must.Do(t, c.Connect(t.Context()))
	must.Get(c.SendText(t.Context(), "Please take a note.", chat.TurnOptions{}))(t)
	c.Disconnect(session.DisconnectOptions{})
	c.Close()

	parents := map[string]string{ // of the spans that must be there
		"agent session": "call", "connect": "agent session", "connect joinComplete": "connect", "recovery socket": "agent session",
		"turn": "agent session", "brain": "turn", "speech": "turn", "tool save_note": "turn",
	}
	byID := map[string]string{call.SpanContext().SpanID().String(): "call"}
	found := map[string]int{}
	for _, span := range spans.GetSpans() {
		byID[span.SpanContext.SpanID().String()] = span.Name
		found[span.Name]++
	}
	for _, span := range spans.GetSpans() {
		if got, want := byID[span.Parent.SpanID().String()], parents[span.Name]; want != "" && got != want {
			t.Errorf("the span %s is inside %s, not %s", span.Name, got, want)
		}
		expect.Equal(t, span.SpanContext.TraceID(), call.SpanContext().TraceID(), "the span %s is in another trace", span.Name)
		if span.EndTime.Before(span.StartTime) {
			t.Errorf("the span %s ends before it begins", span.Name)
		}
	}
	for name := range parents {
		if found[name] == 0 {
			t.Errorf("there is no span %s in %v", name, found)
		}
	}
	expect.Equal(t, found["agent session"], 2, "sessions")
	if !log.contains("traceparent=00-" + call.SpanContext().TraceID().String()) {
		t.Error("the service does not know the trace")
	}

	var data metricdata.ResourceMetrics
	must.Do(t, reader.Collect(t.Context(), &data))
	counts := map[string]uint64{}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			for _, point := range m.Data.(metricdata.Histogram[float64]).DataPoints {
				counts[m.Name] += point.Count
				if point.Sum < 0 || point.Sum > 60 {
					t.Errorf("%s sums to %v s", m.Name, point.Sum)
				}
			}
		}
	}
	for _, name := range []string{"agentruntime.turn.first_text", "agentruntime.turn.first_sound", "agentruntime.connect.duration", "agentruntime.recovery.duration"} {
		if counts[name] == 0 {
			t.Errorf("nothing was measured for %s: %v", name, counts)
		}
	}
}

// await receives events until one is an E.
func await[E event.Event](t *testing.T, events <-chan event.Event) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		select {
		case e := <-events:
			if _, ok := e.(E); ok {
				return
			}
		case <-late:
			t.Fatalf("no %T", *new(E))
		}
	}
}

// TestAConnectThatFails: the span of its session is an error, with the code if there is an event with one.
func TestAConnectThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		thread string
		cut    bool
		want   string
	}{
		"no service":     {cut: true, want: "the session could not be connected"},
		"unknown thread": {thread: "5f0c5f0c5f0c5f0c5f0c5f0c", want: "bad_request"},
	} {
		t.Run(name, func(t *testing.T) {
			server := agenttest.NewServer(t)
			spans := tracetest.NewInMemoryExporter()
			telemetry := must.Get(agentotel.New(agentotel.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))}))(t)
			o := avatar.OptionsFor(server.AppInit("silent"))
			o.AllowPrivateHosts, o.MicStart, o.ThreadID = true, avatar.MicDeferred, c.thread
			telemetry.Attach(t.Context(), &o.Options)
			s := must.Get(avatar.New(o))(t)
			ctx, mend := t.Context(), func() {}
			if c.cut {
				mend = server.Cut()
				limited, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				ctx = limited
			}
			if err := s.Connect(ctx); err == nil {
				t.Fatal("connected")
			}
			mend()
			s.Close()
			for _, span := range spans.GetSpans() {
				expect.Equal(t, span.Status, sdktrace.Status{Code: codes.Error, Description: c.want}, "status of the span %s", span.Name)
			}
			expect.Equal(t, len(spans.GetSpans()), 1, "spans")
		})
	}
}
