package session

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// TestAnAnswerIsGivenOnce; after a failure it may be given again
// (protocol §9.8).
func TestAnAnswerIsGivenOnce(t *testing.T) {
	runTools(t, func(r *rig) {
		r.tool("save {}", "ti-4")
		for _, step := range []struct {
			id     string
			status int
			delay  time.Duration
			want   ToolAnswer
		}{
			{"ti-5", 200, 0, ToolAnswer{Reason: "unknown_or_stale"}},
			{"ti-4", 503, 0, ToolAnswer{Reason: "http_error", Status: 503}},
			{"ti-4", refusedWith200, 0, ToolAnswer{Reason: "http_error", Status: 200}},
			{"ti-4", 0, 0, ToolAnswer{Reason: "network_error"}},
			{"ti-4", 200, time.Minute, ToolAnswer{Reason: "timeout"}},
			{"ti-4", 204, 14 * time.Second, ToolAnswer{OK: true}},
			{"ti-4", 200, 0, ToolAnswer{Reason: "unknown_or_stale"}},
		} {
			r.service.status, r.service.delay = step.status, step.delay
			began := time.Now()
			got, err := r.Respond(context.Background(), step.id, map[string]any{"status": "ok"})
			if err != nil || got != step.want {
				t.Errorf("%+v: %+v, %v", step, got, err)
			}
			if took := time.Since(began); took > toolAnswerLimit {
				t.Errorf("%+v took %v", step, took)
			}
		}
		want := `POST https://brain.example/assistant/tool_response KS token {"response":{"status":"ok"},"tool_id":"ti-4","tool_invocation_id":"ti-4","tool_name":"save"}`
		if got := r.service.requests; len(got) != 5 || got[0] != want {
			t.Errorf("requests %q", got)
		}
	})
}

// TestAnAnswerIsSentOnce, also when a second one is given while the first is on its way.
func TestAnAnswerIsSentOnce(t *testing.T) {
	runTools(t, func(r *rig) {
		r.tool("save {}", "ti-4")
		r.service.delay = time.Second
		first := make(chan ToolAnswer, 1)
		go func() {
			answer, _ := r.Respond(context.Background(), "ti-4", map[string]any{})
			first <- answer
		}()
		synctest.Wait()
		second, err := r.Respond(context.Background(), "ti-4", map[string]any{})
		if answer := <-first; !answer.OK || err != nil || second.Reason != "unknown_or_stale" || len(r.service.requests) != 1 {
			t.Errorf("first %+v, second %+v, %v, requests %q", answer, second, err, r.service.requests)
		}
	})
}

func TestAnAnswerIsAnObject(t *testing.T) {
	runTools(t, func(r *rig) {
		r.tool("save {}", "ti-4")
		for name, call := range map[string]func() (ToolAnswer, error){
			"no id":     func() (ToolAnswer, error) { return r.Respond(context.Background(), "", map[string]any{}) },
			"no object": func() (ToolAnswer, error) { return r.Respond(context.Background(), "ti-4", nil) },
			"no JSON": func() (ToolAnswer, error) {
				return r.Respond(context.Background(), "ti-4", map[string]any{"f": func() {}})
			},
		} {
			expect.Fail(call())(t, fault.BadRequest, "%s", name)
		}
		expect.Equal(t, len(r.service.requests), 0, "requests %q", r.service.requests)
	})
}

// TestAnAnswersTimeIsOver ten minutes after the call, and it is forgotten then.
func TestAnAnswersTimeIsOver(t *testing.T) {
	runTools(t, func(r *rig) {
		r.tool(`save {"n":1}`, "ti-1")
		r.tool(`save {"n":2}`, "ti-2")
		time.Sleep(toolAnswerLife)
		if a, err := r.Respond(context.Background(), "ti-1", map[string]any{}); err != nil || !a.OK {
			t.Errorf("in time: %+v, %v", a, err)
		}
		time.Sleep(time.Millisecond)
		if a, err := r.Respond(context.Background(), "ti-2", map[string]any{}); err != nil || a.Reason != "unknown_or_stale" {
			t.Errorf("too late: %+v, %v", a, err)
		}
		r.tool(`save {"n":3}`, "ti-3")
		time.Sleep(toolAnswerLife + 1)
		r.tool(`save {"n":4}`, "ti-4")
		expect.Equal(t, len(r.waiting), 1, "calls are remembered")
		r.inside.Work.Call(r.Forget)
		if a, err := r.Respond(context.Background(), "ti-4", map[string]any{}); err != nil || a.Reason != "unknown_or_stale" {
			t.Errorf("after the end: %+v, %v", a, err)
		}
	})
}

// TestTheCallerMayGiveUp: the end of its context is an error, and the answer may be
// given again.
func TestTheCallerMayGiveUp(t *testing.T) {
	runTools(t, func(r *rig) {
		r.tool("save {}", "ti-4")
		r.service.delay = 10 * time.Second
		for code, end := range map[fault.Code]func() (context.Context, context.CancelFunc){
			fault.Timeout: func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(context.Background(), time.Second)
			},
			fault.Aborted: func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			},
		} {
			ctx, cancel := end()
			if _, err := r.Respond(ctx, "ti-4", map[string]any{}); !errors.Is(err, code) {
				t.Errorf("%v, want %s", err, code)
			}
			cancel()
		}
		r.service.delay = 0
		if a, err := r.Respond(context.Background(), "ti-4", map[string]any{}); err != nil || !a.OK {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// TestTheCallerMayGiveUpWhileANewTokenIsAwaited: that is the end of its context too, not the refusal of the old token.
func TestTheCallerMayGiveUpWhileANewTokenIsAwaited(t *testing.T) {
	runTools(t, func(r *rig) {
		r.inside.opts.OnTokenNeeded = func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		r.tool("save {}", "ti-4")
		r.service.status = 401
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if a, err := r.Respond(ctx, "ti-4", map[string]any{}); !errors.Is(err, fault.Timeout) {
			t.Errorf("%+v, %v", a, err)
		}
		time.Sleep(tokenLimit)
		if a, err := r.Respond(context.Background(), "ti-4", map[string]any{}); err != nil || a != (ToolAnswer{Reason: "http_error", Status: 401}) {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// TestTheEndEndsTheWaitForANewToken, whatever the application's function does.
func TestTheEndEndsTheWaitForANewToken(t *testing.T) {
	runTools(t, func(r *rig) {
		r.inside.opts.OnTokenNeeded = func(context.Context) (string, error) {
			time.Sleep(5 * time.Second)
			return "new", nil
		}
		r.tool("save {}", "ti-4")
		r.service.status = 401
		began := time.Now()
		time.AfterFunc(time.Second, func() {
			r.inside.Work.Call(func() { r.inside.Tokens.Stop(); r.inside.Die() })
		})
		a, err := r.Respond(context.Background(), "ti-4", map[string]any{})
		if err != nil || a.OK || time.Since(began) != time.Second || r.inside.Token != "token" {
			t.Errorf("%+v, %v after %v, token %s", a, err, time.Since(began), r.inside.Token)
		}
		time.Sleep(tokenLimit)
	})
}

func TestAnAnswerToAnotherPlaceIsTooLate(t *testing.T) {
	runTools(t, func(r *rig) {
		r.tool("save {}", "ti-4")
		r.service.delay = time.Second
		time.AfterFunc(time.Millisecond, func() { r.inside.Work.Call(func() { r.inside.place = "elsewhere" }) })
		if a, err := r.Respond(context.Background(), "ti-4", map[string]any{}); err != nil || a != (ToolAnswer{Reason: "session_rebuilt"}) {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// TestAnAnswerThatWasTakenIsTaken, although the caller's context ends at that moment.
func TestAnAnswerThatWasTakenIsTaken(t *testing.T) {
	runTools(t, func(r *rig) {
		for i := range 50 {
			id := fmt.Sprint("ti-", i)
			r.tool(fmt.Sprintf(`save {"n":%d}`, i), id)
			ctx, cancel := context.WithCancel(context.Background())
			r.service.then = cancel
			if a, err := r.Respond(ctx, id, map[string]any{}); err != nil || !a.OK {
				t.Fatalf("%+v, %v", a, err)
			}
		}
		expect.Equal(t, len(r.waiting), 0, "answers are waited for")
	})
}
