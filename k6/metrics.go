package agentruntime

import (
	"context"
	"errors"
	"time"

	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/metrics"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// meters are the metrics of the module. docs/load.md describes each; a test compares the names.
type meters struct {
	appInit, connect, firstFrame, mediaReady *metrics.Metric
	connectFailed, sessions, sessionsLost    *metrics.Metric

	firstText, firstSound, answer, interrupt *metrics.Metric
	answerFailed, unconfirmed                *metrics.Metric

	rtt, jitter, loss, bitrate, received *metrics.Metric
	reconnect, reconnects, repairs       *metrics.Metric
	warnings                             *metrics.Metric
}

// newMeters registers the metrics; each virtual user gets the same ones.
func newMeters(r *metrics.Registry) (*meters, error) {
	var errs []error
	add := func(name string, kind metrics.MetricType, unit ...metrics.ValueType) *metrics.Metric {
		m, err := r.NewMetric("agentruntime_"+name, kind, unit...)
		errs = append(errs, err)
		return m
	}
	m := &meters{
		appInit:       add("app_init", metrics.Trend, metrics.Time),
		connect:       add("connect", metrics.Trend, metrics.Time),
		firstFrame:    add("first_frame", metrics.Trend, metrics.Time),
		mediaReady:    add("media_ready", metrics.Trend, metrics.Time),
		connectFailed: add("connect_failed", metrics.Rate),
		sessions:      add("sessions", metrics.Counter),
		sessionsLost:  add("sessions_lost", metrics.Counter),

		firstText:    add("answer_first_text", metrics.Trend, metrics.Time),
		firstSound:   add("answer_first_sound", metrics.Trend, metrics.Time),
		answer:       add("answer_duration", metrics.Trend, metrics.Time),
		answerFailed: add("answer_failed", metrics.Rate),
		interrupt:    add("interrupt", metrics.Trend, metrics.Time),
		unconfirmed:  add("turns_unconfirmed", metrics.Counter),

		rtt:      add("rtt", metrics.Trend, metrics.Time),
		jitter:   add("jitter", metrics.Trend, metrics.Time),
		loss:     add("packet_loss_percent", metrics.Trend),
		bitrate:  add("bitrate_kbps", metrics.Trend),
		received: add("media_received", metrics.Counter, metrics.Data),

		reconnect:  add("reconnect", metrics.Trend, metrics.Time),
		reconnects: add("reconnects", metrics.Counter),
		repairs:    add("media_repairs", metrics.Counter),
		warnings:   add("warnings", metrics.Counter),
	}
	return m, errors.Join(errs...)
}

// sink takes the samples of one session.
type sink struct {
	ctx  context.Context
	out  chan<- metrics.SampleContainer
	tags *metrics.TagSet
}

// newSink returns the sink of a session of that kind. Its samples have the tags of the virtual
// user at this moment, and those of the session.
func newSink(vu modules.VU, kind string, tags map[string]string) sink {
	state := vu.State()
	return sink{vu.Context(), state.Samples, state.Tags.GetCurrentValues().Tags.WithTagsFromMap(tags).With("session", kind)}
}

// add adds a sample; tag is a name and a value, or nothing.
func (s sink) add(m *metrics.Metric, value float64, tag ...string) {
	tags := s.tags
	if len(tag) == 2 {
		tags = tags.With(tag[0], tag[1])
	}
	metrics.PushIfNotDone(s.ctx, s.out, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Time: time.Now(), Value: value,
	})
}

// outcome adds a sample to the rate of what failed, with the code of the error.
func (s sink) outcome(failed *metrics.Metric, err error) {
	if err != nil {
		s.add(failed, 1, "code", string(fault.From(err).Code))
		return
	}
	s.add(failed, 0)
}

func ms(d time.Duration) float64 { return metrics.D(d) }
