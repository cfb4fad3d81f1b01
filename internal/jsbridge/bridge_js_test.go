//go:build js && wasm

package jsbridge

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"syscall/js"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// eval returns the value of a JavaScript expression.
func eval(t *testing.T, expression string) js.Value {
	t.Helper()
	return js.Global().Get("Function").New("return (" + expression + ")").Invoke()
}

// noLeaks fails the test when Funcs are left at its end. Callbacks of an Await
// that was cut short are released by the next microtasks.
func noLeaks(t *testing.T) {
	t.Helper()
	before := LiveFuncs()
	if before != 0 {
		t.Fatalf("%d funcs alive before the test", before)
	}
	t.Cleanup(func() {
		task(t)
		expect.Equal(t, LiveFuncs(), 0, "funcs left")
	})
}

// task lets JavaScript run everything that is due.
func task(t *testing.T) {
	t.Helper()
	must.Get(Await(context.Background(), eval(t, "new Promise(f => setTimeout(f))")))(t)
}

// console collects what console.error gets until the end of the test.
func console(t *testing.T) (lines func() []string) {
	t.Helper()
	recorder := eval(t, `(() => {
		const original = console.error, lines = []
		console.error = (...args) => lines.push(args.join(" "))
		return {lines, restore: () => { console.error = original }}
	})()`)
	t.Cleanup(func() { recorder.Call("restore") })
	return func() []string {
		var list []string
		must.Do(t, FromJS("lines", recorder.Get("lines"), &list))
		return list
	}
}

// code reads the code of the error that an AgentError-like value carries.
func code(v js.Value) fault.Code { return fault.Code(v.Get("code").String()) }

func TestThrowingGetterIsAnError(t *testing.T) {
	noLeaks(t)
	v := eval(t, `{get bad() { throw new RangeError("no") }, good: 1}`)
	_, err := Get(v, "bad")
	var e *Error
	if !errors.As(err, &e) || e.Name != "RangeError" || e.Message != "no" {
		t.Fatalf("Get: %v", err)
	}
	if good, err := Get(v, "good"); err != nil || good.Int() != 1 {
		t.Fatalf("Get good: %v, %v", good, err)
	}
}

func TestThrowingSetterIsAnError(t *testing.T) {
	v := eval(t, `{set volume(x) { throw new TypeError("out of range") }}`)
	if err := Set(v, "volume", 2); err == nil || err.Error() != "TypeError: out of range" {
		t.Errorf("Set: %v", err)
	}
	if err := Set(eval(t, `Object.freeze({a: 1})`), "a", 2); err == nil {
		t.Error("Set of a frozen property succeeded")
	}
	free := eval(t, "{}")
	if err := Set(free, "a", 2); err != nil || free.Get("a").Int() != 2 {
		t.Errorf("Set: %v", err)
	}
}

func TestCallErrors(t *testing.T) {
	for name, test := range map[string]struct{ object, want string }{
		"missing":   {"{}", "TypeError: "},
		"primitive": {"7", "TypeError: "},
		"bigint":    {"7n", "TypeError: "},
		"null":      {"null", "TypeError: "},
		// js.Value.Call reads the method again after a failure, outside of a try block: an
		// exception there would end the goroutine.
		"getter":    {"{get f() { throw new Error('hidden') }}", "Error: hidden"},
		"thrown":    {"{f() { throw new SyntaxError('x') }}", "SyntaxError: x"},
		"string":    {"{f() { throw 'plain' }}", "plain"},
		"undefined": {"{f() { throw undefined }}", "undefined"},
		"bigints":   {"{f() { throw 5n }}", "5"},
		"symbol":    {"{f() { throw Symbol('s') }}", "Symbol(s)"},
		"bare":      {"{f() { throw Object.create(null) }}", "object"},
		"trap":      {"{f() { throw new Proxy({}, {get() { throw 1 }}) }}", "object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Call(eval(t, test.object), "f")
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %q, want %q", err, test.want)
			}
		})
	}
}

func TestNewReturnsWhatTheConstructorThrows(t *testing.T) {
	if _, err := New(eval(t, "Array"), -1); err == nil || !strings.HasPrefix(err.Error(), "RangeError: ") {
		t.Errorf("New: %v", err)
	}
	if v, err := New(eval(t, "Date"), 0); err != nil || v.Call("getTime").Int() != 0 {
		t.Errorf("New Date: %v", err)
	}
}

func TestPromiseResolves(t *testing.T) {
	noLeaks(t)
	release := make(chan struct{})
	p := Promise(func() (any, error) { <-release; return map[string]int{"a": 1}, nil })
	close(release)
	v, err := Await(context.Background(), p)
	if err != nil || v.Get("a").Int() != 1 {
		t.Fatalf("got %v, %v", v, err)
	}
}

func TestPromiseRejectsWithCode(t *testing.T) {
	noLeaks(t)
	_, err := Await(context.Background(), Promise(func() (any, error) {
		return nil, fault.New(fault.WHEPTimeout, "no answer").InPhase(fault.PhaseWHEP)
	}))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v", err)
	}
	if code(e.Value) != fault.WHEPTimeout || e.Value.Get("phase").String() != "whep" || !e.Value.Get("retryable").Bool() || e.Message != "no answer" {
		t.Errorf("rejected with %v", eval(t, "JSON.stringify").Invoke(e.Value))
	}
	if !e.Value.InstanceOf(errorCtor) {
		t.Error("the reason is no Error")
	}
}

func TestWhatHasNoResultRejects(t *testing.T) {
	noLeaks(t)
	lines := console(t)
	for name, f := range map[string]func() (any, error){
		"a panic": func() (any, error) {
			var list []int
			return list[LiveFuncs()], nil
		},
		"the end of the goroutine":        func() (any, error) { runtime.Goexit(); return nil, nil },
		"a result that has no form there": func() (any, error) { return make(chan int), nil },
	} {
		_, err := Await(context.Background(), Promise(f))
		var e *Error
		if !errors.As(err, &e) || code(e.Value) != fault.InternalError {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := lines()
	if len(got) != 1 || !strings.Contains(got[0], "index out of range") || !strings.Contains(got[0], "bridge_js_test.go") {
		t.Errorf("log %q", got)
	}
}

func TestResult(t *testing.T) {
	lines := console(t)
	if v := Result(func() (any, error) { return "yes", nil }); v.String() != "yes" {
		t.Errorf("got %v", v)
	}
	if v := Result(func() (any, error) { return nil, fault.InvalidState }); code(v) != fault.InvalidState {
		t.Errorf("got %v", v)
	}
	if v := Result(func() (any, error) { panic("token djJ8MTIzNDU2fGFiY2RlZmdoaWprbG1ub3A refused") }); code(v) != fault.InternalError {
		t.Errorf("got %v", v)
	}
	if got := lines(); len(got) != 1 || strings.Contains(got[0], "MTIzNDU2") {
		t.Errorf("log %q", got)
	}
}

func TestErrorConstructorIsUsed(t *testing.T) {
	defer SetLoader(js.Undefined())
	SetLoader(eval(t, "{AgentError: class extends Error { constructor(f) { super(f.detail); this.seen = f.code } }}"))
	v := ErrorValue(fault.New(fault.RateLimited, "slow down"))
	if v.Get("seen").String() != "rate_limited" || v.Get("message").String() != "slow down" {
		t.Errorf("got %v", v)
	}
	SetLoader(eval(t, "{AgentError: class { constructor() { throw new Error('broken') } }}"))
	if v := ErrorValue(fault.RateLimited); !v.InstanceOf(errorCtor) {
		t.Errorf("got %v", v)
	}
	if v := ErrorValue(nil); !v.IsUndefined() {
		t.Errorf("got %v", v)
	}
}

func TestAwaitTakesAnyValue(t *testing.T) {
	noLeaks(t)
	for _, expression := range []string{"7", "Promise.resolve(7)", "{then(f) { f(7) }}", "new Promise(f => setTimeout(f, 1, 7))"} {
		v, err := Await(context.Background(), eval(t, expression))
		if err != nil || v.Int() != 7 {
			t.Errorf("%s: %v, %v", expression, v, err)
		}
	}
}

func TestAwaitKeepsNameAndMessage(t *testing.T) {
	noLeaks(t)
	for expression, want := range map[string]string{
		"Promise.reject(new TypeError('Failed to fetch'))": "TypeError: Failed to fetch",
		"Promise.reject()":       "undefined",
		"Promise.reject('text')": "text",
		"Promise.reject(new DOMException('device busy','NotReadableError'))": "NotReadableError: device busy",
		"{get then() { throw new Error('trap') }}":                           "Error: trap",
	} {
		if _, err := Await(context.Background(), eval(t, expression)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
}

func TestAwaitEndsWithContextAndFreesItsCallbacks(t *testing.T) {
	noLeaks(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := Await(ctx, eval(t, "new Promise(() => {})")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v", err)
	}
}

func TestLateRejectionAfterCancelIsQuiet(t *testing.T) {
	noLeaks(t)
	lines := console(t)
	holder := eval(t, "(() => { const h = {}; h.p = new Promise((_, r) => { h.reject = r }); return h })()")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Await(ctx, holder.Get("p")); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	holder.Call("reject", eval(t, "new Error('late')"))
	task(t)
	expect.Len(t, lines(), 0, "console")
}

func TestContextFromSignal(t *testing.T) {
	noLeaks(t)
	controller := eval(t, "new AbortController()")
	ctx, cancel, err := ContextFromSignal(context.Background(), controller.Get("signal"))
	must.Do(t, err)
	defer cancel()
	if ctx.Err() != nil {
		t.Fatal("ended before the abort")
	}
	controller.Call("abort", eval(t, "new Error('changed my mind')"))
	<-ctx.Done()
	if cause := context.Cause(ctx); cause.Error() != "Error: changed my mind" {
		t.Errorf("cause %v", cause)
	}
}

func TestContextFromAbortedSignal(t *testing.T) {
	noLeaks(t)
	ctx, cancel, err := ContextFromSignal(context.Background(), eval(t, "AbortSignal.abort()"))
	must.Do(t, err)
	defer cancel()
	<-ctx.Done()
	if cause := context.Cause(ctx); !strings.HasPrefix(cause.Error(), "AbortError: ") {
		t.Errorf("cause %v", cause)
	}
}

func TestContextFromSignalFreesListenerHoweverItEnds(t *testing.T) {
	signal := eval(t, "new AbortController().signal")
	t.Run("cancel", func(t *testing.T) {
		noLeaks(t)
		_, cancel, err := ContextFromSignal(context.Background(), signal)
		must.Do(t, err)
		cancel()
		cancel()
	})
	t.Run("parent", func(t *testing.T) {
		noLeaks(t)
		parent, end := context.WithCancel(context.Background())
		ctx, cancel, err := ContextFromSignal(parent, signal)
		must.Do(t, err)
		defer cancel()
		end()
		<-ctx.Done()
		task(t)
		expect.Equal(t, LiveFuncs(), 0, "funcs left after the parent ended")
	})
}

func TestNoSignalIsNoLimit(t *testing.T) {
	for _, v := range []js.Value{js.Undefined(), js.Null()} {
		ctx, cancel, err := ContextFromSignal(context.Background(), v)
		if err != nil || ctx.Err() != nil {
			t.Fatalf("%v: %v, %v", v, err, ctx.Err())
		}
		cancel()
		if ctx.Err() == nil {
			t.Error("cancel did not end the context")
		}
	}
}

func TestWrongSignalIsBadRequest(t *testing.T) {
	noLeaks(t)
	for expression, got := range map[string]string{
		"'stop'": "string", "{}": "object", "5n": "bigint", "{aborted: false}": "object",
		"{get aborted() { throw 1 }}": "object",
	} {
		_, _, err := ContextFromSignal(context.Background(), eval(t, expression))
		want := "bad_request: signal must be an AbortSignal, got " + got
		if !errors.Is(err, fault.BadRequest) || err.Error() != want {
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
}

func TestSignalFromContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	signal, stop := SignalFromContext(ctx)
	defer stop()
	stopped, stopThat := SignalFromContext(ctx)
	stopThat()
	if signal.Get("aborted").Bool() {
		t.Fatal("aborted at once")
	}
	cancel()
	task(t)
	if !signal.Get("aborted").Bool() || stopped.Get("aborted").Bool() {
		t.Errorf("aborted by the context: %v, after stop: %v", signal.Get("aborted"), stopped.Get("aborted"))
	}
}

func TestScopeEndsNewestFirstAndOnce(t *testing.T) {
	noLeaks(t)
	scope := NewScope(nil)
	var order []string
	scope.OnEnd(func() { order = append(order, "first") })
	target := eval(t, "new EventTarget()")
	events := 0
	must.Do(t, scope.Listen(target, "x", func(js.Value) { events++ }))
	scope.Func(func(js.Value, []js.Value) any { return nil })
	scope.OnEnd(func() { order = append(order, "last") })
	target.Call("dispatchEvent", eval(t, "new Event('x')"))
	scope.End()
	scope.End()
	target.Call("dispatchEvent", eval(t, "new Event('x')"))
	expect.Equal(t, strings.Join(order, " "), "last first", "order")
	expect.Equal(t, events, 1, "events")
	scope.OnEnd(func() { order = append(order, "late") })
	if len(order) != 3 {
		t.Error("OnEnd after End was not called")
	}
	must.Do(t, scope.Listen(target, "x", func(js.Value) { events++ }))
	target.Call("dispatchEvent", eval(t, "new Event('x')"))
	expect.Equal(t, events, 1, "a listener of an ended scope was called")
}

func TestChildEndedEarly(t *testing.T) {
	noLeaks(t)
	scope := NewScope(nil)
	target := eval(t, "new EventTarget()")
	for range 3 {
		own := scope.child()
		must.Do(t, own.Listen(target, "x", func(js.Value) { t.Error("called") }))
		own.End()
		own.End()
	}
	target.Call("dispatchEvent", eval(t, "new Event('x')"))
	if len(scope.ends) != 0 {
		t.Errorf("scope keeps %d endings of scopes that have ended", len(scope.ends))
	}
}

func TestListenOnWrongTarget(t *testing.T) {
	noLeaks(t)
	if err := NewScope(nil).Listen(eval(t, "{}"), "x", func(js.Value) {}); err == nil {
		t.Error("no error")
	}
}

func TestPanicInCallbackReachesOwner(t *testing.T) {
	noLeaks(t)
	lines := console(t)
	var told []error
	scope := NewScope(func(err error) { told = append(told, err) })
	defer scope.End()
	f := scope.Func(func(js.Value, []js.Value) any { panic("callback") })
	if v := f.Invoke(); !v.IsUndefined() {
		t.Errorf("returned %v", v)
	}
	done := make(chan struct{})
	scope.Go(func() {
		defer close(done)
		panic("goroutine")
	})
	<-done
	task(t)
	if len(told) != 2 || !errors.Is(told[0], fault.InternalError) || !errors.Is(told[1], fault.InternalError) {
		t.Errorf("told %v", told)
	}
	if got := lines(); len(got) != 2 || !strings.Contains(got[0], "panic: callback") || !strings.Contains(got[1], "panic: goroutine") {
		t.Errorf("log %q", got)
	}
}

func TestPanickingOwnerDoesNotEndTheProgram(t *testing.T) {
	noLeaks(t)
	lines := console(t)
	scope := NewScope(func(error) { panic("owner") })
	scope.Func(func(js.Value, []js.Value) any { panic("callback") }).Invoke()
	scope.OnEnd(func() { panic("end") })
	scope.End()
	expect.Len(t, lines(), 4, "log")
}

func TestFuncReleasedInsideItself(t *testing.T) {
	noLeaks(t)
	var f *Func
	f = FuncOf(func(js.Value, []js.Value) any { f.Release(); f.Release(); return 5 })
	if v, err := Invoke(f.Value); err != nil || v.Int() != 5 {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestEmitConvertsAndPassesName(t *testing.T) {
	noLeaks(t)
	seen := eval(t, "[]")
	dispatch := js.Global().Get("Function").New("seen", "return (events) => { for (let i = 0; i < events.length; i += 3) seen.push(events.slice(i, i + 2)) }").Invoke(seen)
	if err := Emit(dispatch, Event{Name: "transcript", Payload: struct {
		Text string `json:"text"`
	}{"hello"}}, Event{Name: "micStarted"}); err != nil {
		t.Fatal(err)
	}
	// An event whose payload can't be converted doesn't affect the others.
	if err := Emit(dispatch, Event{Name: "a", Payload: 1}, Event{Name: "b", Payload: make(chan int)}, Event{Name: "c", Payload: fault.New(fault.Timeout, "")}); err == nil || !strings.HasPrefix(err.Error(), "emit b: ") {
		t.Errorf("error %v", err)
	}
	if got := eval(t, "(seen) => seen[2] + ',' + seen[3][0] + ',' + seen[3][1].code + ',' + (1 in seen[1]) + seen[1][1]").Invoke(seen).String(); got != "a,1,c,timeout,trueundefined" {
		t.Errorf("saw %s", got)
	}
	eval(t, "(seen) => { seen.length = 2 }").Invoke(seen)
	expect.Equal(t, eval(t, "JSON.stringify").Invoke(seen).String(), `[["transcript",{"text":"hello"}],["micStarted",null]]`, "saw")
}

func TestEmitErrors(t *testing.T) {
	dispatch := eval(t, "() => { throw new Error('no') }")
	if err := Emit(dispatch, Event{Name: "x"}); err == nil || err.Error() != "emit x: Error: no" {
		t.Errorf("error %v", err)
	}
	if err := Emit(dispatch, Event{Name: "x", Payload: make(chan int)}); err == nil || !strings.HasPrefix(err.Error(), "emit x: convert chan int") {
		t.Errorf("error %v", err)
	}
}

// TestPageTimeIsThatOfThePage: the time of an event can be compared with performance.now().
func TestPageTimeIsThatOfThePage(t *testing.T) {
	before := eval(t, "performance.now()").Float()
	at := time.Now()
	after := eval(t, "performance.now()").Float()
	if got := PageTime(at); got < before-0.2 || got > after+0.2 {
		t.Errorf("%v, but the page had %v before and %v after", got, before, after)
	}
	if back := TimeOf(PageTime(at)).Sub(at); back.Abs() > time.Millisecond {
		t.Errorf("the way back loses %v", back)
	}
}

// A listener that calls back into Go runs nested on the emitting goroutine.
func TestListenerMayCallGo(t *testing.T) {
	noLeaks(t)
	scope := NewScope(nil)
	defer scope.End()
	called := 0
	back := scope.Func(func(js.Value, []js.Value) any {
		called++
		return Promise(func() (any, error) { called++; return nil, nil })
	})
	dispatch := js.Global().Get("Function").New("back", "return () => { back() }").Invoke(back)
	must.Do(t, Emit(dispatch, Event{Name: "x"}))
	task(t)
	expect.Equal(t, called, 2, "called")
}

// TestTakeClosesWhatIsNotTaken: the loader receives whether a result is taken, and a promise that never settles keeps
// no callback.
func TestTakeClosesWhatIsNotTaken(t *testing.T) {
	noLeaks(t)
	defer SetLoader(js.Undefined())
	page := eval(t, `{calls: [], expect(promise, kind) { return (taken) => this.calls.push(kind + " " + taken) }}`)
	SetLoader(page)
	if v, err := Take(context.Background(), eval(t, "Promise.resolve(7)"), CloseMicrophone); err != nil || v.Int() != 7 {
		t.Errorf("got %v, %v", v, err)
	}
	if _, err := Take(context.Background(), eval(t, "Promise.reject(new TypeError('no'))"), CloseProcessor); err == nil || err.Error() != "TypeError: no" {
		t.Errorf("rejected with %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("given up"))
	if _, err := Take(ctx, eval(t, "new Promise(() => {})"), CloseMicrophone); err == nil || err.Error() != "given up" {
		t.Errorf("given up with %v", err)
	}
	task(t)
	expect.Equal(t, page.Get("calls").Call("join").String(), "microphone true,processor true,microphone false", "the loader received")
}
