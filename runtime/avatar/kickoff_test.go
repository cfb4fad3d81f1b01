package avatar

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestAKickoffThatIsHeldBackLeavesLater, from wherever it was, and once.
func TestAKickoffThatIsHeldBackLeavesLater(t *testing.T) {
	const begin = `{"text":"Begin","isFinal":true}`
	guard := make(chan struct{})
	slow := func(_ context.Context, text string, _ SendInfo) (string, error) {
		<-guard
		return text, nil
	}
	for name, c := range map[string]struct {
		options Options
		at      func(r *rig) *fakeservice.Socket
	}{
		"before the connect": {at: func(r *rig) *fakeservice.Socket {
			if r.HoldKickoff(true) {
				r.t.Error("used up before there was a session")
			}
			return r.mustConnect()
		}},
		"behind the opening": {at: func(r *rig) *fakeservice.Socket {
			s := r.connectOnly()
			if r.HoldKickoff(true) {
				r.t.Error("used up during the opening")
			}
			s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
			return s
		}},
		"while it is considered": {options: Options{BeforeSend: slow}, at: func(r *rig) *fakeservice.Socket {
			guard = make(chan struct{})
			s := r.mustConnect()
			if r.HoldKickoff(true) {
				r.t.Error("used up while it is considered")
			}
			close(guard)
			return s
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Kickoff = &event.Kickoff{Text: "Begin"}
			run(t, c.options, func(r *rig) {
				s := c.at(r)
				synctest.Wait()
				if got := s.Payloads(signaling.TextEntered); len(got) != 0 || r.Snapshot().Kickoff.Sent {
					t.Errorf("sent %v while it was held back", got)
				}
				r.HoldKickoff(false)
				synctest.Wait()
				if got := s.Payloads(signaling.TextEntered); len(got) != 2 || got[1] != begin {
					t.Errorf("sent %v", got)
				}
				if !r.HoldKickoff(true) || !r.HoldKickoff(false) {
					t.Error("not used up after it has left")
				}
				synctest.Wait()
				expect.Len(t, s.Payloads(signaling.TextEntered), 2, "sent")
			})
		})
	}
}

// TestTextsThatAreStartedKeepTheirOrder, whoever waits for them first.
func TestTextsThatAreStartedKeepTheirOrder(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		var waits []func() (bool, error)
		for _, text := range []string{"one", "two", "three"} {
			waits = append(waits, r.Start(context.Background(), text))
		}
		for _, wait := range slices.Backward(waits) {
			if left, err := wait(); !left || err != nil {
				t.Errorf("%v, %v", left, err)
			}
		}
		got := slices.DeleteFunc(s.Payloads(signaling.TextEntered), func(p string) bool { return p == s.Payloads(signaling.TextEntered)[0] })
		want := []string{`{"text":"one","isFinal":true}`, `{"text":"two","isFinal":true}`, `{"text":"three","isFinal":true}`}
		expect.List(t, got, want, "sent")
	})
}

func TestAKickoffThatNeverLeftIsNotMarkedSent(t *testing.T) {
	run(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}}, func(r *rig) {
		r.connectOnly()
		r.Disconnect(session.DisconnectOptions{}) // during the opening
		synctest.Wait()
		if r.Snapshot().Kickoff.Sent {
			t.Fatal("marked as sent")
		}
		r.must(r.SetToken("fresh"))
		for range 2 { // lives
			s := r.mustConnect()
			if got, first := len(s.Payloads(signaling.TextEntered)), r.service.Dialled() == 2; got == 0 && first || got != 0 && !first {
				t.Errorf("connection %d: %d texts", r.service.Dialled(), got)
			}
			r.Disconnect(session.DisconnectOptions{})
			r.must(r.SetToken("fresh"))
			synctest.Wait()
		}
	})
}

// TestAKickoffThatIsRefusedWarns, and is used up: what the application does not want is not tried elsewhere.
func TestAKickoffThatIsRefusedWarns(t *testing.T) {
	o := Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}, BeforeSend: func(context.Context, string, SendInfo) (string, error) { panic("bug") }}
	connectedWith(t, o, func(r *rig, s *fakeservice.Socket) {
		if w := all[event.Warning](r); len(w) != 1 || w[0].Code != fault.KickoffFailed {
			t.Errorf("warnings = %+v", w)
		}
		if got := s.Payloads(signaling.TextEntered); len(got) != 0 || r.Snapshot().State != Connected {
			t.Errorf("sent %v in state %s", got, r.Snapshot().State)
		}
		if !r.HoldKickoff(true) {
			t.Error("it may be sent again")
		}
	})
	connected(t, func(r *rig, _ *fakeservice.Socket) {
		if !r.HoldKickoff(true) {
			t.Error("there is none, and it may be sent")
		}
	})
}

// TestAKickoffThatIsSentAgainIsNotShown: the filter of its echo ends with a connection only if the
// service has the kickoff.
func TestAKickoffThatIsSentAgainIsNotShown(t *testing.T) {
	for _, lost := range []bool{true, false} {
		run(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}}, func(r *rig) {
			if r.acknowledging(); lost {
				r.acknowledging("Begin")
			}
			s := r.mustConnect()
			r.replace(s)
			r.Forget()
			s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: "Begin"})
			synctest.Wait()
			if shown := len(all[event.Transcript](r)) > 0; shown == lost || len(s.Texts()) > 1 != lost {
				t.Errorf("lost %v: shown %v, sent %v", lost, shown, s.Texts())
			}
		})
	}
}

// TestALogHasNoKickoffWithoutEcho, whether the service has stored it or not.
func TestALogHasNoKickoffWithoutEcho(t *testing.T) {
	for _, lost := range []bool{true, false} {
		run(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}}, func(r *rig) {
			if r.acknowledging(); lost {
				r.acknowledging("Begin\nHello")
			}
			s := r.connectOnly()
			sent := r.speakLater("Hello")
			s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
			<-sent
			synctest.Wait()
			r.Disconnect(session.DisconnectOptions{})
			synctest.Wait()
			var typed []string
			for _, e := range all[event.Transcript](r) {
				typed = append(typed, e.Text)
			}
			for _, e := range all[event.TurnUnconfirmed](r) {
				typed = append(typed, "lost: "+e.Typed)
			}
			want := "Hello"
			if lost {
				want = "lost: Hello"
			}
			if !slices.Equal(typed, []string{want}) || s.Texts()[0].Text != "Begin\nHello" {
				t.Errorf("shown %q, want %q; sent %v", typed, want, s.Texts())
			}
		})
	}
}
