package avatar

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestARefusedTokenFailsConnectAtOnce, because the service would refuse the token again.
// An attempt that fails for another reason is followed by the next.
func TestARefusedTokenFailsConnectAtOnce(t *testing.T) {
	for message, want := range map[string]fault.Code{"unauthorized": fault.Unauthorized, "full": fault.ConnectFailed} {
		run(t, Options{}, func(r *rig) {
			r.service.Answer["open"] = func(s *fakeservice.Socket, _ fakeservice.Event) { s.Refuse(message) }
			began := time.Now()
			if e := r.refusal(); e.Code != want || e.Phase != fault.PhaseServerConnect || e.Retryable || time.Since(began) != 0 {
				t.Errorf("%s: %+v after %v", message, e, time.Since(began))
			}
			if state := r.Snapshot().State; state != Broken || len(all[event.Ended](r)) != 0 {
				t.Errorf("state %s, ended %v: nothing had begun", state, all[event.Ended](r))
			}
		})
	}
	run(t, Options{}, func(r *rig) {
		r.service.Answer["open"] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Push(socketio.Event{Kind: socketio.ConnectError, Err: errors.New("no route")})
			go func() {
				time.Sleep(second)
				s.Say(signaling.ServerConnected, signaling.Hello{})
			}()
		}
		expect.Equal(t, r.Connect(context.Background()), nil, "an attempt that failed first")
	})
}

func TestARefusedTokenFailsPrepareAtOnce(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		open := r.service.Answer["open"]
		r.service.Answer["open"] = func(s *fakeservice.Socket, _ fakeservice.Event) { s.Refuse("unauthorized") }
		began := time.Now()
		if err := r.Prepare(context.Background()); !errors.Is(err, fault.Unauthorized) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		r.service.Answer["open"] = open
		expect.Equal(t, r.Connect(context.Background()), nil, "a connect after it")
	})
}

// TestAMicrophoneThatTheServiceLosesIsRepaired, by an ICE restart
// (protocol §5.6), and the session is rebuilt when that is refused too
// (protocol §8.5).
func TestAMicrophoneThatTheServiceLosesIsRepaired(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		s.Say(signaling.ASRError, signaling.PeerError{Error: "decoder failed"})
		r.wantEvents("mediaRecovering", "connectivityChanged", "mediaRecovered")
		if r.media.Publisher.Restarts != 1 || r.service.Dialled() != 1 {
			t.Errorf("%d restarts, %d sockets", r.media.Publisher.Restarts, r.service.Dialled())
		}
		expect.Equal(t, all[event.MediaRecovering](r)[0], (event.MediaRecovering{Channel: event.ChannelASR, State: "error"}), "recovering")

		answer := r.service.Answer[signaling.ASROffer]
		r.service.Answer[signaling.ASROffer] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			r.service.Answer[signaling.ASROffer] = answer
			s.Say(signaling.ASRError, signaling.PeerError{Error: "no such peer"})
		}
		s.Say(signaling.ASRError, signaling.PeerError{Error: "decoder failed"})
		time.Sleep(second)
		if got := all[event.Reconnected](r); len(got) != 1 || r.Snapshot().State != Connected || r.service.Dialled() != 2 {
			t.Errorf("reconnected %+v in state %s with %d sockets", got, r.Snapshot().State, r.service.Dialled())
		}
	})
}

// TestTheMicrophonesCapOutlivesItsPeer: a rebuild and an expired pause make a new
// one.
func TestTheMicrophonesCapOutlivesItsPeer(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.must(r.SetASRBandwidth(context.Background(), 24))
		lose(s)
		expect.List(t, r.media.Publisher.Caps, []int{24}, "after a rebuild")
		r.must(r.Pause())
		s.Say(signaling.PauseSessionExpired, signaling.Empty{})
		synctest.Wait()
		r.must(r.Resume(context.Background()))
		synctest.Wait()
		expect.List(t, r.media.Publisher.Caps, []int{24}, "after a pause")
		r.must(r.SetASRBandwidth(context.Background(), 0)) // no cap
		r.rebuildNow(t)
		if got := r.media.Publisher.Caps; !slices.Equal(got, []int{0}) { // that of the options is off too
			t.Errorf("of a cap that was removed: %v", got)
		}
	})
}

// rebuildNow loses the server-side session.
func (r *rig) rebuildNow(t *testing.T) {
	t.Helper()
	s := r.service.Socket(r.service.Dialled() - 1)
	lose(s)
	if state := r.Snapshot().State; state != Connected {
		t.Fatalf("state %s", state)
	}
}

func TestAHardwareMuteNamesItsTrack(t *testing.T) {
	connected(t, func(r *rig, _ *fakeservice.Socket) {
		track := new(int)
		r.micReports(media.Event{Kind: media.HardwareMute, Muted: true, Track: media.Track{Native: track}})
		if got := all[event.HardwareMuteChanged](r); len(got) != 1 || got[0] != (event.HardwareMuteChanged{Muted: true, Track: track}) {
			t.Errorf("heard %+v", got)
		}
	})
}

// TestNoReconnectAttempts: 0 is none, and not the default.
func TestNoReconnectAttempts(t *testing.T) {
	none := 0
	connectedWith(t, Options{MaxReconnectAttempts: &none}, func(r *rig, s *fakeservice.Socket) {
		if o := s.Options(); *o.ReconnectAttempts != 0 {
			t.Errorf("dialled with %+v", o)
		}
		r.Forget()
		s.Drop(socketio.TransportClose)
		r.wantEvents("connectivityChanged", "stateChange:disconnected", "ended")
		expect.Equal(t, all[event.Ended](r)[0].Reason, "transport close", "reason")
	})
	run(t, Options{MaxReconnectAttempts: &none}, func(r *rig) {
		r.service.Answer["open"] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Push(socketio.Event{Kind: socketio.ConnectError, Err: errors.New("no route")})
		}
		began := time.Now()
		if err := r.Connect(context.Background()); !errors.Is(err, fault.ConnectFailed) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
	run(t, Options{}, func(r *rig) {
		if o := r.mustConnect().Options(); *o.ReconnectAttempts >= 0 {
			t.Errorf("by default: %+v", o)
		}
	})
}
