package chat

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestATurnThatIsRefusedIsSentWithANewToken, once, and with unauthorized when that is refused too.
func TestATurnThatIsRefusedIsSentWithANewToken(t *testing.T) {
	asked := 0
	o := Options{Options: session.Options{Token: "old", OnTokenNeeded: func(context.Context) (string, error) {
		asked++
		return "new-" + strings.Repeat("x", asked), nil
	}}}
	connected(t, o, func(r *rig) {
		answer := r.later(context.Background(), "Hello")
		r.asked(0).reply(401, "application/json").write(`{"message":"expired"}`).end()
		if token := r.asked(1).token; token != "new-x" {
			t.Fatalf("sent again with %q", token)
		}
		r.asked(1).answer().say(`{"role":"assistant","type":"text","content":"Hi.","segmentNumber":1,"isFinal":true}`).end()
		if got := answer.ended(); got.err != nil || got.turn.Text != "Hi." {
			t.Errorf("%+v, %v", got.turn, got.err)
		}
		answer = r.later(context.Background(), "And now?")
		r.asked(2).reply(401, "application/json").end()
		r.asked(3).reply(401, "application/json").end()
		if got := answer.ended(); !errors.Is(got.err, fault.Unauthorized) || r.requests() != 4 {
			t.Errorf("%v after %d requests, want unauthorized after 4", got.err, r.requests())
		}
	})
}

// TestTheNextTokenIsAskedForAheadOfTheEnd where the life of tokens is known.
func TestTheNextTokenIsAskedForAheadOfTheEnd(t *testing.T) {
	var began time.Time
	var asked []time.Duration
	o := Options{Options: session.Options{TokenLife: time.Minute, OnTokenNeeded: func(context.Context) (string, error) {
		asked = append(asked, time.Since(began))
		if len(asked) == 2 {
			return "", errors.New("not now")
		}
		return "next", nil
	}}}
	run(t, o, func(r *rig) {
		began = time.Now()
		r.mustConnect()
		time.Sleep(100 * time.Second)
		synctest.Wait()
		if len(asked) != 3 || asked[0] != 48*time.Second || asked[1] != 96*time.Second || asked[2] != 99*time.Second {
			t.Errorf("asked after %v, want 48 s, 96 s, and 3 s after the call that failed", asked)
		}
	})
}

// TestATokenOfTheApplicationReplacesTheOneThatIsAskedFor: the call under way may fail later, which neither
// asks again nor leaves a call for after the end.
func TestATokenOfTheApplicationReplacesTheOneThatIsAskedFor(t *testing.T) {
	var asked atomic.Int32
	o := Options{Options: session.Options{TokenLife: time.Minute, OnTokenNeeded: func(context.Context) (string, error) {
		asked.Add(1)
		time.Sleep(5 * time.Second)
		return "", errors.New("not now")
	}}}
	connected(t, o, func(r *rig) {
		time.Sleep(50 * time.Second) // asked after 48 s
		must.Do(r.t, r.SetToken("its own"))
		time.Sleep(30 * time.Second)
		r.Disconnect(session.DisconnectOptions{})
		time.Sleep(time.Hour)
		expect.Equal(t, asked.Load(), 1, "calls")
	})
}

// TestATurnEndsWhileANewTokenIsAwaited: with the end of its context, or of the session, not with
// the refusal of the old token.
func TestATurnEndsWhileANewTokenIsAwaited(t *testing.T) {
	waits := func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	for name, end := range map[string]func(r *rig, cancel func()){
		"its caller ends it": func(_ *rig, cancel func()) { cancel() },
		"the session ends":   func(r *rig, _ func()) { r.Disconnect(session.DisconnectOptions{}) },
	} {
		connected(t, Options{Options: session.Options{OnTokenNeeded: waits}}, func(r *rig) {
			ctx, cancel := context.WithCancel(r.t.Context())
			defer cancel()
			answer := r.later(ctx, "Hello")
			r.asked(0).reply(401, "application/json").write(`{"message":"expired"}`).end()
			synctest.Wait()
			end(r, cancel)
			expect.Error(t, answer.ended().err, fault.Aborted, "%s", name)
			for _, e := range all[event.Failed](r) {
				expect.Equal(t, e.Error.Code, fault.Aborted, "%s: the event error", name)
			}
			time.Sleep(time.Minute) // until the application's function has ended
		})
	}
}
