package avatar

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestAFatalEventDuringARebuildEndsTheSession with the error that the service gave, at once.
func TestAFatalEventDuringARebuildEndsTheSession(t *testing.T) {
	for name, want := range map[string]fault.Code{
		signaling.ThrowToExceededTier: fault.TierExceeded,
		signaling.RemovePeer:          fault.PeerRemoved,
	} {
		connected(t, func(r *rig, s *fakeservice.Socket) {
			r.Forget()
			r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) { s.Say(name, signaling.Empty{}) }
			lose(s)
			if e := all[event.Failed](r); len(e) != 1 || e[0].Code != want {
				t.Errorf("%s: errors %v, want %s", name, e, want)
			}
			if e := all[event.Ended](r); len(e) != 1 || e[0].Reason != string(want) || r.service.Dialled() != 1 {
				t.Errorf("%s: ended %v, %d sockets", name, e, r.service.Dialled())
			}
		})
	}
}

// TestAPauseThatExpiresDuringResume: the service releases the media while the client's
// resume is on its way, so that the session must make them again.
func TestAPauseThatExpiresDuringResume(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.must(r.Pause())
		synctest.Wait()
		r.must(r.Resume(context.Background()))
		first := r.media.Subscriber
		session := r.service.Answer[signaling.StvNewSession]
		r.service.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, e fakeservice.Event) {
			s.Say(signaling.ResumingSession, signaling.Empty{})
			session(s, e)
		}
		s.Say(signaling.PauseSessionExpired, signaling.Empty{})
		synctest.Wait() // the media are made again before the second event
		s.Say(signaling.SessionReadyForResume, signaling.Empty{})
		synctest.Wait()
		if !first.Closed || r.media.Subscriber == first || r.Snapshot().State != Connected || r.Snapshot().Paused {
			t.Errorf("the media were not made again: state %s, paused %v", r.Snapshot().State, r.Snapshot().Paused)
		}
		expect.Equal(t, len(s.Payloads(signaling.StvNewSession)), 2, "requests for a picture")
		expect.Equal(t, len(s.Payloads(signaling.ApprovedPermissions)), 2, "approvals")
		r.Forget()
		r.media.Subscriber.Notify(media.Event{Kind: media.PeerState, Channel: event.ChannelSTV, State: "failed"})
		expect.Len(t, all[event.MediaRecovering](r), 1, "the new media are not watched")
	})
}

// unanswered runs f with a session whose repair of the microphone waits for an answer of the service,
// which answers every later offer.
func unanswered(t *testing.T, f func(r *rig, s *fakeservice.Socket)) {
	t.Helper()
	connected(t, func(r *rig, s *fakeservice.Socket) {
		answer := r.service.Answer[signaling.ASROffer]
		r.service.When(signaling.ASROffer, nil)
		r.media.Publisher.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "failed"})
		synctest.Wait()
		r.service.When(signaling.ASROffer, answer)
		r.Forget()
		f(r, s)
	})
}

// TestARebuildEndsTheRepairUnderWay, which would take the answer to the microphone's new offer: both
// come over the same socket.
func TestARebuildEndsTheRepairUnderWay(t *testing.T) {
	unanswered(t, func(r *rig, s *fakeservice.Socket) {
		lose(s)
		if state := r.Snapshot().State; state != Connected || r.service.Dialled() != 1 {
			t.Errorf("%s after the loss, with %d sockets", state, r.service.Dialled())
		}
	})
}

// TestAResumeEndsTheRepairUnderWay, for the same reason, and because its failure is not that of the
// new peer.
func TestAResumeEndsTheRepairUnderWay(t *testing.T) {
	unanswered(t, func(r *rig, s *fakeservice.Socket) {
		s.Say(signaling.PauseSessionExpired, signaling.Empty{})
		synctest.Wait()
		expect.Equal(t, r.Snapshot().State, Connected, "after the pause has expired")
	})
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.media.Dead.Store(true)
		r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "failed"})
		synctest.Wait()
		r.media.Dead.Store(false)
		s.Say(signaling.PauseSessionExpired, signaling.Empty{})
		time.Sleep(8 * second) // the repair would have failed by now
		expect.Len(t, all[event.Reconnecting](r), 0, "rebuilt for a peer that was replaced")
	})
}

// TestARebuildWaitsForTheViewersRelease, and not for ever: two viewers of one picture are a conflict.
func TestARebuildWaitsForTheViewersRelease(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{second: second, time.Hour: 3 * second} {
		connected(t, func(r *rig, s *fakeservice.Socket) {
			r.media.OnRelease = func(ctx context.Context) {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
				}
			}
			began := time.Now()
			s.Drop(socketio.TransportClose)
			s.Back(false)
			time.Sleep(want - time.Millisecond)
			synctest.Wait()
			expect.Equal(t, len(s.Payloads(signaling.Join)), 1, "the rebuild began before the viewer was released joins")
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if state := r.Snapshot().State; state != Connected {
				t.Errorf("%v after the loss: %s", time.Since(began), state)
			}
		})
	}
}

// TestAPeerOfAFailedAttemptIsNotRepaired: what it has reported is not about the peer of the next
// attempt.
func TestAPeerOfAFailedAttemptIsNotRepaired(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		join := r.service.Answer[signaling.Join]
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, e fakeservice.Event) {
			r.service.Answer[signaling.Join] = join
			r.media.Publisher.Notify(media.Event{Kind: media.NoCandidates, Channel: event.ChannelASR})
			time.AfterFunc(second, func() { s.Push(socketio.Event{Kind: socketio.ReconnectFailed}) })
		}
		lose(s)
		time.Sleep(2 * second)
		synctest.Wait()
		if state := r.Snapshot().State; state != Connected || r.service.Dialled() != 2 {
			t.Fatalf("%s on socket %d, want the second attempt", state, r.service.Dialled())
		}
		r.media.Publisher.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "connected"})
		time.Sleep(5 * second)
		if got := all[event.MediaRecovering](r); len(got) != 0 {
			t.Errorf("repairs %v", got)
		}
	})
}

// TestCloseWaitsForTheViewersRelease, which a rebuild has begun: a program that ends next would
// leave the viewer at the service.
func TestCloseWaitsForTheViewersRelease(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		released := false
		r.media.OnRelease = func(context.Context) {
			time.Sleep(second)
			released = true
		}
		lose(s)
		r.Close()
		if !released {
			t.Error("Close returned before")
		}
	})
}

// TestNoRepairStartsWhilePaused: there is nothing to see or hear, and resuming may make
// the media again anyway.
func TestNoRepairStartsWhilePaused(t *testing.T) {
	connected(t, func(r *rig, _ *fakeservice.Socket) {
		r.must(r.Pause())
		synctest.Wait()
		r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "failed"})
		r.media.Publisher.Notify(media.Event{Kind: media.PeerState, Channel: event.ChannelASR, State: "failed"})
		time.Sleep(10 * second)
		if got := all[event.MediaRecovering](r); len(got) != 0 {
			t.Fatalf("repairs during the pause: %v", got)
		}
		r.must(r.Resume(context.Background()))
		time.Sleep(1100 * time.Millisecond)
		expect.Len(t, all[event.MediaRecovering](r), 2, "repairs after the pause")
	})
}

// TestRebuildsAreCounted in the event before each further one.
func TestRebuildsAreCounted(t *testing.T) {
	connectedWith(t, Options{Limits: signaling.Limits{ColdAttempts: 3}}, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Push(socketio.Event{Kind: socketio.ReconnectFailed})
		}
		s.Drop(socketio.TransportClose)
		s.Back(false)
		time.Sleep(5 * second)
		var got []int
		for _, c := range all[event.ConnectivityChanged](r) {
			if c.State == string(event.ReconnectRetry) {
				got = append(got, c.Attempt, c.MaxAttempts)
			}
		}
		if len(got) != 4 || got[0] != 2 || got[1] != 3 || got[2] != 3 || got[3] != 3 {
			t.Errorf("attempts and bounds %v, want 2 of 3 and 3 of 3", got)
		}
	})
}

// TestTheNetworkBackBeginsTheNextRebuild without the wait before it.
func TestTheNetworkBackBeginsTheNextRebuild(t *testing.T) {
	connectedWith(t, Options{Limits: signaling.Limits{ColdBackoff: time.Hour}}, func(r *rig, s *fakeservice.Socket) {
		join := r.service.Answer[signaling.Join]
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, e fakeservice.Event) {
			r.service.Answer[signaling.Join] = join
			s.Push(socketio.Event{Kind: socketio.ReconnectFailed})
		}
		lose(s)
		if r.Snapshot().State != ReconnectingState {
			t.Fatalf("state %s, want a wait before the second attempt", r.Snapshot().State)
		}
		r.core.Work.Post(func() { r.network(true) })
		synctest.Wait()
		expect.Equal(t, r.Snapshot().State, Connected, "state after the network came back")
	})
}

// TestAServiceThatCannotBeReachedFailsConnect after as many attempts as ever, though those
// of a reconnect are bounded by the window alone.
func TestAServiceThatCannotBeReachedFailsConnect(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer["open"] = func(s *fakeservice.Socket, _ fakeservice.Event) {}
		r.service.Silent = true
		go func() {
			synctest.Wait()
			for n := 0; n <= 5; n++ {
				if n > 0 {
					r.service.Socket(0).Push(socketio.Event{Kind: socketio.Reconnecting, Attempt: n})
				}
				r.service.Socket(0).Push(socketio.Event{Kind: socketio.ConnectError, Err: errors.New("no route")})
			}
		}()
		began := time.Now()
		err := r.Connect(context.Background())
		if !errors.Is(err, fault.ConnectFailed) || time.Since(began) != 0 {
			t.Errorf("%v after %v, want connect_failed with the fifth attempt", err, time.Since(began))
		}
	})
}

// relayDies runs f with a session that had a picture for 5 s, from the moment at which no more bytes come.
func relayDies(t *testing.T, f func(r *rig)) {
	t.Helper()
	run(t, Options{}, func(r *rig) {
		r.media.Flowing = true
		r.mustConnect()
		time.Sleep(5 * second)
		r.Forget()
		r.media.Dead.Store(true)
		f(r)
	})
}

// TestARelayThatIsDeadForAMinute: no success is reported without bytes, the loss is reported in
// time, the session survives without a rebuild for every repair, and the picture comes back soon.
func TestARelayThatIsDeadForAMinute(t *testing.T) {
	relayDies(t, func(r *rig) {
		time.Sleep(20 * second)
		failed := 0
		for _, c := range all[event.ConnectivityChanged](r) {
			if c.State == "recover_failed" {
				failed++
			}
		}
		if failed == 0 {
			t.Error("no recover_failed within 20 s")
		}
		if w := all[event.Warning](r); len(w) != 1 || w[0].Code != fault.MediaNoVideo {
			t.Errorf("a rebuild without a picture is connected without a warning: %v", w)
		}
		time.Sleep(40 * second)
		expect.Len(t, all[event.MediaRecovered](r), 0, "recovered without bytes")
		expect.Len(t, all[event.Reconnecting](r), 1, "rebuilds")
		if state := r.Snapshot().State; state != Connected {
			t.Fatalf("state %s after a minute", state)
		}
		r.media.Dead.Store(false)
		time.Sleep(10 * second)
		if got := all[event.MediaRecovered](r); len(got) != 1 || got[0].Channel != event.ChannelSTV {
			t.Errorf("within 10 s of the repair: recovered %v", got)
		}
		r.Forget()
		time.Sleep(time.Minute)
		expect.Len(t, r.heardNames(), 0, "afterwards")
	})
}

// TestAPictureThatNeverComesBackEndsTheSession with an error that says what to do.
func TestAPictureThatNeverComesBackEndsTheSession(t *testing.T) {
	relayDies(t, func(r *rig) {
		time.Sleep(4 * time.Minute)
		if e := all[event.Failed](r); len(e) != 1 || e[0].Code != fault.MediaRecoverFailed || !e[0].Retryable {
			t.Errorf("errors %v", e)
		}
		if e := all[event.Ended](r); len(e) != 1 || e[0].Reason != "media_recover_failed" {
			t.Errorf("ended %v", e)
		}
	})
}

// TestTheNextConversationHasItsOwnTimeWithoutAPicture: the repairs of the one before do not count.
func TestTheNextConversationHasItsOwnTimeWithoutAPicture(t *testing.T) {
	relayDies(t, func(r *rig) {
		time.Sleep(4 * time.Minute)
		expect.Equal(t, r.Snapshot().State, Disconnected, "state")
		r.Forget()
		r.must(r.Connect(context.Background()))
		time.Sleep(time.Minute)
		if state := r.Snapshot().State; state != Connected || len(all[event.Reconnecting](r)) != 1 {
			t.Errorf("%s after a minute with %d rebuilds: %v", state, len(all[event.Reconnecting](r)), all[event.Failed](r))
		}
	})
}

// TestRepairsThatFailAtOnceEndInTime: the limit is one of the time without a picture, also where a
// browser ends each repair at once because it finds no way.
func TestRepairsThatFailAtOnceEndInTime(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.media.Flowing = true
		r.media.OnPlayable = func(context.Context) (media.Picture, error) {
			return media.Picture{Width: 640, Height: 360, Missing: r.media.Dead.Load()}, nil
		}
		r.mustConnect()
		time.Sleep(5 * second)
		r.media.Dead.Store(true)
		time.Sleep(2 * time.Minute)
		expect.Len(t, all[event.Ended](r), 0, "ended before the limit")
		time.Sleep(20 * second)
		if e := all[event.Ended](r); len(e) != 1 || e[0].Reason != "media_recover_failed" {
			t.Errorf("ended %v, want media_recover_failed", e)
		}
	})
}

// TestAPeerWithoutCandidatesIsRebuilt: a repair finds no way either.
func TestAPeerWithoutCandidatesIsRebuilt(t *testing.T) {
	connected(t, func(r *rig, _ *fakeservice.Socket) {
		r.Forget()
		r.media.Dead.Store(true)
		r.media.Subscriber.Notify(media.Event{Kind: media.NoCandidates, Channel: event.ChannelSTV})
		time.Sleep(20 * second)
		expect.Len(t, all[event.MediaRecovered](r), 0, "recovered")
		if got := all[event.Reconnecting](r); len(got) != 1 || got[0].Reason != "media stv no candidates" || !got[0].Cold {
			t.Errorf("reconnecting %v", got)
		}
	})
}

// TestAPeerThatFindsNoWayDuringTheConnect is repaired 3 s after it began, as one that finds none later.
func TestAPeerThatFindsNoWayDuringTheConnect(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.ASRInit] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			r.media.Publisher.Notify(media.Event{Kind: media.NoCandidates, Channel: event.ChannelASR})
			s.Say(signaling.ASRReady, signaling.Empty{})
		}
		r.connectOnly()
		r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "connected"})
		time.Sleep(noCandidates)
		synctest.Wait()
		if got := all[event.MediaRecovering](r); len(got) != 1 || got[0].Channel != event.ChannelASR || got[0].State != string(event.NoCandidates) {
			t.Errorf("recovering %v", got)
		}
	})
}

// TestAMicrophoneThatStaysDead is not recovered by an answer alone, and does not cost a rebuild
// for each repair.
func TestAMicrophoneThatStaysDead(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.media.Flowing = true
		r.mustConnect()
		r.Forget()
		r.media.Deaf.Store(true)
		r.media.Publisher.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "failed"})
		time.Sleep(11 * second)
		expect.Len(t, all[event.MediaRecovered](r), 0, "recovered")
		if got := all[event.Reconnecting](r); len(got) != 1 || got[0].Reason != "media asr failed" {
			t.Errorf("reconnecting %v", got)
		}
		r.Forget()
		r.media.Publisher.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "failed"})
		time.Sleep(30 * second)
		expect.Len(t, all[event.Reconnecting](r), 0, "rebuilt again for the same peer")
		if got := all[event.MediaRecovering](r); len(got) < 2 {
			t.Errorf("repairs after a rebuild in vain: %v, want them to go on", got)
		}
	})
}

// TestARepairAsksForARelayLoginThatHasExpired, and only for such a one: the relay would
// refuse the new peer.
func TestARepairAsksForARelayLoginThatHasExpired(t *testing.T) {
	var asked atomic.Int32
	login := func() *appinit.TURNCredentials {
		return &appinit.TURNCredentials{Username: "u", Credential: "c", Expiry: float64(time.Now().Add(time.Minute).Unix())}
	}
	o := Options{OnRelayNeeded: func(context.Context) (*appinit.TURNCredentials, error) {
		asked.Add(1)
		return login(), nil
	}}
	synctest.Test(t, func(*testing.T) { o.TURNCredentials = login() }) // each bubble's time begins at the same moment
	run(t, o, func(r *rig) {
		r.mustConnect()
		for n, want := range []int32{0, 1, 1, 2} { // at once, and 61, 61 and 122 s later
			r.Forget()
			r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "failed"})
			synctest.Wait()
			r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "connected"})
			if got := all[event.MediaRecovered](r); len(got) != 1 || asked.Load() != want {
				t.Errorf("repair %d: recovered %v, %d logins asked for, want %d", n, got, asked.Load(), want)
			}
			if n%2 == 0 {
				time.Sleep(61 * second)
			}
		}
	})
}

// TestAFunctionForTheRelayThatNeverReturnsHoldsNothingUp: the connect goes on with the login of before.
func TestAFunctionForTheRelayThatNeverReturnsHoldsNothingUp(t *testing.T) {
	var release chan struct{}
	o := Options{TURNCredentials: &appinit.TURNCredentials{Username: "u", Credential: "c", Expiry: 1}}
	o.OnRelayNeeded = func(context.Context) (*appinit.TURNCredentials, error) {
		<-release
		return nil, nil
	}
	run(t, o, func(r *rig) {
		release = make(chan struct{}) // of this bubble
		defer close(release)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := r.Connect(ctx); err != nil || time.Since(began) != relayLimit {
			t.Errorf("%v after %v, want a connection after %v", err, time.Since(began), relayLimit)
		}
	})
}

// TestAConnectAsksForARelayLoginThatHasExpired: a visitor may begin long after the page got it.
func TestAConnectAsksForARelayLoginThatHasExpired(t *testing.T) {
	var asked atomic.Int32
	var expiry float64
	o := Options{OnRelayNeeded: func(context.Context) (*appinit.TURNCredentials, error) {
		asked.Add(1)
		return &appinit.TURNCredentials{Username: "u", Credential: "c", Expiry: float64(time.Now().Add(time.Minute).Unix())}, nil
	}}
	synctest.Test(t, func(*testing.T) { expiry = float64(time.Now().Add(time.Minute).Unix()) }) // each bubble's time begins at the same moment
	o.TURNCredentials = &appinit.TURNCredentials{Username: "u", Credential: "c", Expiry: expiry}
	for name, first := range map[string]func(*rig) error{
		"connect": func(r *rig) error { return r.Connect(context.Background()) },
		"prepare": func(r *rig) error { return r.Prepare(context.Background()) },
	} {
		for wait, want := range map[time.Duration]int32{0: 0, 61 * second: 1} {
			asked.Store(0)
			run(t, o, func(r *rig) {
				time.Sleep(wait)
				if err := first(r); err != nil || asked.Load() != want {
					t.Errorf("%s after %v: %v, %d logins asked for, want %d", name, wait, err, asked.Load(), want)
				}
			})
		}
	}
}

// TestTheQualityOfANewPeerIsItsOwn: its statistics are not compared with those of the peer before.
func TestTheQualityOfANewPeerIsItsOwn(t *testing.T) {
	received := func(n uint64) media.Stats { return media.Stats{Known: true, Video: fakeservice.PictureBytes(n)} }
	for name, renew := range map[string]func(*testing.T, *rig){
		"a rebuild": func(t *testing.T, r *rig) { r.rebuildNow(t) },
		"a repair": func(_ *testing.T, r *rig) {
			for _, state := range []string{"failed", "connected"} {
				r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: state})
				synctest.Wait()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, Options{StatsInterval: second}, func(r *rig) {
				r.media.Stats = received(1000)
				r.mustConnect()
				time.Sleep(3 * second)
				synctest.Wait()
				r.Forget()
				r.media.Stats = received(126_000)
				renew(t, r)
				time.Sleep(3 * second)
				quality := all[event.ConnectionQuality](r)
				for _, q := range quality {
					expect.Equal(t, q.BitrateKbps, 0, "kbit/s of a peer that receives nothing more")
				}
				if len(quality) < 2 {
					t.Errorf("%d events", len(quality))
				}
			})
		})
	}
}
