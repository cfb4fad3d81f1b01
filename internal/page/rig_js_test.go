//go:build js && wasm

package page

import (
	"context"
	_ "embed"
	"slices"
	"sync"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// patience bounds each wait; only a failing test comes near it.
const patience = 20 * time.Second

// brain replaces the page's fetch by a service. A test sets the response to a request with
// reply, and writes the body of a streamed response with say.
//
//go:embed testdata/brain.js
var brain string

// rig is a program of the page's own, with a service.
type rig struct {
	t       *testing.T
	program *Program
	exports js.Value
	brain   js.Value

	mu      sync.Mutex
	events  []heard
	heard   int           // calls with events
	arrived chan struct{} // closed and replaced at each event
}

type heard struct {
	name    string
	payload js.Value
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, program: New(context.Background()), brain: eval(brain), arrived: make(chan struct{})}
	t.Cleanup(func() { r.brain.Call("restore") })
	t.Cleanup(r.program.Close)
	var err error
	if r.exports, err = jsbridge.ToJS(r.program.exports(nil)); err != nil {
		t.Fatal(err)
	}
	return r
}

// object is what the page calls of a session.
type object struct {
	*rig
	methods js.Value
}

// open makes a session of a kind of a JavaScript expression for its options.
func (r *rig) open(kind, options string) object {
	r.t.Helper()
	dispatch := jsbridge.FuncOf(func(_ js.Value, args []js.Value) any {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.heard++
		for i := range args[0].Length() / 3 {
			r.events = append(r.events, heard{args[0].Index(3 * i).String(), args[0].Index(3*i + 1)})
		}
		close(r.arrived)
		r.arrived = make(chan struct{})
		return nil
	})
	r.t.Cleanup(dispatch.Release)
	r.t.Cleanup(r.program.Close) // before that
	methods := r.exports.Call(kind, eval(options), dispatch.Value)
	if c := code(methods); c != "" {
		r.t.Fatalf("%s was refused with %s: %s", kind, c, methods.Get("message"))
	}
	return object{r, methods}
}

// alone is for a session that has nothing to do with the page.
const alone = `{token: "t", genieUrl: "https://brain.example", pageLifecycleAware: false, crossTabPresence: false}`

// chat makes a chat session and connects it.
func (r *rig) chat() object {
	r.t.Helper()
	s := r.open("chatSession", alone)
	s.later("connect", nil)
	return s
}

// now calls a method that returns at once.
func (o object) now(method string, args ...any) js.Value { return o.methods.Call(method, args...) }

// later calls a method that waits, and fails the test when it is rejected.
func (o object) later(method string, signal any, args ...any) js.Value {
	o.t.Helper()
	return o.await(o.methods.Call(method, append([]any{signal}, args...)...))
}

// await returns what a promise resolves with.
func (r *rig) await(promise js.Value) js.Value {
	r.t.Helper()
	v, err := settled(promise)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func settled(promise js.Value) (js.Value, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return jsbridge.Await(ctx, promise)
}

// refused fails the test unless a promise is rejected with that code.
func (r *rig) refused(promise js.Value, want string) {
	r.t.Helper()
	_, err := settled(promise)
	if got := codeOf(err); got != want {
		r.t.Errorf("rejected with %v, want %s", err, want)
	}
}

// asked waits until the service has so many requests, and returns the last of them.
func (r *rig) asked(n int) js.Value {
	r.t.Helper()
	r.await(r.brain.Call("asked", n))
	return r.brain.Get("requests").Index(n - 1)
}

// say sends segments as the answer.
func (r *rig) say(segments string) {
	r.brain.Call("say", eval(segments))
}

// calls returns how many calls of the page have brought events so far.
func (r *rig) calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heard
}

// names lists the events so far.
func (r *rig) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, e := range r.events {
		names = append(names, e.name)
	}
	return names
}

// event waits for an event and returns its payload.
func (r *rig) event(name string) js.Value {
	r.t.Helper()
	late := time.After(patience)
	for {
		r.mu.Lock()
		arrived := r.arrived
		i := slices.IndexFunc(r.events, func(e heard) bool { return e.name == name })
		if i >= 0 {
			defer r.mu.Unlock()
			return r.events[i].payload
		}
		r.mu.Unlock()
		select {
		case <-arrived:
		case <-late:
			r.t.Fatalf("no event %s", name)
		}
	}
}

// eval returns the value of a JavaScript expression.
func eval(expression string) js.Value {
	return js.Global().Get("Function").New("return (" + expression + ")").Invoke()
}

// text is a value as JSON.
func text(v js.Value) string { return js.Global().Get("JSON").Call("stringify", v).String() }

// code is the code of an AgentError, "" for anything else.
func code(v js.Value) string {
	if v.Type() != js.TypeObject || v.Get("code").Type() != js.TypeString {
		return ""
	}
	return v.Get("code").String()
}

// codeOf is the code of a rejection.
func codeOf(err error) string {
	if thrown, ok := err.(*jsbridge.Error); ok {
		return code(thrown.Value)
	}
	return ""
}
