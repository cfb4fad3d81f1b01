//go:build js && wasm

package jsbridge

import (
	"context"
	"errors"
	"iter"
	"strings"
	"syscall/js"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// numbers opens a sequence that counts up and never ends by itself; ended is
// closed when it has ended.
func numbers(ended chan<- struct{}) func(context.Context) (iter.Seq2[any, error], error) {
	return func(ctx context.Context) (iter.Seq2[any, error], error) {
		return func(yield func(any, error) bool) {
			defer close(ended)
			for n := 1; yield(n, nil); n++ {
			}
		}, nil
	}
}

// forever opens a sequence that waits for the end of its context.
func forever(ended chan<- struct{}) func(context.Context) (iter.Seq2[any, error], error) {
	return func(ctx context.Context) (iter.Seq2[any, error], error) {
		return func(func(any, error) bool) {
			defer close(ended)
			<-ctx.Done()
		}, nil
	}
}

// call waits for what a method of a stream promises.
func call(t *testing.T, stream js.Value, method string) (js.Value, error) {
	t.Helper()
	return Await(t.Context(), stream.Call(method))
}

// thrownCode is the code of a rejection.
func thrownCode(err error) fault.Code {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	return code(e.Value)
}

// iterate is what TypeScript does with a stream: it takes at most limit items, and
// leaves.
const iterate = `(async function (stream, limit) {
	const items = []
	try {
		for (let i = 0; i < limit; i++) {
			const {done, value} = await stream.next()
			if (done) return "done " + items
			items.push(value)
		}
		return "left " + items
	} catch (e) {
		return e.code + " " + items
	} finally {
		await stream.return()
	}
})`

func TestStreamGivesTheItemsAndTheEnd(t *testing.T) {
	noLeaks(t)
	failed := fault.New(fault.RateLimited, "slow down")
	for name, test := range map[string]struct {
		limit    int
		sequence iter.Seq2[any, error]
		want     string
	}{
		"no items":        {9, func(func(any, error) bool) {}, "done "},
		"to its end":      {9, func(yield func(any, error) bool) { _ = yield("a", nil) && yield("b", nil) }, "done a,b"},
		"left":            {1, func(yield func(any, error) bool) { _ = yield("a", nil) && yield("b", nil) }, "left a"},
		"with an error":   {9, func(yield func(any, error) bool) { _ = yield("a", nil) && yield(nil, failed) }, "rate_limited a"},
		"nothing":         {0, func(func(any, error) bool) { t.Error("a sequence that nobody asks for began") }, "left "},
		"odd":             {9, func(yield func(any, error) bool) { yield(make(chan int), nil) }, "internal_error "},
		"null is an item": {9, func(yield func(any, error) bool) { yield(nil, nil) }, "done "},
	} {
		scope := NewScope(nil)
		stream := must.Get(scope.Stream(t.Context(), func(context.Context) (iter.Seq2[any, error], error) { return test.sequence, nil }))(t)
		v, err := Await(t.Context(), eval(t, iterate).Invoke(stream, test.limit))
		if err != nil || v.String() != test.want {
			t.Errorf("%s: %v %v, want %q", name, v, err, test.want)
		}
		expect.Equal(t, len(scope.ends), 0, "%s: the scope still has things to undo", name)
	}
}

func TestStreamThatCannotBeOpenedIsAnError(t *testing.T) {
	noLeaks(t)
	var opened context.Context
	_, err := NewScope(nil).Stream(t.Context(), func(ctx context.Context) (iter.Seq2[any, error], error) {
		opened = ctx
		return nil, fault.BadRequest
	})
	if !errors.Is(err, fault.BadRequest) || opened.Err() == nil {
		t.Errorf("%v, context %v", err, opened.Err())
	}
}

// The sequence is at most one item ahead of JavaScript.
func TestStreamWaitsToBeAsked(t *testing.T) {
	noLeaks(t)
	made := 0
	scope := NewScope(nil)
	stream := must.Get(scope.Stream(t.Context(), func(context.Context) (iter.Seq2[any, error], error) {
		return func(yield func(any, error) bool) {
			for made++; yield(made, nil); made++ {
			}
		}, nil
	}))(t)
	if task(t); made != 0 {
		t.Errorf("%d items before the first is asked for", made)
	}
	for want := 1; want <= 3; want++ {
		v, err := call(t, stream, "next")
		if err != nil || v.Get("value").Int() != want || v.Get("done").Bool() {
			t.Fatalf("item %d: %v %v", want, v, err)
		}
		if task(t); made != want+1 {
			t.Errorf("%d items made when %d were taken", made, want)
		}
	}
	scope.End()
}

func TestStreamGivesItemsInTheOrderOfAsking(t *testing.T) {
	noLeaks(t)
	scope := NewScope(nil)
	ended := make(chan struct{})
	stream := must.Get(scope.Stream(t.Context(), numbers(ended)))(t)
	v, err := Await(t.Context(), eval(t, `((s) => Promise.all([s.next(), s.next(), s.next()]).then((all) => all.map((r) => r.value).join()))`).Invoke(stream))
	if err != nil || v.String() != "1,2,3" {
		t.Errorf("%v %v", v, err)
	}
	scope.End()
	<-ended
}

func TestLeavingAStreamEndsItsSequence(t *testing.T) {
	noLeaks(t)
	for name, open := range map[string]func(chan<- struct{}) func(context.Context) (iter.Seq2[any, error], error){"one that waits to be asked": numbers, "one that waits": forever} {
		scope := NewScope(nil)
		ended := make(chan struct{})
		stream := must.Get(scope.Stream(t.Context(), open(ended)))(t)
		pending := stream.Call("next")
		task(t)
		must.Get(call(t, stream, "return"))(t)
		select {
		case <-ended: // before return has resolved
		default:
			t.Errorf("%s goes on", name)
		}
		if _, err := Await(t.Context(), pending); err != nil && thrownCode(err) != fault.Aborted {
			t.Errorf("%s: the open call rejects with %v", name, err)
		}
	}
}

// What was cut short must not look complete.
func TestStreamThatIsCutShortRejects(t *testing.T) {
	noLeaks(t)
	for name, cut := range map[string]func(*Scope, context.CancelFunc){
		"by the scope":   func(s *Scope, _ context.CancelFunc) { s.End() },
		"by the context": func(_ *Scope, cancel context.CancelFunc) { cancel() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		scope := NewScope(nil)
		ended := make(chan struct{})
		stream := must.Get(scope.Stream(ctx, forever(ended)))(t)
		pending := stream.Call("next")
		task(t)
		cut(scope, cancel)
		if _, err := Await(t.Context(), pending); thrownCode(err) != fault.Aborted {
			t.Errorf("%s: %v", name, err)
		}
		<-ended
		scope.End()
		cancel()
	}
}

func TestEndOfAScopeWaitsForItsStreams(t *testing.T) {
	noLeaks(t)
	scope := NewScope(nil)
	var ended []chan struct{}
	var calls []js.Value
	for range 3 {
		done := make(chan struct{})
		ended = append(ended, done)
		stream := must.Get(scope.Stream(t.Context(), forever(done)))(t)
		calls = append(calls, stream.Call("next"))
	}
	task(t)
	scope.End()
	for i, done := range ended {
		select {
		case <-done:
		default:
			t.Errorf("stream %d goes on", i)
		}
	}
	for i, open := range calls {
		if _, err := Await(t.Context(), open); thrownCode(err) != fault.Aborted {
			t.Errorf("call %d ended with %v", i, err)
		}
	}
	if _, err := scope.Stream(t.Context(), forever(make(chan struct{}))); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

func TestPanicInASequenceRejectsAndIsTold(t *testing.T) {
	noLeaks(t)
	lines := console(t)
	var told error
	scope := NewScope(func(err error) { told = err })
	stream := must.Get(scope.Stream(t.Context(), func(context.Context) (iter.Seq2[any, error], error) {
		return func(func(any, error) bool) { panic("on purpose") }, nil
	}))(t)
	if _, err := call(t, stream, "next"); thrownCode(err) != fault.InternalError {
		t.Errorf("rejected with %v", err)
	}
	if v, err := call(t, stream, "next"); err != nil || !v.Get("done").Bool() {
		t.Errorf("then %v %v", v, err)
	}
	expect.Error(t, told, fault.InternalError, "the owner heard")
	if got := lines(); len(got) != 1 || !strings.Contains(got[0], "on purpose") {
		t.Errorf("log %q", got)
	}
	must.Get(call(t, stream, "return"))(t)
}
