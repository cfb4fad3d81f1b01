package avatar

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func TestDisconnectCompletesTheThreadOnce(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		brain(s, "a", converse.Segment{Type: converse.Think, ThreadID: "5f0c"})
		r.Forget()
		r.Disconnect(session.DisconnectOptions{})
		r.Disconnect(session.DisconnectOptions{})
		r.wantEvents("stateChange:disconnecting", "responseSettled", "stateChange:disconnected", "ended", "sessionCompleted")
		want := []string{`https://brain.example/thread/session_completed {"id":"5f0c"}`}
		expect.List(t, r.http.seen(), want, "requests")
		if e := all[event.Ended](r); len(e) != 1 || e[0].Reason != "disconnect" {
			t.Errorf("ended = %+v", e)
		}
	})
}

func TestTheServicesEndIsNotReportedBack(t *testing.T) {
	connectedWith(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig, s *fakeservice.Socket) {
		s.Say(signaling.ConversationEnded, signaling.Empty{})
		if e := all[event.Ended](r); len(e) != 1 || e[0].Reason != "conversation_ended" {
			t.Errorf("ended = %+v", e)
		}
		if got := r.http.seen(); len(got) != 0 || r.Snapshot().State != Disconnected {
			t.Errorf("requests %q in state %s", got, r.Snapshot().State)
		}
	})
}

// TestAConversationThatTheServiceEndsDuringConnect: the error has that reason, and not that of a connect that the
// page has given up.
func TestAConversationThatTheServiceEndsDuringConnect(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.ConversationEnded, signaling.Empty{})
		}
		e := r.refusal()
		if e.Code != fault.ConnectFailed || e.Phase != fault.PhaseConnect || !e.Retryable || !strings.HasPrefix(e.Detail, "the service ended the conversation") || e.Unwrap() != nil {
			t.Errorf("failed with %v", e)
		}
		if ended := all[event.Ended](r); len(ended) != 1 || ended[0].Reason != "conversation_ended" || r.Snapshot().State != Disconnected {
			t.Errorf("ended %v in state %s", ended, r.Snapshot().State)
		}
	})
}

func TestARecoveredSocketGoesOn(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.TransportClose})
		synctest.Wait()
		if lost := all[event.ConnectivityChanged](r); r.Snapshot().State != ReconnectingState || lost[0].Reason != "transport close" {
			t.Errorf("state = %s, lost %+v", r.Snapshot().State, lost)
		}
		expect.Error(t, r.Connect(context.Background()), fault.InvalidState, "a connect meanwhile")
		s.Push(socketio.Event{Kind: socketio.Connected, Recovered: true})
		r.wantEvents("connectivityChanged", "stateChange:reconnecting", "reconnecting", "connectivityChanged", "stateChange:connected", "reconnected")
		expect.Equal(t, len(s.Payloads(signaling.Join)), 1, "joins")
	})
}

func TestAnUnrecoveredSocketIsRebuiltOnTheSameThread(t *testing.T) {
	connectedWith(t, Options{Options: session.Options{RequestVars: map[string]any{"a": 1}}}, func(r *rig, s *fakeservice.Socket) {
		brain(s, "a", converse.Segment{Type: converse.Avatar, ThreadID: "5f0c"})
		first := r.media.Subscriber
		s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.PingTimeout})
		s.Push(socketio.Event{Kind: socketio.Connected})
		synctest.Wait()
		if got := all[event.Reconnected](r); len(got) != 1 || got[0].Recovered {
			t.Fatalf("reconnected = %+v", got)
		}
		joins := s.Payloads(signaling.Join)
		if len(joins) != 2 || !strings.Contains(joins[1], `"threadId":"5f0c"`) || !strings.Contains(joins[1], `"request_vars":{"a":1}`) {
			t.Errorf("joins = %v", joins)
		}
		if !first.Closed || r.media.Subscriber == first || r.service.Dialled() != 1 {
			t.Error("want new peers on the same socket")
		}
		held := r.speakLater("Held by the new opening")
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		if !<-held {
			t.Error("the text was not sent")
		}
	})
}

func TestTwoFailedRebuildsEndTheSession(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		delete(r.service.Answer, signaling.StvNewSession)
		s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.TransportError})
		s.Push(socketio.Event{Kind: socketio.Connected})
		time.Sleep(61 * second)
		if e := all[event.Failed](r); len(e) != 1 || e[0].Code != fault.ReconnectFailed || e[0].Phase != fault.PhaseReconnect || !e[0].Retryable {
			t.Errorf("errors = %v", e)
		}
		if e := all[event.Ended](r); len(e) != 1 || e[0].Reason != "reconnect_failed" {
			t.Errorf("ended = %v", e)
		}
		expect.Equal(t, r.service.Dialled(), 2, "sockets")
	})
}

func TestMediaLadder(t *testing.T) {
	t.Run("the microphone restarts ICE", func(t *testing.T) {
		connected(t, func(r *rig, _ *fakeservice.Socket) {
			r.media.Publisher.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "failed"})
			if got := all[event.MediaRecovered](r); len(got) != 1 || got[0].Method != "ice-restart" || r.media.Publisher.Restarts != 1 {
				t.Errorf("recovered %+v after %d restarts", got, r.media.Publisher.Restarts)
			}
		})
	})
	t.Run("a short disconnection heals by itself", func(t *testing.T) {
		connected(t, func(r *rig, _ *fakeservice.Socket) {
			r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "disconnected"})
			time.Sleep(second)
			r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "connected"})
			time.Sleep(5 * second)
			expect.Len(t, all[event.MediaRecovering](r), 0, "recovering")
		})
	})
	t.Run("a long one subscribes again", func(t *testing.T) {
		connected(t, func(r *rig, _ *fakeservice.Socket) {
			r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "disconnected"})
			time.Sleep(1500 * time.Millisecond)
			if got := all[event.MediaRecovered](r); len(got) != 1 || got[0].Method != "re-subscribe" || r.media.Subscriber.Restarts != 1 {
				t.Errorf("recovered %+v after %d restarts", got, r.media.Subscriber.Restarts)
			}
		})
	})
	t.Run("a stalled picture is rebuilt at the third stall", func(t *testing.T) {
		run(t, Options{}, func(r *rig) {
			r.media.Stats = media.Stats{Known: true, HasVideo: true, Video: fakeservice.PictureBytes(1000)} // and no more
			r.mustConnect()
			time.Sleep(17 * second)
			expect.Len(t, all[event.MediaRecovering](r), 2, "re-subscriptions")
			if got := all[event.Reconnecting](r); len(got) != 1 || got[0].Reason != "video stalled" || !got[0].Cold {
				t.Errorf("reconnecting %+v", got)
			}
		})
	})
	t.Run("what can't be repaired is rebuilt", func(t *testing.T) {
		connected(t, func(r *rig, _ *fakeservice.Socket) {
			r.media.OnSubscribe = func(context.Context, string) error {
				r.media.OnSubscribe = nil
				return fault.New(fault.WHEPFailed, "no")
			}
			r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "failed"})
			synctest.Wait()
			if r.service.Dialled() != 2 || r.Snapshot().State != Connected {
				t.Errorf("%d sockets, state %s", r.service.Dialled(), r.Snapshot().State)
			}
		})
	})
}

func TestPauseAndResume(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		for range 2 {
			r.must(r.Pause())
		}
		synctest.Wait()
		if n := len(s.Payloads(signaling.PauseConversation)); n != 1 || !r.Snapshot().Paused {
			t.Errorf("%d pauses, paused %v", n, r.Snapshot().Paused)
		}
		r.must(r.Resume(context.Background()))
		s.Say(signaling.ConversationResumed, signaling.Empty{})
		if n := len(all[event.Resumed](r)); n != 1 || r.Snapshot().Paused {
			t.Errorf("%d resumed, paused %v", n, r.Snapshot().Paused)
		}
	})
}

func TestResumeAfterTheWindowMakesTheMediaAgain(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.must(r.Pause())
		s.Say(signaling.PauseSessionExpired, signaling.Empty{})
		s.Say(signaling.SessionReadyForResume, signaling.Empty{})
		synctest.Wait()
		first := r.media.Subscriber
		session := r.service.Answer[signaling.StvNewSession]
		r.service.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, e fakeservice.Event) {
			s.Say(signaling.ResumingSession, signaling.Empty{})
			session(s, e)
		}
		r.must(r.Resume(context.Background()))
		synctest.Wait()
		if !first.Closed || r.media.Subscriber == first || r.Snapshot().State != Connected || r.Snapshot().Paused {
			t.Errorf("state %s, paused %v", r.Snapshot().State, r.Snapshot().Paused)
		}
		expect.Equal(t, len(s.Payloads(signaling.ApprovedPermissions)), 2, "approvals")
	})
}

func TestAFailedResumeEndsTheSession(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.must(r.Pause())
		s.Say(signaling.SessionReadyForResume, signaling.Empty{})
		synctest.Wait()
		r.service.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, _ fakeservice.Event) { s.Say(signaling.ThrowToNoAgent, signaling.Empty{}) }
		expect.Error(t, r.Resume(context.Background()), fault.CapacityUnavailable, "err")
		if e := all[event.Ended](r); len(e) != 1 || e[0].Reason != "resume_failed" {
			t.Errorf("ended = %v", e)
		}
	})
}

func TestARebuildDuringAPauseHoldsTheApproval(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.must(r.Pause())
		s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.TransportClose})
		s.Push(socketio.Event{Kind: socketio.Connected})
		synctest.Wait()
		if n := len(s.Payloads(signaling.ApprovedPermissions)); n != 1 || r.Snapshot().State != Connected {
			t.Fatalf("%d approvals in state %s", n, r.Snapshot().State)
		}
		r.must(r.Resume(context.Background()))
		synctest.Wait()
		if n := len(s.Payloads(signaling.ApprovedPermissions)); n != 2 || len(s.Payloads(signaling.ResumeConversation)) != 0 {
			t.Errorf("%d approvals, sent %v", n, s.Names())
		}
	})
}

func TestAnIdleSessionEnds(t *testing.T) {
	connectedWith(t, Options{Options: session.Options{ThreadID: "5f0c"}}, func(r *rig, s *fakeservice.Socket) {
		time.Sleep(10 * time.Minute)
		s.Say(signaling.UserStartedTalking, signaling.Empty{})
		synctest.Wait()
		time.Sleep(14 * time.Minute)
		if w := all[event.IdleWarning](r); len(w) != 1 || w[0].InMs != 60000 {
			t.Fatalf("warnings = %v", w)
		}
		r.Forget()
		time.Sleep(time.Minute)
		r.wantEvents("timeExpired", "stateChange:disconnecting", "stateChange:disconnected", "ended", "sessionCompleted")
	})
}

// TestEveryServerEventReachesTheSession sends each event of the catalogue, well
// formed, empty, and of wrong types: the session must survive it, and emit an event for
// each that concerns a page.
func TestEveryServerEventReachesTheSession(t *testing.T) {
	quiet := map[string]bool{ // known, but of no interest to a page by themselves
		signaling.ServerConnected: true, signaling.ClientConfig: true, signaling.JoinComplete: true, signaling.StvNewSession: true,
		signaling.ShowAgent: true, signaling.AskPermissions: true,
		signaling.ASRReady: true, signaling.ASRAnswer: true, signaling.ASRServerCandidate: true, signaling.ASRError: true,
		signaling.HideTapToTalkButton: true, signaling.ShowTapToTalkButton: true,
		signaling.DebugSpeechDetected: true, signaling.DebugLLMInput: true, signaling.DebugStvTask: true, signaling.DebugState: true,
	}
	for _, name := range signaling.ServerEvents() {
		for _, payload := range []string{`{}`, `null`, `[]`, `"x"`, `7`, `{"delta":7,"speechId":[],"text":{},"durationMs":"x"}`} {
			connected(t, func(r *rig, s *fakeservice.Socket) {
				r.Forget()
				s.Push(socketio.Event{Kind: socketio.Message, Name: name, Args: socketio.Args{[]byte(payload)}})
				if got := r.heardNames(); len(got) == 0 && !quiet[name] {
					t.Errorf("%s %s: the session emitted no event; it must emit one for every payload, unless the name is in quiet", name, payload)
				}
				for _, e := range all[event.Failed](r) {
					if e.Code == fault.InternalError {
						t.Errorf("%s %s: %v", name, payload, e.Error)
					}
				}
			})
		}
	}
}

// TestAnIdleSessionEndsAlsoAfterAnAnnouncedResume: what happens meanwhile does not end the watch.
func TestAnIdleSessionEndsAlsoAfterAnAnnouncedResume(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		s.Say(signaling.ResumingSession, signaling.Empty{})
		s.Say(signaling.StvStartedTalking, signaling.Empty{})
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		s.Say(signaling.ConversationResumed, signaling.Empty{})
		time.Sleep(16 * time.Minute)
		if got := all[event.Ended](r); len(got) != 1 || got[0].Reason != "idle_timeout" {
			t.Errorf("ended %v, want idle_timeout", got)
		}
	})
}

// TestCallsReportWhatTheyChange, once for each change.
func TestCallsReportWhatTheyChange(t *testing.T) {
	connected(t, func(r *rig, _ *fakeservice.Socket) {
		synctest.Wait()
		reported := 0
		for name, call := range map[string]func(){
			"Mute": r.Mute, "MuteAudioOutput": r.MuteAudioOutput,
			"SetAudioOutputVolume": func() { r.must(r.SetAudioOutputVolume(0.5)) },
		} {
			for range 2 {
				call()
			}
			synctest.Wait()
			if got := len(all[event.ControlsChanged](r)); got != reported+1 {
				t.Errorf("%s twice: %d events, want one more than %d", name, got, reported)
			}
			reported++
		}
		r.must(errors.Join(r.Pause(), r.Pause()))
		synctest.Wait()
		if got := len(all[event.ControlsChanged](r)); got != reported+1 {
			t.Errorf("%d events after a pause, want one more than %d", got, reported)
		}
	})
}

// TestPropertiesFollowCallsAtOnce, as a page that has only one thread expects.
func TestPropertiesFollowCallsAtOnce(t *testing.T) {
	connected(t, func(r *rig, _ *fakeservice.Socket) {
		r.Mute()
		if r.Snapshot().MicEnabled {
			t.Error("not muted")
		}
		r.must(errors.Join(r.StartTapToTalk(), r.EndTapToTalk(), r.Pause()))
		if !r.Snapshot().Paused {
			t.Error("not paused")
		}
		r.Disconnect(session.DisconnectOptions{})
		expect.Equal(t, r.Snapshot().State, Disconnected, "state")
	})
}
