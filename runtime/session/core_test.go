package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// inside is a minimal session: a Core whose state is a number.
type inside struct {
	Core
	place            any
	state, published int
	crashes          []*fault.Error
	events           []event.Event
	audit            []event.Audit
	logged           []string
	heed             func(event.Event)
}

func newInside() *inside {
	s := &inside{}
	stall, limit, genie := 12*time.Second, 3, "https://brain.example"
	s.Start(&Options{
		SubjectID: "visitor-7", BrainStall: &stall, ToolSpiralLimit: &limit, GenieURL: &genie,
		TraceContext: func() httpclient.TraceContext { return httpclient.TraceContext{} },
		OnEvent: func(e event.Event) {
			s.events = append(s.events, e)
			if s.heed != nil {
				s.heed(e)
			}
		},
		OnAuditEvent: func(a event.Audit) { s.audit = append(s.audit, a) },
		Log: func(level, message string, _ map[string]any) {
			first, _, _ := strings.Cut(message, "\n")
			s.logged = append(s.logged, level+" "+first)
		},
	}, Kind{
		Publish: func() { s.published = s.state },
		Crashed: func(err *fault.Error) { s.crashes = append(s.crashes, err) },
		Status:  func() Status { return Status{PartnerID: "999", ThreadID: "5f0c"} },
		Place:   func() any { return s.place },
	})
	return s
}

// all returns the events of type T so far.
func all[T event.Event](s *inside) []T {
	synctest.Wait()
	var found []T
	for _, e := range s.events {
		if v, ok := e.(T); ok {
			found = append(found, v)
		}
	}
	return found
}

// bubble calls f with an inside whose goroutines must all end.
func bubble(t *testing.T, f func(s *inside)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		f(newInside())
		synctest.Wait()
	})
}

// TestAPanicEndsTheSession, wherever it occurs; only the log contains its stack.
func TestAPanicEndsTheSession(t *testing.T) {
	for name, crash := range map[string]func(s *inside){
		"on the queue": func(s *inside) { s.Work.Post(func() { panic("KS djJ8secret-token-1234567890") }) },
		"at once":      func(s *inside) { s.Work.Do(func() { panic("KS djJ8secret-token-1234567890") }) },
		"beside it":    func(s *inside) { s.Spawn(func() { panic("KS djJ8secret-token-1234567890") }) },
		"in a timer": func(s *inside) {
			s.After(time.Second, func() { panic("KS djJ8secret-token-1234567890") })
			time.Sleep(2 * time.Second)
		},
		"in a question": func(s *inside) {
			_, _ = Ask(context.Background(), &s.Core, func(chan<- int) { panic("KS djJ8secret-token-1234567890") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(s *inside) {
				crash(s)
				synctest.Wait()
				if len(s.crashes) != 1 || s.crashes[0].Code != fault.InternalError || strings.Contains(s.crashes[0].Error(), "secret-token") {
					t.Errorf("crashed with %v", s.crashes)
				}
				if len(s.logged) != 1 || !strings.HasPrefix(s.logged[0], "error panic: ") || strings.Contains(s.logged[0], "secret-token") {
					t.Errorf("logged %q", s.logged)
				}
				ran := false
				s.Work.Call(func() { ran = true })
				if !ran {
					t.Error("the queue has stopped")
				}
			})
		})
	}
}

func TestAListenersPanicEndsNothing(t *testing.T) {
	bubble(t, func(s *inside) {
		s.heed = func(event.Event) { panic("a bug in the page") }
		s.opts.OnAuditEvent = func(event.Audit) { panic("another bug") }
		s.Emit(event.ResponsePending{})
		s.Emit(event.ResponseSettled{})
		s.Audit("session.connect", "started", "")
		s.WaitDelivered()
		if len(s.events) != 2 || len(s.crashes) != 0 || s.Flooded() || s.undelivered.Load() != 0 {
			t.Errorf("%d events, crashes %v, %d unheard", len(s.events), s.crashes, s.undelivered.Load())
		}
		if len(s.logged) != 3 || s.logged[0] != "error a listener panicked: a bug in the page" {
			t.Errorf("logged %q", s.logged)
		}
	})
}

// TestAListenerReadsWhatTheEventTellsOf: the state is published before the event.
func TestAListenerReadsWhatTheEventTellsOf(t *testing.T) {
	bubble(t, func(s *inside) {
		var read []int
		s.heed = func(event.Event) { read = append(read, s.published) }
		s.Work.Call(func() {
			for range 3 {
				s.state++
				s.Emit(event.ResponsePending{})
				synctest.Wait()
			}
		})
		expect.List(t, read, []int{1, 2, 3}, "listeners read")
	})
}

func TestEverythingIsHeardInOrder(t *testing.T) {
	bubble(t, func(s *inside) {
		release := make(chan struct{})
		s.heed = func(event.Event) { <-release }
		for range MaxUndelivered + 1 {
			s.Emit(event.ResponsePending{})
		}
		after := -1
		s.AfterDelivered(func() { after = len(s.events) })
		s.Emit(event.ResponseSettled{})
		synctest.Wait()
		if !s.Flooded() || after != -1 {
			t.Errorf("flooded %v, after %d", s.Flooded(), after)
		}
		close(release)
		s.WaitDelivered()
		if s.Flooded() || after != MaxUndelivered+1 || len(s.events) != MaxUndelivered+2 {
			t.Errorf("flooded %v, after %d of %d", s.Flooded(), after, len(s.events))
		}
	})
}

// TestWithoutAListener nothing is kept for one.
func TestWithoutAListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Core
		b.Start(&Options{}, Kind{Publish: func() {}})
		b.Emit(event.ResponsePending{})
		b.Audit("session.connect", "started", "")
		b.Log("warn", "nobody reads it", nil)
		b.Warn(fault.KickoffFailed, "")
		if b.undelivered.Load() != 0 || len(b.delivery.waiting) != 0 {
			t.Error("something waits for a listener that there is not")
		}
	})
}

// TestAnAuditEventHasItsFullShape, with null for what a session can't know (session
// §C.4).
func TestAnAuditEventHasItsFullShape(t *testing.T) {
	bubble(t, func(s *inside) {
		s.Audit("agent.action.deny", "denied", "not on the list")
		s.Audit("token.refresh", "accepted", "")
		s.WaitDelivered()
		want := []string{
			`{"ts":"","type":"agent.action.deny","severity":"warning","outcome":"denied","requestId":"","actor":{"partnerId":"999","subjectId":"visitor-7","kind":"agent","entitlementEnforced":null},"target":"5f0c","action":"action.deny","scope":"session","reason":"not on the list","source":"runtime","expiresAt":null,"_meta":{}}`,
			`{"ts":"","type":"token.refresh","severity":"info","outcome":"accepted","requestId":"","actor":{"partnerId":"999","subjectId":"visitor-7","kind":"user","entitlementEnforced":null},"target":"5f0c","action":"refresh","scope":"session","reason":"","source":"runtime","expiresAt":null,"_meta":{}}`,
		}
		for i, a := range s.audit {
			if _, err := time.Parse(time.RFC3339, a.At); err != nil || len(a.RequestID) != auditIDLength {
				t.Errorf("at %q, id %q: %v", a.At, a.RequestID, err)
			}
			a.At, a.RequestID = "", ""
			if got, err := json.Marshal(a); err != nil || string(got) != want[i] {
				t.Errorf("got\n%s, %v, want\n%s", got, err, want[i])
			}
		}
		expect.Equal(t, len(s.audit), len(want), "events")
	})
}

func TestWarningsAndAuditsAreRedacted(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	bubble(t, func(s *inside) {
		s.Warn(fault.KickoffFailed, "the secret "+secret)
		s.Audit("guardrail.block", "denied", "the secret "+secret)
		s.Log("info", "the secret "+secret, nil)
		s.WaitDelivered()
		w := all[event.Warning](s)
		if len(w) != 1 || w[0].Message == "" || strings.Contains(w[0].Detail, secret) {
			t.Errorf("warned %+v", w)
		}
		if len(s.audit) != 1 || s.audit[0].Actor.PartnerID != "999" || s.audit[0].Actor.SubjectID != "visitor-7" || s.audit[0].Target != "5f0c" ||
			strings.Contains(s.audit[0].Reason, secret) {
			t.Errorf("audited %+v", s.audit)
		}
		if len(s.logged) != 1 || strings.Contains(s.logged[0], secret) {
			t.Errorf("logged %q", s.logged)
		}
	})
}

// TestLogIsRedacted covers the data of a message, and the secrets that only their
// session can recognise.
func TestLogIsRedacted(t *testing.T) {
	var logged string
	var b Core
	b.Start(&Options{Log: func(level, message string, data map[string]any) { logged = fmt.Sprint(level, message, data) }}, Kind{})
	defer b.Secrets.Forget()
	b.Secrets.Add("correct horse")
	b.Secrets.AddNamed(map[string]any{"pinSecret": "battery staple", "name": "Annabella"})
	b.Log("warn", "refused correct horse", map[string]any{
		"error": errors.New("login of Annabella with battery%20staple"), "password": "x", "status": int64(403), "deep": []any{"correct horse"},
	})
	for _, secret := range []string{"correct", "battery", "staple", "password:x"} {
		if strings.Contains(logged, secret) {
			t.Errorf("%q is in %s", secret, logged)
		}
	}
	for _, kept := range []string{"warn", "refused", "Annabella", "403"} {
		if !strings.Contains(logged, kept) {
			t.Errorf("%q is not in %s", kept, logged)
		}
	}
}

func TestAnAttemptToCompleteIsAnEvent(t *testing.T) {
	bubble(t, func(s *inside) {
		s.completed(completion.Attempt{Reason: "manual", Sent: true, Suppressed: true, Peers: 2})
		want := event.SessionCompleted{Reason: "manual", Sent: true, Suppressed: true, Peers: 2}
		if got := all[event.SessionCompleted](s); !slices.Equal(got, []event.SessionCompleted{want}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestALoggerMayPanic(t *testing.T) {
	Logger(func(string, string, map[string]any) { panic("a bug in the page") })("warn", "message", nil)
	Logger(nil)("warn", "message", nil)
}

func TestGuarded(t *testing.T) {
	if v, err := Guarded(func() (any, error) { return 7, nil }); v != 7 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	v, err := Guarded(func() (any, error) { panic("a secret") })
	if v != nil || !errors.Is(err, fault.InternalError) || strings.Contains(err.Error(), "a secret") {
		t.Errorf("%v, %v", v, err)
	}
}

func TestAsk(t *testing.T) {
	bubble(t, func(s *inside) {
		if v, err := Ask(context.Background(), &s.Core, func(reply chan<- int) { reply <- 7 }); v != 7 || err != nil {
			t.Errorf("%v, %v", v, err)
		}
		expect.Fail(Ask(context.Background(), &s.Core, func(chan<- int) { panic("a bug") }))(t, fault.InternalError, "a panic")
		ctx, cancel := context.WithCancel(context.Background())
		release := make(chan struct{})
		s.Work.Post(func() { <-release })
		time.AfterFunc(time.Second, cancel)
		expect.Fail(Ask(ctx, &s.Core, func(reply chan<- int) { reply <- 7 }))(t, fault.Aborted, "the end of the context")
		close(release)
	})
}

// TestEndOf: whatever the cause is, the code says how the context ended.
func TestEndOf(t *testing.T) {
	left := errors.New("the visitor left")
	early, cancel := context.WithCancelCause(context.Background())
	cancel(left)
	late, cancelLate := context.WithDeadlineCause(context.Background(), time.Unix(1, 0), left)
	defer cancelLate()
	plain, cancelPlain := context.WithCancel(context.Background())
	cancelPlain()
	inner, cancelInner := context.WithCancelCause(context.Background())
	cancelInner(fault.New(fault.NetworkError, ""))
	for name, test := range map[string]struct {
		ctx  context.Context
		code fault.Code
		is   []error
	}{
		"cancelled":      {plain, fault.Aborted, []error{context.Canceled}},
		"with a cause":   {early, fault.Aborted, []error{context.Canceled, left}},
		"with a fault":   {inner, fault.Aborted, []error{context.Canceled, fault.NetworkError}},
		"by a deadline":  {late, fault.Timeout, []error{context.DeadlineExceeded, left}},
		"not ended, nil": {context.Background(), "", nil},
	} {
		err := EndOf(test.ctx)
		if test.code == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err.Code != test.code {
			t.Errorf("%s: %v", name, err)
		}
		for _, is := range test.is {
			expect.Error(t, err, is, "%s is", name)
		}
	}
}

func TestATimerRunsUnlessItIsStopped(t *testing.T) {
	bubble(t, func(s *inside) {
		ran := 0
		count := func() { ran++ }
		s.After(time.Second, count)
		s.After(time.Second, count).Stop()
		(*Timer)(nil).Stop()
		// This timer has fired and waits on the queue when it is stopped.
		release := make(chan struct{})
		var late *Timer
		s.Work.Post(func() {
			<-release
			late.Stop()
		})
		late = s.After(2*time.Second, count)
		time.Sleep(3 * time.Second)
		close(release)
		synctest.Wait()
		expect.Equal(t, ran, 1, "timers ran")
	})
}

func TestTheWatchdogCountsSilence(t *testing.T) {
	bubble(t, func(s *inside) {
		w := &s.Stall
		on := func(f func()) {
			s.Work.Call(f)
			synctest.Wait()
		}
		w.Disarm()
		on(w.Arm)
		time.Sleep(11 * time.Second)
		on(w.Arm) // anew
		time.Sleep(25 * time.Second)
		on(w.Disarm)
		time.Sleep(time.Hour)
		on(w.Arm)
		time.Sleep(13 * time.Second)
		on(w.Disarm)
		want := []event.BrainStalled{{AfterMs: 12_000, Count: 1}, {AfterMs: 12_000, Count: 2}, {AfterMs: 12_000, Count: 1}}
		if got := all[event.BrainStalled](s); !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
		*s.opts.BrainStall = 0
		on(w.Arm)
		time.Sleep(time.Hour)
		if got := all[event.BrainStalled](s); len(got) != 3 {
			t.Errorf("%v", got)
		}
	})
}

// TestWhoWaitsForTheListenerWaitsForItsWishes: a listener that gets an event while the
// queue is still busy posts a function, which runs afterwards.
func TestWhoWaitsForTheListenerWaitsForItsWishes(t *testing.T) {
	bubble(t, func(s *inside) {
		s.heed = func(event.Event) {
			s.Work.Do(func() {
				time.Sleep(time.Second) // the queue is slow, as on a loaded machine
				s.state = 1
			})
		}
		s.Work.Call(func() {
			s.Emit(event.ResponsePending{})
			time.Sleep(time.Second) // until the listener has posted
		})
		s.WaitDelivered()
		expect.Equal(t, s.state, 1, "what the listener asked for is not done")
	})
}

// TestWhatHappenedWhileTheListenerWasBusyIsDeliveredAtOnce, except events after a function
// that AfterDelivered runs in between.
func TestWhatHappenedWhileTheListenerWasBusyIsDeliveredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		var b Core
		b.Start(&Options{
			OnEvents: func(events []event.Timed) {
				for _, e := range events {
					order = append(order, e.Name())
				}
				order = append(order, fmt.Sprint(len(events)))
				if len(order) == 3 {
					b.Emit(event.BrainStalled{})
				}
			},
		}, Kind{Publish: func() {}})
		idle := make(chan struct{})
		b.AfterDelivered(func() { <-idle })
		b.Emit(event.ResponsePending{})
		b.Emit(event.ResponseSettled{})
		b.AfterDelivered(func() { order = append(order, "after") })
		b.Emit(event.TurnEnded{})
		expect.Equal(t, b.undelivered.Load(), 3, "events count as waiting")
		close(idle)
		b.WaitDelivered()
		want := "[responsePending responseSettled 2 after turnEnd brainStalled 2]"
		if got := fmt.Sprint(order); got != want || b.undelivered.Load() != 0 {
			t.Errorf("%s, want %s; %d events count as waiting", got, want, b.undelivered.Load())
		}
	})
}

// TestAnEventPublishesWithoutAListener: the application may read the state after a call that
// returned in the same function on the queue.
func TestAnEventPublishesWithoutAListener(t *testing.T) {
	var b Core
	state, published := "idle", ""
	b.Start(&Options{}, Kind{Publish: func() { published = state }})
	b.Work.Call(func() {
		state = "connected"
		b.Emit(event.ResponsePending{})
		expect.Equal(t, published, state, "published")
	})
}
