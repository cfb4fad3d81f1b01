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
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestAFatalEventEndsTheWaitForThePicture: lane A is done, and lane B waits for
// a frame without looking at the socket.
func TestAFatalEventEndsTheWaitForThePicture(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.media.OnPlayable = func(ctx context.Context) (media.Picture, error) {
			r.service.Socket(0).Say(signaling.RemovePeer, signaling.Empty{})
			<-ctx.Done()
			return media.Picture{}, context.Cause(ctx)
		}
		began := time.Now()
		if err := r.Connect(context.Background()); !errors.Is(err, fault.PeerRemoved) || time.Since(began) != 0 {
			t.Errorf("%v after %v, want peer_removed at once", err, time.Since(began))
		}
	})
}

// TestAnUnrecoveredSocketEndsTheHandshake: the service has forgotten the join.
func TestAnUnrecoveredSocketEndsTheHandshake(t *testing.T) {
	for _, recovered := range []bool{false, true} {
		run(t, Options{}, func(r *rig) {
			delete(r.service.Answer, signaling.Join)
			r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
				s.Drop(socketio.TransportClose)
				s.Back(recovered)
			}
			began := time.Now()
			err := r.Connect(context.Background())
			took := time.Since(began)
			var e *fault.Error
			if !recovered && (!errors.As(err, &e) || e.Code != fault.ConnectFailed || !e.Retryable || took != 0) {
				t.Errorf("unrecovered: %v after %v, want a retryable connect_failed at once", err, took)
			}
			if recovered && (!errors.Is(err, fault.Timeout) || took != 5*second) {
				t.Errorf("recovered: %v after %v, want to wait on", err, took)
			}
		})
	}
}

// TestADropDuringAResumeIsNotForgotten: the reconnect window of a drop must not end a
// session that reconnected long ago.
func TestADropDuringAResumeIsNotForgotten(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.must(r.Pause())
		s.Say(signaling.PauseSessionExpired, signaling.Empty{})
		synctest.Wait()
		session := r.service.Answer[signaling.StvNewSession]
		r.service.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, e fakeservice.Event) {
			s.Drop(socketio.TransportClose)
			s.Back(true)
			session(s, e)
		}
		r.must(r.Resume(context.Background()))
		r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "connected"})
		r.media.Publisher.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "connected"})
		time.Sleep(time.Minute)
		expect.Equal(t, r.Snapshot().State, Connected, "state a minute later")
	})
}

// TestADropAtTheEndOfAConnectIsWatched: the socket is down when the last step
// succeeds.
func TestADropAtTheEndOfAConnectIsWatched(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.media.OnPlayable = func(context.Context) (media.Picture, error) {
			r.media.OnPlayable = nil
			r.service.Socket(0).Drop(socketio.TransportClose)
			time.Sleep(time.Millisecond) // until it was heard
			return media.Picture{Width: 1, Height: 1}, nil
		}
		s := r.connectOnly()
		if state := r.Snapshot().State; state != ReconnectingState {
			t.Fatalf("state %s, want reconnecting", state)
		}
		s.Back(false)
		if got := all[event.Reconnected](r); len(got) != 1 || r.Snapshot().State != Connected {
			t.Errorf("reconnected %v in state %s", got, r.Snapshot().State)
		}
	})
}

// TestALostSocketIsOneLoss: while the service is gone the page hears of the loss once and of each
// attempt by its number. The only error is the one that ends the session, and its cause is why
// the last attempt failed.
func TestALostSocketIsOneLoss(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		s.Drop(socketio.TransportClose)
		last := errors.New("no route")
		for n := 1; n <= 3; n++ {
			s.Push(socketio.Event{Kind: socketio.Reconnecting, Attempt: n})
			s.Push(socketio.Event{Kind: socketio.ConnectError, Err: last})
			time.Sleep(second)
		}
		r.wantEvents("connectivityChanged", "stateChange:reconnecting", "reconnecting", "connectivityChanged", "connectivityChanged", "connectivityChanged")
		r.Forget()
		time.Sleep(r.opts.ReconnectWindow)
		if errs := all[event.Failed](r); len(errs) != 1 || errs[0].Code != fault.ReconnectTimeout || !errors.Is(errs[0].Error, last) {
			t.Errorf("errors %v, want one of the end, with its cause", errs)
		}
		if e := all[event.Ended](r); len(e) != 1 || e[0].Reason != "reconnect_timeout" {
			t.Errorf("ended = %v", e)
		}
	})
}

// TestARefusalIsTheErrorOfAConnect, also when the end of the socket follows while the connect waits for something else than
// an event.
func TestARefusalIsTheErrorOfAConnect(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.media.OnSubscribe = func(ctx context.Context, _ string) error {
			r.service.Socket(0).Say(signaling.ThrowToBadRequest, signaling.Empty{})
			r.service.Socket(0).Drop(socketio.ServerDisconnect)
			<-ctx.Done()
			return context.Cause(ctx)
		}
		if err := r.Connect(context.Background()); !errors.Is(err, fault.BadRequest) {
			t.Errorf("connect: %v", err)
		}
		synctest.Wait()
		if errs := all[event.Failed](r); len(errs) != 1 || errs[0].Code != fault.BadRequest {
			t.Errorf("errors %v", errs)
		}
	})
}

func TestAPreparedConnectionThatEndsIsThrownAway(t *testing.T) {
	for name, end := range map[string]func(*fakeservice.Socket){
		"the socket drops":       func(s *fakeservice.Socket) { s.Drop(socketio.TransportClose) },
		"the conversation ended": func(s *fakeservice.Socket) { s.Say(signaling.ConversationEnded, signaling.Empty{}) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, Options{}, func(r *rig) {
				r.must(r.Prepare(context.Background()))
				end(r.service.Socket(0))
				synctest.Wait()
				if !r.service.Socket(0).Closed() {
					t.Error("the socket is kept")
				}
				r.connectOnly()
				expect.Equal(t, r.service.Dialled(), 2, "sockets")
			})
		})
	}
}

// TestAPreparationThatEndsSaysWhy, also when the end of the socket follows at once.
func TestAPreparationThatEndsSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		end    func(*fakeservice.Socket)
		code   fault.Code
		reason string
	}{
		"the socket drops": {func(s *fakeservice.Socket) { s.Drop(socketio.TransportClose) }, fault.ConnectFailed, "was lost"},
		"the conversation ended": {
			func(s *fakeservice.Socket) { s.Say(signaling.ConversationEnded, signaling.Empty{}) }, fault.ConnectFailed, "the service ended the conversation",
		},
		"the service closes": {func(s *fakeservice.Socket) { s.Drop(socketio.ServerDisconnect) }, fault.ConnectFailed, "the service closed the connection"},
		"the service refuses": {func(s *fakeservice.Socket) {
			s.Say(signaling.ThrowToBadRequest, signaling.Empty{})
			s.Drop(socketio.ServerDisconnect)
		}, fault.BadRequest, "the service refused the request"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // the order of two goroutines decided what was said
				run(t, Options{}, func(r *rig) {
					delete(r.service.Answer, signaling.Join)
					prepared := make(chan error, 1)
					go func() { prepared <- r.Prepare(context.Background()) }()
					synctest.Wait()
					test.end(r.service.Socket(0))
					if err := <-prepared; !errors.Is(err, test.code) || !strings.Contains(err.Error(), test.reason) {
						t.Errorf("prepare: %v", err)
					}
				})
			}
		})
	}
}

// TestDisconnectEndsAPreparation in every state that one may run in.
func TestDisconnectEndsAPreparation(t *testing.T) {
	t.Run("a connect waits for it", func(t *testing.T) {
		run(t, Options{}, func(r *rig) {
			delete(r.service.Answer, signaling.Join)
			prepared, connected := make(chan error, 1), make(chan error, 1)
			go func() { prepared <- r.Prepare(context.Background()) }()
			synctest.Wait()
			go func() { connected <- r.Connect(context.Background()) }()
			synctest.Wait()
			r.Disconnect(session.DisconnectOptions{})
			expect.Error(t, <-connected, fault.ConnectFailed, "connect")
			expect.Error(t, <-prepared, fault.ConnectFailed, "prepare")
			time.Sleep(time.Minute)
			if state := r.Snapshot().State; state != Disconnected || r.service.Dialled() != 1 {
				t.Errorf("state %s, %d sockets", state, r.service.Dialled())
			}
		})
	})
	t.Run("after the end of a session", func(t *testing.T) {
		connected(t, func(r *rig, s *fakeservice.Socket) {
			s.Drop(socketio.ServerDisconnect)
			synctest.Wait()
			r.must(r.Prepare(context.Background())) // the token is kept
			r.Disconnect(session.DisconnectOptions{})
			synctest.Wait()
			if !r.service.Socket(1).Closed() {
				t.Error("the prepared socket is open")
			}
			expect.Error(t, r.Connect(context.Background()), fault.InvalidState, "connect with a forgotten token")
		})
	})
	t.Run("a cancelled connect does not wait for it", func(t *testing.T) {
		run(t, Options{}, func(r *rig) {
			delete(r.service.Answer, signaling.Join)
			go func() { _ = r.Prepare(context.Background()) }()
			synctest.Wait()
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(second, cancel)
			began := time.Now()
			if err := r.Connect(ctx); !errors.Is(err, fault.Aborted) || time.Since(began) != second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	})
}

// TestARepairThatADropCutIsTakenUpAgain: the channel must not count as being
// repaired for ever.
func TestARepairThatADropCutIsTakenUpAgain(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.media.OnSubscribe = func(context.Context, string) error {
			r.media.OnSubscribe = nil
			s.Drop(socketio.TransportClose)
			time.Sleep(time.Millisecond) // until it was heard
			return fault.New(fault.WHEPFailed, "no network")
		}
		r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "failed"})
		time.Sleep(2 * time.Millisecond)
		s.Back(true)
		if got := all[event.MediaRecovered](r); len(got) != 1 || r.service.Dialled() != 1 {
			t.Errorf("recovered %v with %d sockets", got, r.service.Dialled())
		}
	})
}

// TestAPeerThatFailedDuringTheHandshakeIsRepaired by the health check, because
// its state is not reported again.
func TestAPeerThatFailedDuringTheHandshakeIsRepaired(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.media.OnPlayable = func(context.Context) (media.Picture, error) {
			r.media.OnPlayable = nil
			r.media.Publisher.Notify(media.Event{Kind: media.PeerState, Channel: event.ChannelASR, State: "failed"})
			return media.Picture{Width: 640, Height: 360}, nil
		}
		r.connectOnly()
		time.Sleep(1500 * time.Millisecond)
		if got := all[event.MediaRecovered](r); len(got) != 1 || got[0].Channel != event.ChannelASR {
			t.Errorf("recovered %v", got)
		}
	})
}

// TestARebuildClosesWhatTheOldSessionLeftOpen: no answer comes any more.
func TestARebuildClosesWhatTheOldSessionLeftOpen(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.say("Hello")
		s.Say(signaling.StvStartedTalking, signaling.Empty{})
		s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{})
		r.must(r.StartTapToTalk())
		synctest.Wait()
		lose(s)
		snap := r.Snapshot()
		if snap.State != Connected || snap.Speaking || snap.ResponsePending || snap.TapToTalkActive {
			t.Errorf("after the rebuild: %+v", snap)
		}
		expect.Equal(t, len(all[event.TapToTalkEnded](r)), 1, "tapToTalkEnded")
		time.Sleep(30 * second)
		expect.Len(t, all[event.BrainStalled](r), 0, "a brain that is gone stalled")
	})
}

func TestTheReasonOfAnUnsupportedClientIsMachineReadable(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.UnsupportedClient, signaling.Unsupported{Code: "USAGE_LIMIT_EXCEEDED"})
		}
		e := r.refusal()
		if e.Detail != "the service refused this client: USAGE_LIMIT_EXCEEDED" {
			t.Fatalf("err = %v", e)
		}
		if body, _ := e.Body.(map[string]any); body["code"] != "USAGE_LIMIT_EXCEEDED" {
			t.Errorf("body = %v", e.Body)
		}
	})
}

// TestAttemptsHaveABound that is true when only the window bounds them, and none when no
// attempt follows (session §A.1.5).
func TestAttemptsHaveABound(t *testing.T) {
	attempts := func(r *rig) (list []int) {
		for _, c := range all[event.ConnectivityChanged](r) {
			if c.Channel == "socket" && (c.State == string(event.ICEDisconnected) || c.State == string(event.ReconnectRetry)) {
				list = append(list, c.Attempt, c.MaxAttempts)
			}
		}
		for _, c := range all[event.Reconnecting](r) {
			list = append(list, c.Attempt, c.MaxAttempts)
		}
		return list
	}
	for _, c := range []struct {
		limit *int
		last  int
		want  []int
	}{
		// The shortest waits in the window of 22 s: 0, 250 and 500 ms, and then 2 s each.
		{nil, 2, []int{1, 13, 2, 13, 1, 13}},
		{new(5), 2, []int{1, 5, 2, 5, 1, 5}},
		{new(5), 6, []int{1, 5, 6, 6, 1, 5}}, // the network came back meanwhile
	} {
		connectedWith(t, Options{MaxReconnectAttempts: c.limit}, func(r *rig, s *fakeservice.Socket) {
			r.Forget()
			s.Drop(socketio.TransportClose)
			s.Push(socketio.Event{Kind: socketio.Reconnecting, Attempt: c.last})
			synctest.Wait()
			expect.List(t, attempts(r), c.want, "attempts and bounds")
		})
	}
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		s.Drop(socketio.ServerDisconnect)
		synctest.Wait()
		expect.List(t, attempts(r), []int{0, 0}, "attempts and bounds of an end without one")
	})
}
