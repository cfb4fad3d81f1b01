//go:build js && wasm

package page

import (
	"context"
	_ "embed"
	"syscall/js"
	"testing"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/page/programtest"
)

// brain replaces the page's fetch by a service. A test sets the response to a request with
// reply, and writes the body of a streamed response with say.
//
//go:embed testdata/brain.js
var brain string

// rig is a program of the page's own, with a service.
type rig struct {
	*programtest.Events
	t       *testing.T
	program *Program
	exports js.Value
	brain   js.Value
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{Events: programtest.NewEvents(t), t: t, program: New(context.Background()), brain: programtest.Eval(brain)}
	t.Cleanup(func() { r.brain.Call("restore") })
	t.Cleanup(r.program.Close)
	r.exports = must.Get(jsbridge.ToJS(r.program.exports(nil)))(t)
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
	methods := r.exports.Call(kind, programtest.Eval(options), r.Dispatch)
	if c := programtest.Code(methods); c != "" {
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
	return must.Get(programtest.Settled(promise))(r.t)
}

// refused fails the test unless a promise is rejected with that code.
func (r *rig) refused(promise js.Value, want string) {
	r.t.Helper()
	_, err := programtest.Settled(promise)
	if got := programtest.CodeOf(err); got != want {
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
	r.brain.Call("say", programtest.Eval(segments))
}

// text is a value as JSON.
func text(v js.Value) string { return js.Global().Get("JSON").Call("stringify", v).String() }
