// Package metrics measures a running local service, for Prometheus: sessions, turns, requests,
// media and the store. It must not depend on how these work; they report to its functions.
package metrics

import (
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are those of one service. Its methods may be called concurrently.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.HistogramVec
	turns     *prometheus.HistogramVec
	segments  *prometheus.HistogramVec
	store     *prometheus.HistogramVec
	storeErrs *prometheus.CounterVec
}

// seconds are the bounds of waiting times of clients.
var seconds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// New returns the metrics of a new service, with those of its process.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		m.registry.MustRegister(h)
		return h
	}
	m.requests = histogram("localservice_http_request_duration_seconds",
		"Requests of the HTTP API, by route, to the end of the reply.", seconds, "method", "route", "status")
	m.turns = histogram("localservice_turn_duration_seconds",
		"Turns, to the end of the answer; channel is live or text, outcome ok or error.", seconds, "channel", "outcome")
	m.segments = histogram("localservice_turn_first_segment_seconds",
		"From the question to the first segment of its answer.", seconds, "channel")
	m.store = histogram("localservice_store_duration_seconds",
		"Statements of SQLite, without the reading of rows, by their first word.",
		[]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .1, .5, 1}, "statement")
	m.storeErrs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "localservice_store_errors_total", Help: "Statements of SQLite that failed.",
	}, []string{"statement"})
	m.registry.MustRegister(m.storeErrs, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Gauge adds a value that is read when the metrics are.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter adds a count that is read when the metrics are. labels are the same for every value.
func (m *Metrics) Counter(name, help string, labels map[string]string, read func() float64) {
	m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, read))
}

// Request counts a request of the HTTP API.
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Observe(took.Seconds())
}

// Turn counts a turn. first is the time to its first segment, 0 without one.
func (m *Metrics) Turn(live bool, first, took time.Duration, err error) {
	channel, outcome := "text", "ok"
	if live {
		channel = "live"
	}
	if err != nil {
		outcome = "error"
	}
	m.turns.WithLabelValues(channel, outcome).Observe(took.Seconds())
	if first > 0 {
		m.segments.WithLabelValues(channel).Observe(first.Seconds())
	}
}

// Statement counts a statement of the store.
func (m *Metrics) Statement(word string, took time.Duration, err error) {
	m.store.WithLabelValues(word).Observe(took.Seconds())
	if err != nil {
		m.storeErrs.WithLabelValues(word).Inc()
	}
}

// Handler serves /metrics and the profiles of net/http/pprof.
func (m *Metrics) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
