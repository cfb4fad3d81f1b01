//go:build js && wasm

// Package programtest is for tests of what a Go program exports to its page: the events of sessions, the codes of errors,
// and values of JavaScript. It must not depend on internal/page, whose own tests use it.
package programtest

import (
	"context"
	"sync"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// patience bounds each wait; only a failing test comes near it.
const patience = time.Minute

// Events are those of a test's sessions, as the page receives them.
type Events struct {
	// Dispatch is what a session is opened with.
	Dispatch js.Value

	t       *testing.T
	mu      sync.Mutex
	events  []received
	calls   int
	arrived chan struct{} // closed and replaced at each call
}

type received struct {
	name    string
	payload js.Value
}

// NewEvents returns events whose callback is released when the test has ended: the program must be closed before that, by a
// cleanup that is registered later.
func NewEvents(t *testing.T) *Events {
	r := &Events{t: t, arrived: make(chan struct{})}
	dispatch := jsbridge.FuncOf(func(_ js.Value, args []js.Value) any {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls++
		for i := range args[0].Length() / 3 {
			r.events = append(r.events, received{args[0].Index(3 * i).String(), args[0].Index(3*i + 1)})
		}
		close(r.arrived)
		r.arrived = make(chan struct{})
		return nil
	})
	t.Cleanup(dispatch.Release)
	r.Dispatch = dispatch.Value
	return r
}

// Calls returns how many calls of the page have brought events so far.
func (r *Events) Calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// Names lists the events so far.
func (r *Events) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, e := range r.events {
		names = append(names, e.name)
	}
	return names
}

// Forget drops the events so far.
func (r *Events) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

// Event waits for the first event of a name and returns its payload.
func (r *Events) Event(name string) js.Value {
	r.t.Helper()
	return r.NthEvent(name, 1)
}

// NthEvent waits for the nth event of a name and returns its payload.
func (r *Events) NthEvent(name string, n int) js.Value {
	r.t.Helper()
	late := time.After(patience)
	for {
		r.mu.Lock()
		arrived, found := r.arrived, 0
		for _, e := range r.events {
			if e.name != name {
				continue
			}
			if found++; found == n {
				r.mu.Unlock()
				return e.payload
			}
		}
		r.mu.Unlock()
		select {
		case <-arrived:
		case <-late:
			r.t.Fatalf("%d events %s, want %d", found, name, n)
		}
	}
}

// Settled returns what a promise resolves with, or the error it is rejected with.
func Settled(promise js.Value) (js.Value, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return jsbridge.Await(ctx, promise)
}

// Eval returns the value of a JavaScript expression.
func Eval(expression string) js.Value {
	return js.Global().Get("Function").New("return (" + expression + ")").Invoke()
}

// Code is the code of an AgentError, "" for anything else.
func Code(v js.Value) string {
	if v.Type() != js.TypeObject || v.Get("code").Type() != js.TypeString {
		return ""
	}
	return v.Get("code").String()
}

// CodeOf is the code of a rejection.
func CodeOf(err error) string {
	if thrown, ok := err.(*jsbridge.Error); ok {
		return Code(thrown.Value)
	}
	return ""
}
