// Package agentotel sends what native sessions do to OpenTelemetry: spans of the session, its
// connects and recoveries, its turns with the brain, the speech and the tools, and histograms of
// the times that visitors wait.
//
// It is a module of its own, so that the others do not get OpenTelemetry's dependencies. It
// reads the events of sessions only (docs/tracing.md).
package agentotel

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// scope is the name of the instrumentation.
const scope = "github.com/agentruntime/agentruntime/otel"

// Options are the options of [New].
type Options struct {
	// TracerProvider makes the spans. Default the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the histograms. Default the global one.
	MeterProvider metric.MeterProvider
	// Attributes are added to every span and every measurement; few values each.
	Attributes []attribute.KeyValue
}

// Telemetry observes any number of sessions.
type Telemetry struct {
	tracer     trace.Tracer
	attributes []attribute.KeyValue

	firstText, firstSound, connect, recovery metric.Float64Histogram
}

// New returns a Telemetry. The error is that of the meter.
func New(o Options) (*Telemetry, error) {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	t := &Telemetry{tracer: o.TracerProvider.Tracer(scope), attributes: o.Attributes}
	meter := o.MeterProvider.Meter(scope)
	var errs []error
	histogram := func(name, about string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(about),
			metric.WithExplicitBucketBoundaries(.05, .1, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 10, 30))
		errs = append(errs, err)
		return h
	}
	t.firstText = histogram("agentruntime.turn.first_text", "From the beginning of a turn to the first text of its answer.")
	t.firstSound = histogram("agentruntime.turn.first_sound", "From the beginning of a turn to the first sound of its answer.")
	t.connect = histogram("agentruntime.connect.duration", "From the beginning of a connect until the session is connected.")
	t.recovery = histogram("agentruntime.recovery.duration", "From the loss of a connection until it is restored.")
	return t, errors.Join(errs...)
}

// Attach makes the options of one session report to t, whose handlers of events are called too:
//
//	telemetry.Attach(ctx, &options.Options) // of avatar.Options and of chat.Options
//
// The span of the session begins now, as a child of the span in ctx, and ends with the session.
// Its trace context is sent to the service, unless the options have one. Options are for one session.
func (t *Telemetry) Attach(ctx context.Context, o *session.Options) {
	x := &observed{t: t, parent: ctx, recoveries: map[string]running{}}
	x.begin(time.Now())
	if o.TraceContext == nil {
		o.TraceContext = x.traceContext
	}
	o.Observe(func(events []event.Timed) {
		for _, e := range events {
			x.event(e)
		}
	})
}

// observed is one session. Its events come on one goroutine.
type observed struct {
	t      *Telemetry
	parent context.Context

	mu         sync.Mutex // guards what follows, for traceContext
	ctx        context.Context
	span       trace.Span
	failed     bool // the span has the code of an error
	over       bool // the span has ended
	recoveries map[string]running
}

// running is a span under way.
type running struct {
	trace.Span
	since time.Time
}

// traceContext is the session's, for the requests to the service.
func (x *observed) traceContext() httpclient.TraceContext {
	x.mu.Lock()
	defer x.mu.Unlock()
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(x.ctx, carrier)
	return httpclient.TraceContext{Traceparent: carrier["traceparent"], Tracestate: carrier["tracestate"]}
}

func (x *observed) begin(at time.Time) {
	x.failed, x.over = false, false
	x.ctx, x.span = x.t.tracer.Start(x.parent, "agent session", trace.WithTimestamp(at), trace.WithAttributes(x.t.attributes...))
}

func (x *observed) end(at time.Time) {
	for of, r := range x.recoveries {
		r.SetStatus(codes.Error, "the session ended")
		r.End(trace.WithTimestamp(at))
		delete(x.recoveries, of)
	}
	x.span.End(trace.WithTimestamp(at))
	x.over = true
}

// child makes a span that is over.
func (x *observed) child(ctx context.Context, name string, from, to time.Time, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	ctx, span := x.t.tracer.Start(ctx, name, trace.WithTimestamp(from), trace.WithAttributes(append(attributes, x.t.attributes...)...))
	span.End(trace.WithTimestamp(to))
	return ctx, span
}

func (x *observed) measure(h metric.Float64Histogram, d time.Duration, attributes ...attribute.KeyValue) {
	h.Record(x.ctx, d.Seconds(), metric.WithAttributes(append(attributes, x.t.attributes...)...))
}

func (x *observed) event(e event.Timed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := e.At
	switch e := e.Event.(type) {
	case event.TurnTimings:
		x.turn(e, at)
	case event.ConnectTimings:
		x.phases(e, at)
	case event.Reconnecting:
		x.recover("socket", at, attribute.String("reason", e.Reason), attribute.Bool("rebuild", e.Cold))
	case event.Reconnected:
		x.recovered("socket", at, attribute.Bool("recovered", e.Recovered))
	case event.MediaRecovering:
		x.recover("media "+string(e.Channel), at, attribute.String("reason", e.State))
	case event.MediaRecovered:
		x.recovered("media "+string(e.Channel), at, attribute.String("method", e.Method))
	case event.Failed:
		code := string(e.Code)
		x.span.AddEvent("error", trace.WithTimestamp(at), trace.WithAttributes(attribute.String("error.type", code)))
		x.span.SetStatus(codes.Error, code)
		x.failed = true
	case avatar.StateChanged:
		switch e.State {
		case avatar.Preparing, avatar.Connecting:
			if x.over { // a session with a face can be connected again
				x.begin(at)
			}
		case avatar.Broken:
			if !x.failed { // not every code has an event
				x.span.SetStatus(codes.Error, "the session could not be connected")
			}
			x.end(at)
		}
	case chat.StateChanged:
		if e.State == chat.Connected && x.over {
			x.begin(at)
		}
	case event.Ended:
		x.span.SetAttributes(attribute.String("agentruntime.end_reason", e.Reason))
		x.end(at)
	}
}

// phases makes the span of a connect, which has just ended, and one for each of its phases, from
// the phase before: what ran at the same time is in the phase that was reached last.
func (x *observed) phases(timings event.ConnectTimings, at time.Time) {
	began := at.Add(-ms(timings[connected]))
	names := slices.SortedFunc(maps.Keys(timings), func(a, b string) int { return cmp.Or(cmp.Compare(timings[a], timings[b]), cmp.Compare(a, b)) })
	ctx, _ := x.child(x.ctx, "connect", began, at)
	from := began
	for _, name := range names {
		to := began.Add(ms(timings[name]))
		if name != connected {
			x.child(ctx, "connect "+name, from, to)
		}
		from = to
	}
	x.measure(x.t.connect, at.Sub(began))
}

// connected is the last phase of [avatar.ConnectTimings].
const connected = "connected"

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (x *observed) recover(of string, at time.Time, attributes ...attribute.KeyValue) {
	if _, under := x.recoveries[of]; under {
		return // another attempt
	}
	_, span := x.t.tracer.Start(x.ctx, "recovery "+of, trace.WithTimestamp(at), trace.WithAttributes(append(attributes, x.t.attributes...)...))
	x.recoveries[of] = running{span, at}
}

func (x *observed) recovered(of string, at time.Time, attributes ...attribute.KeyValue) {
	r, under := x.recoveries[of]
	if !under {
		return
	}
	delete(x.recoveries, of)
	r.SetAttributes(attributes...)
	r.End(trace.WithTimestamp(at))
	x.measure(x.t.recovery, at.Sub(r.since), attribute.String("agentruntime.channel", of))
}

// turn makes the spans of a turn that has just ended.
func (x *observed) turn(t event.TurnTimings, at time.Time) {
	began := at.Add(-ms(t.DurationMs))
	mark := func(names ...event.TurnMark) (time.Time, bool) {
		for _, name := range names {
			if n, ok := t.Marks[name]; ok {
				return began.Add(ms(n)), true
			}
		}
		return time.Time{}, false
	}
	kind := []attribute.KeyValue{attribute.String("agentruntime.turn.from", t.From), attribute.String("agentruntime.turn.outcome", t.Outcome)}
	attributes := append(slices.Clone(kind),
		attribute.String("agentruntime.turn.id", t.TurnID), attribute.String("agentruntime.message.id", t.MessageID))
	var estimated []string
	for _, m := range t.Estimated {
		estimated = append(estimated, string(m))
	}
	attributes = append(attributes, attribute.StringSlice("agentruntime.turn.estimated", estimated))
	ctx, span := x.t.tracer.Start(x.ctx, "turn", trace.WithTimestamp(began), trace.WithAttributes(append(attributes, x.t.attributes...)...))
	for name, n := range t.Marks {
		span.AddEvent(string(name), trace.WithTimestamp(began.Add(ms(n))))
	}
	if t.Outcome == "failed" {
		span.SetStatus(codes.Error, t.Outcome)
	}
	if to, ok := mark(event.MarkTextEnd, event.MarkFirstText, event.MarkFirstSegment); ok {
		from, sent := mark(event.MarkSent)
		if !sent {
			from = began
		}
		x.child(ctx, "brain", from, to)
	}
	if from, ok := mark(event.MarkFirstSound); ok {
		to, ended := mark(event.MarkInterrupted, event.MarkSpeechEnd)
		if !ended {
			to = at
		}
		x.child(ctx, "speech", from, to)
	}
	for _, call := range t.Tools {
		to := at
		if n := cmp.Or(call.Answered, call.Returned); n != nil {
			to = began.Add(ms(*n))
		}
		x.child(ctx, "tool "+call.Name, began.Add(ms(call.Called)), to, attribute.String("agentruntime.tool.id", call.ID))
	}
	span.End(trace.WithTimestamp(at))
	if n, ok := t.Marks[event.MarkFirstText]; ok {
		x.measure(x.t.firstText, ms(n), kind...)
	}
	if n, ok := t.Marks[event.MarkFirstSound]; ok {
		x.measure(x.t.firstSound, ms(n), kind...)
	}
}
