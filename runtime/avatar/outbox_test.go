package avatar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// acknowledging makes the service acknowledge everything that it gets from now on, except the
// texts and events in lost.
func (r *rig) acknowledging(lost ...string) {
	r.service.Set(func(f *fakeservice.Service) {
		f.Acknowledge = func(what string) bool { return !slices.Contains(lost, what) }
	})
}

// TestALostCommandIsSentAgain: without the approval the agent never speaks, and every text
// waits for ever. Of two commands for the same setting, the newer is sent.
func TestALostCommandIsSentAgain(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.acknowledging(signaling.ApprovedPermissions, signaling.PauseConversation, signaling.ResumeConversation, signaling.UnmuteUser)
		s := r.connectOnly()
		r.Mute()
		r.Unmute()
		r.must(r.UpdateRequestVars(map[string]any{"a": 1}))
		r.must(errors.Join(r.Pause(), r.Resume(context.Background())))
		sent := len(s.Names())
		r.recover(s)
		want := []string{signaling.ApprovedPermissions, signaling.UnmuteUser, signaling.ResumeConversation}
		expect.List(t, s.Names()[sent:], want, "sent again")
		r.acknowledging()
		r.recover(s)
		sent = len(s.Names())
		r.recover(s)
		expect.Len(t, s.Names()[sent:], 0, "sent again")
	})
}

// TestACommandIsSentOnceToAServiceThatDoesNotAcknowledge, unless it never left.
func TestACommandIsSentOnceToAServiceThatDoesNotAcknowledge(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Mute()
		r.service.Set(func(f *fakeservice.Service) { f.Down = true })
		r.must(r.Pause())
		r.service.Set(func(f *fakeservice.Service) { f.Down = false })
		sent := len(s.Names())
		r.recover(s)
		r.recover(s)
		expect.List(t, s.Names()[sent:], []string{signaling.PauseConversation}, "sent")
	})
}

func (r *rig) say(text string) {
	r.t.Helper()
	if sent, err := r.Speak(context.Background(), text); !sent || err != nil {
		r.t.Fatalf("speak %q: %v, %v", text, sent, err)
	}
	synctest.Wait()
}

// recover cuts the socket; the service keeps the session.
func (r *rig) recover(s *fakeservice.Socket) {
	s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.TransportClose})
	s.Push(socketio.Event{Kind: socketio.Connected, Recovered: true})
	synctest.Wait()
}

// replace cuts the socket; the service has a new session, whose opening ends.
func (r *rig) replace(s *fakeservice.Socket) {
	s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.TransportClose})
	s.Push(socketio.Event{Kind: socketio.Connected})
	synctest.Wait()
	s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
	synctest.Wait()
}

// typed returns the final texts of s, with a number for each id: turns with the same
// number are the same turn.
func typed(s *fakeservice.Socket) []string {
	ids, texts := map[string]int{}, []string{}
	for _, t := range s.Texts() {
		if _, known := ids[t.ClientTurnID]; !known {
			ids[t.ClientTurnID] = len(ids) + 1
		}
		texts = append(texts, fmt.Sprint(ids[t.ClientTurnID], " ", t.Text))
	}
	return texts
}

func (r *rig) wantTyped(s *fakeservice.Socket, want ...string) {
	r.t.Helper()
	synctest.Wait()
	expect.List(r.t, typed(s), want, "sent")
}

func (r *rig) wantUnconfirmed(want ...string) {
	r.t.Helper()
	var got []string
	for _, e := range all[event.TurnUnconfirmed](r) {
		if e.ClientTurnID == "" {
			r.t.Error("an event without the turn's id")
		}
		got = append(got, e.Text)
	}
	expect.List(r.t, got, want, "unconfirmed")
}

// TestALostTurnIsSentAgain to a service that acknowledges, in order, under its own id,
// and without cutting what the avatar may be saying.
func TestALostTurnIsSentAgain(t *testing.T) {
	for name, cut := range map[string]func(*rig, *fakeservice.Socket){"recovered": (*rig).recover, "rebuilt": (*rig).replace} {
		t.Run(name, func(t *testing.T) {
			connected(t, func(r *rig, s *fakeservice.Socket) {
				r.acknowledging("two", "three")
				r.say("one")
				r.say("two")
				r.say("three")
				markers := len(s.Payloads(signaling.TextEntered))
				cut(r, s)
				r.wantTyped(s, "1 one", "2 two", "3 three", "2 two", "3 three")
				expect.Equal(t, len(s.Payloads(signaling.TextEntered))-markers, 2, "events for 2 turns")
				r.acknowledging()
				cut(r, s)
				cut(r, s)
				r.wantTyped(s, "1 one", "2 two", "3 three", "2 two", "3 three", "2 two", "3 three")
				time.Sleep(2 * confirmLimit)
				r.Disconnect(session.DisconnectOptions{})
				r.wantUnconfirmed()
			})
		})
	}
}

// TestALostTurnIsNeverSentTwiceToAServiceThatMayAnswerTwice, but reported once.
func TestALostTurnIsNeverSentTwiceToAServiceThatMayAnswerTwice(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.say("heard")
		r.say("heard")
		r.say(" lost ")
		s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: "heard"})
		r.recover(s)
		s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: "heard"}) // it was missed
		r.wantUnconfirmed()
		r.replace(s)
		r.wantUnconfirmed(" lost ")
		r.replace(s)
		time.Sleep(2 * confirmLimit)
		r.Disconnect(session.DisconnectOptions{})
		r.wantUnconfirmed(" lost ")
		r.wantTyped(s, "1 heard", "2 heard", "3  lost ")
	})
}

// TestATurnWithoutASignIsReportedInTime, whether or not the service acknowledges.
func TestATurnWithoutASignIsReportedInTime(t *testing.T) {
	for name, acknowledges := range map[string]bool{"acknowledged before": true, "not": false} {
		t.Run(name, func(t *testing.T) {
			connected(t, func(r *rig, s *fakeservice.Socket) {
				if acknowledges {
					r.acknowledging("lost")
					r.say("one")
				}
				r.say("lost")
				time.Sleep(confirmLimit - time.Millisecond)
				r.wantUnconfirmed()
				time.Sleep(time.Millisecond)
				r.wantUnconfirmed("lost")
				r.recover(s)
				if got := typed(s); got[len(got)-1] != fmt.Sprint(len(got), " lost") {
					t.Errorf("sent %q: a turn that was reported is sent again", got)
				}
			})
		})
	}
}

// TestWhatASessionLeavesUnconfirmedIsReportedBeforeItsEnd.
func TestWhatASessionLeavesUnconfirmedIsReportedBeforeItsEnd(t *testing.T) {
	for name, end := range map[string]func(*rig, *fakeservice.Socket){
		"disconnect": func(r *rig, _ *fakeservice.Socket) { r.Disconnect(session.DisconnectOptions{}) },
		"lost": func(_ *rig, s *fakeservice.Socket) {
			s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.ServerDisconnect})
		},
		"ended": func(_ *rig, s *fakeservice.Socket) { s.Say(signaling.ConversationEnded, signaling.Empty{}) },
	} {
		t.Run(name, func(t *testing.T) {
			connected(t, func(r *rig, s *fakeservice.Socket) {
				r.say("lost")
				end(r, s)
				r.wantUnconfirmed("lost")
				names := r.heardNames()
				if slices.Index(names, "turnUnconfirmed") > slices.Index(names, "ended") {
					t.Errorf("events %q", names)
				}
			})
		})
	}
}

// TestAStoredTurnIsInTheLog, once, before the answer and before the end, wherever the service
// repeats its text.
func TestAStoredTurnIsInTheLog(t *testing.T) {
	repeat := func(texts ...string) func(*rig, *fakeservice.Socket) {
		return func(_ *rig, s *fakeservice.Socket) {
			for _, text := range texts {
				s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: text})
			}
		}
	}
	answer := func(_ *rig, s *fakeservice.Socket) {
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "answer", TurnID: "turn", IsNewTurn: true})
		s.Say(signaling.StvStartedTalking, signaling.Empty{})
	}
	steps := func(steps ...func(*rig, *fakeservice.Socket)) []func(*rig, *fakeservice.Socket) { return steps }
	for name, c := range map[string]struct {
		steps []func(*rig, *fakeservice.Socket)
		want  []string
	}{
		"not repeated":             {nil, []string{"one", "two"}},
		"repeated":                 {steps(repeat("one", "two")), []string{"one", "two"}},
		"repeated as one":          {steps(repeat("one\ntwo")), []string{"one\ntwo"}},
		"one is repeated":          {steps(repeat("two")), []string{"two", "one"}},
		"repeated in the answer":   {steps(answer, repeat("one", "two")), []string{"one", "two"}},
		"answered with no text":    {steps(answer, answer), []string{"one", "two"}},
		"spoken after the answer":  {steps(answer, repeat("spoken", "one")), []string{"one", "two", "spoken", "one"}},
		"one is repeated, with it": {steps(answer, repeat("one two and more")), []string{"one", "two", "and more"}},
		"on another connection":    {steps((*rig).replace, repeat("spoken")), []string{"one", "two", "spoken"}},
	} {
		t.Run(name, func(t *testing.T) {
			connected(t, func(r *rig, s *fakeservice.Socket) {
				r.acknowledging()
				r.say("one")
				r.say("two")
				for _, step := range c.steps {
					step(r, s)
					synctest.Wait()
				}
				r.Disconnect(session.DisconnectOptions{})
				synctest.Wait()
				var got []string
				for _, e := range all[event.Transcript](r) {
					if e.Type == "user" {
						got = append(got, e.Text)
					}
				}
				expect.List(t, got, c.want, "the log has")
				if names := r.heardNames(); slices.Contains(names[slices.Index(names, "ended"):], "transcript") {
					t.Errorf("events %q", names)
				}
			})
		})
	}
}

// TestATextWaitsWhileTheSocketIsDown, before the session has learnt of that.
func TestATextWaitsWhileTheSocketIsDown(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		down := func(yes bool) {
			r.service.Set(func(f *fakeservice.Service) { f.Down = yes })
		}
		down(true)
		left := r.speakLater("Hello")
		select {
		case <-left:
			t.Fatal("reported as sent")
		default:
		}
		down(false)
		r.recover(s)
		if !<-left {
			t.Error("not sent")
		}
		r.wantTyped(s, "1 Hello")

		down(true)
		left = r.speakLater("Never")
		r.Disconnect(session.DisconnectOptions{})
		if <-left {
			t.Error("reported as sent")
		}
		r.wantUnconfirmed("Hello")
	})
}

// TestALostTurnWaitsAsATypedOneDoes: the service would drop it during a pause and
// during the opening.
func TestALostTurnWaitsAsATypedOneDoes(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.acknowledging("lost")
		r.say("one")
		r.say("lost")
		r.must(r.Pause())
		r.recover(s)
		r.wantTyped(s, "1 one", "2 lost")
		next := r.speakLater("next")
		r.must(r.Resume(context.Background()))
		r.wantTyped(s, "1 one", "2 lost", "2 lost", "3 next")
		if !<-next {
			t.Error("not sent")
		}
	})
}

func TestHeldTextsAreBounded(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.connectOnly() // the opening holds
		for range maxTexts {
			r.speakLater("x")
		}
		expect.Fail(r.Speak(context.Background(), "one more"))(t, fault.RateLimited, "err")
	})
}
