package avatar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func TestConnectRunsTheHandshakeInOrder(t *testing.T) {
	run(t, Options{Options: session.Options{PartnerID: "5501"}}, func(r *rig) {
		s := r.connectOnly()
		r.wantEvents(
			"stateChange:preparing", "stateChange:connecting", "connectivityChanged", "streamReady",
			"mediaReady", "disclosure", "stateChange:connected", "connectTimings",
		)
		sent := s.Names()
		want := []string{signaling.Join, signaling.StvNewSession, signaling.CheckAvailability, signaling.ASRInit, signaling.ASROffer, signaling.ApprovedPermissions}
		expect.List(t, sent, want, "sent")
		if s.Options().Query["stickyId"] != r.Snapshot().StickyID || len(r.Snapshot().StickyID) != 16 || s.Options().Query["partnerId"] != "5501" {
			t.Errorf("query = %v", s.Options().Query)
		}
		expect.List(t, r.media.Subscriber.Posts, []string{"https://media.example/whep/s-1"}, "posted to")
		var join signaling.JoinRequest
		must.Do(r.t, json.Unmarshal([]byte(s.Payloads(signaling.Join)[0]), &join))
		if join.Room != join.Channel || len(join.Room) != 12 || join.Kaltura.KS != "token" || join.Kaltura.Capabilities["avatar"] != "on" {
			t.Errorf("join = %+v", join)
		}
	})
}

// TestEveryStepHasItsLimit withholds one event of the handshake at a time
// (protocol §2.3).
func TestEveryStepHasItsLimit(t *testing.T) {
	limits := signaling.Limits{Overall: time.Minute}.WithDefaults()
	for _, c := range []struct {
		name   string
		silent func(f *fakeservice.Service)
		after  time.Duration
		phase  fault.Phase
	}{
		{"serverConnect", func(f *fakeservice.Service) { delete(f.Answer, "open") }, 10 * second, fault.PhaseServerConnect},
		{"join", func(f *fakeservice.Service) { delete(f.Answer, signaling.Join) }, 5 * second, fault.PhaseJoin},
		{"joinComplete", func(f *fakeservice.Service) {
			f.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
				s.Say(signaling.ClientConfig, signaling.Configuration{})
			}
		}, 20 * second, fault.PhaseJoinComplete},
		{"session", func(f *fakeservice.Service) { delete(f.Answer, signaling.StvNewSession) }, limits.Overall, fault.PhaseConnect},
		{"agent", func(f *fakeservice.Service) {
			f.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, _ fakeservice.Event) {
				s.Say(signaling.StvNewSession, signaling.StvNewSessionReply{SessionID: "s", Status: "ok"})
				s.Say(signaling.ShowAgent, signaling.Empty{})
			}
		}, 10 * second, fault.PhaseAgent},
		{"asr", func(f *fakeservice.Service) { delete(f.Answer, signaling.ASROffer) }, limits.ASR, fault.PhaseASR},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, Options{Limits: limits}, func(r *rig) {
				c.silent(r.service)
				began := time.Now()
				if e := r.refusal(); e.Code != fault.Timeout || e.Phase != c.phase || !e.Retryable {
					r.t.Fatalf("err = %v, want a timeout in phase %s", e, c.phase)
				}
				expect.Equal(t, time.Since(began), c.after, "took")
				expect.Equal(t, r.Snapshot().State, Broken, "state")
			})
		})
	}
}

func TestFatalEventsRejectConnectAtOnce(t *testing.T) {
	for name, want := range map[string]fault.Code{
		signaling.ThrowToNoAgent:      fault.CapacityUnavailable,
		signaling.ThrowToExceededTier: fault.TierExceeded,
		signaling.ThrowToBadRequest:   fault.BadRequest,
		signaling.RemovePeer:          fault.PeerRemoved,
		signaling.UnsupportedClient:   fault.UnsupportedClient,
	} {
		t.Run(name, func(t *testing.T) {
			run(t, Options{}, func(r *rig) {
				r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) { s.Say(name, signaling.Empty{}) }
				began := time.Now()
				err := r.Connect(context.Background())
				if !errors.Is(err, want) || time.Since(began) != 0 {
					t.Errorf("err = %v after %v, want %s at once", err, time.Since(began), want)
				}
				if want == fault.BadRequest && !strings.Contains(err.Error(), "the thread may be another user's or not exist") {
					t.Errorf("the message does not say what a page may have done wrong: %v", err)
				}
				if errs := all[event.Failed](r); len(errs) != 1 || errs[0].Code != want {
					t.Errorf("error events = %v", errs)
				}
				names := r.heardNames()
				expect.List(t, names[len(names)-2:], []string{"error", "stateChange:error"}, "the last events")
			})
		})
	}
}

func TestEarlyHandshakeEventsAreLatched(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.JoinComplete, signaling.Empty{})
			s.Say(signaling.ShowAgent, signaling.Empty{})
			s.Say(signaling.AskPermissions, signaling.Empty{})
			s.Say(signaling.ClientConfig, signaling.Configuration{LanguageCode: "de"})
		}
		r.service.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.StvNewSession, signaling.StvNewSessionReply{SessionID: "s", Status: "ok"})
		}
		r.connectOnly()
		expect.Equal(t, r.Snapshot().ClientConfig.LanguageCode, "de", "bare configuration: language")
	})
}

// Making the microphone's peer earlier would delay the picture.
func TestTheMicrophonesPeerWaitsForTheVideoSession(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		reply := r.service.Answer[signaling.StvNewSession]
		r.service.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, e fakeservice.Event) {
			synctest.Wait()
			if r.media.Publisher.Prepared.Load() {
				t.Error("prepared before the picture's address is known")
			}
			reply(s, e)
		}
		r.connectOnly()
		if !r.media.Publisher.Prepared.Load() {
			t.Error("not prepared")
		}
	})
}

func TestConnectCanBeCutShortAtEveryStep(t *testing.T) {
	for _, silent := range []string{"open", signaling.Join, signaling.StvNewSession, signaling.ASRInit, signaling.ASROffer} {
		t.Run(silent, func(t *testing.T) {
			run(t, Options{}, func(r *rig) {
				delete(r.service.Answer, silent)
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(second, cancel)
				var e *fault.Error
				if err := r.Connect(ctx); !errors.As(err, &e) || e.Code != fault.Aborted || e.Timings == nil || !errors.Is(err, context.Canceled) {
					t.Errorf("err = %v, want aborted with timings", err)
				}
			})
			run(t, Options{}, func(r *rig) {
				delete(r.service.Answer, silent)
				time.AfterFunc(second, func() { r.Disconnect(session.DisconnectOptions{}) })
				if e := r.refusal(); e.Code != fault.ConnectFailed || !e.Retryable {
					t.Errorf("err = %v, want a retryable connect_failed", e)
				}
				synctest.Wait()
				expect.Equal(t, r.Snapshot().State, Disconnected, "state")
			})
		})
	}
}

func TestASRErrorEndsConnect(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.ASROffer] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.ASRError, signaling.PeerError{Error: "bad SDP"})
		}
		if e := r.refusal(); e.Phase != fault.PhaseASR {
			t.Errorf("err = %v", e)
		}
	})
}

func TestASessionThatIsGoneIsRepairedOnce(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.media.OnSubscribe = func(context.Context, string) error {
			if len(r.media.Subscriber.Posts) == 1 {
				return &media.Gone{Status: 409}
			}
			return nil
		}
		s := r.connectOnly()
		if n := len(s.Payloads(signaling.StvNewSession)); n != 2 || r.media.Subscriber.Restarts != 1 {
			t.Errorf("%d session requests, %d restarts", n, r.media.Subscriber.Restarts)
		}
	})
	run(t, Options{}, func(r *rig) {
		r.media.OnSubscribe = func(context.Context, string) error { return &media.Gone{Status: 404} }
		if e := r.refusal(); e.Code != fault.STVSessionGone || e.Status != 404 || !e.Retryable {
			t.Errorf("err = %v", e)
		}
	})
}

// TestNoPictureIsTriedTwiceThenDegraded, with a warning whose detail depends on the network: a relay that can't be
// reached carries no voice either.
func TestNoPictureIsTriedTwiceThenDegraded(t *testing.T) {
	for state, detail := range map[string]string{"connected": "no picture arrived", "checking": "neither picture nor voice"} {
		withoutPicture(t, state, detail)
	}
}

func withoutPicture(t *testing.T, state, detail string) {
	run(t, Options{}, func(r *rig) {
		r.media.OnPlayable = func(context.Context) (media.Picture, error) {
			r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: state})
			return media.Picture{Missing: true}, nil
		}
		r.connectOnly()
		if r.media.Subscriber.Restarts != 1 || len(r.media.Subscriber.Posts) != 2 {
			t.Errorf("restarts %d, posts %v", r.media.Subscriber.Restarts, r.media.Subscriber.Posts)
		}
		if ready := all[event.MediaReady](r); len(ready) != 1 || !ready[0].Degraded {
			t.Errorf("mediaReady = %+v", ready)
		}
		if w := all[event.Warning](r); len(w) != 1 || w[0].Code != fault.MediaNoVideo || !strings.Contains(w[0].Detail, detail) {
			t.Errorf("%s: warnings = %+v", state, w)
		}
	})
}

func TestAudioModeTakesTheServicesVoice(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.StvNewSession, signaling.StvNewSessionReply{Status: signaling.NoVideoStatus})
			s.Say(signaling.ShowAgent, signaling.Empty{})
			s.Say(signaling.AskPermissions, signaling.Empty{})
			s.Say(signaling.VoiceOffer, signaling.Offer{Offer: signaling.Description{Type: "offer", SDP: "v=0"}})
		}
		s := r.connectOnly()
		if r.Snapshot().Mode != event.Audio || len(r.media.Subscriber.Posts) != 0 {
			t.Errorf("mode %s, posts %v", r.Snapshot().Mode, r.media.Subscriber.Posts)
		}
		expect.Len(t, s.Payloads(signaling.VoiceAnswer), 1, "answers")
		if !r.media.Subscriber.Closed || r.media.Publisher.Closed {
			t.Errorf("picture's peer closed %v, microphone's %v", r.media.Subscriber.Closed, r.media.Publisher.Closed)
		}
		lose(s) // made again on the same socket
		expect.Equal(t, r.Snapshot().State, Connected, "state")
		expect.Equal(t, r.media.Open, 1, "peers after a rebuild")
	})
}

// TestAudioModeDoesNotRepairAPicture whose peer, made ahead of time, found no way to the service before it turned out that there is none.
func TestAudioModeDoesNotRepairAPicture(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			r.media.Subscriber.Notify(media.Event{Kind: media.NoCandidates, Channel: event.ChannelSTV})
			s.Say(signaling.StvNewSession, signaling.StvNewSessionReply{Status: signaling.NoVideoStatus})
			s.Say(signaling.ShowAgent, signaling.Empty{})
			s.Say(signaling.AskPermissions, signaling.Empty{})
		}
		r.connectOnly()
		r.media.Publisher.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "connected"})
		r.Forget()
		time.Sleep(time.Minute)
		if got := all[event.MediaRecovering](r); len(got) != 0 || r.Snapshot().State != Connected {
			t.Errorf("recovering %v, %s: %v", got, r.Snapshot().State, all[event.Failed](r))
		}
	})
}

// TestAPreparationThatFailsWhileConnectWaitsIsReplaced, never taken over: the service answers one join
// on a connection. The order of two goroutines decided that, therefore many tries.
func TestAPreparationThatFailsWhileConnectWaitsIsReplaced(t *testing.T) {
	for range 50 {
		run(t, Options{Limits: signaling.Limits{Overall: 3 * second}}, func(r *rig) {
			join := r.service.Answer[signaling.Join]
			r.service.When(signaling.Join, nil)
			prepared := make(chan error, 1)
			go func() { prepared <- r.Prepare(context.Background()) }()
			time.Sleep(second)
			r.service.When(signaling.Join, func(s *fakeservice.Socket, e fakeservice.Event) {
				if len(s.Payloads(signaling.Join)) == 1 {
					join(s, e)
				}
			})
			if err := r.Connect(context.Background()); err != nil || r.service.Dialled() != 2 {
				t.Errorf("connected with %v, %d sockets", err, r.service.Dialled())
			}
			expect.Error(t, <-prepared, fault.Timeout, "prepared with")
		})
	}
}

func TestPrepareIsUsedByConnect(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.must(r.Prepare(context.Background()))
		if got := r.Snapshot().Timings; len(got) != 0 {
			t.Errorf("timings %v of a connect that has not begun", got)
		}
		picture := r.media.Subscriber
		if picture == nil || r.media.Publisher != nil {
			t.Errorf("the picture's peer is %v and the microphone's %v", picture, r.media.Publisher)
		}
		r.connectOnly()
		expect.Equal(t, r.media.Subscriber, picture, "connecting made another peer for the picture")
		expect.Equal(t, r.service.Dialled(), 1, "sockets")
		expect.Equal(t, len(r.service.Socket(0).Payloads(signaling.Join)), 1, "joins")
		expect.Equal(t, len(all[event.StreamReady](r)), 1, "streamReady was not emitted from connect")
		if now := r.Snapshot(); now.ClientConfig == nil || !now.Capabilities.TapToTalk {
			t.Errorf("connected with the configuration %+v, want that of the join", now.ClientConfig)
		}
	})
}

// TestAPreparedConnectionReconnectsWithTheNewToken: the token is read anew for each handshake (protocol §1.6).
func TestAPreparedConnectionReconnectsWithTheNewToken(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.must(r.Prepare(context.Background()))
		r.must(r.SetToken("newer"))
		s := r.connectOnly()
		if got := fmt.Sprint(s.Options().Auth); got != "map[token:newer]" || r.service.Dialled() != 1 {
			t.Errorf("auth %s on %d sockets", got, r.service.Dialled())
		}
	})
}

func TestAnUnusedPreparationExpires(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.must(r.Prepare(context.Background()))
		time.Sleep(60 * second)
		if w := all[event.Warning](r); len(w) != 1 || w[0].Code != fault.PrepareExpired {
			t.Errorf("warnings = %v", w)
		}
		if !r.service.Socket(0).Closed() {
			t.Error("the socket is still open")
		}
		expect.Equal(t, r.media.Open, 0, "peers are still open")
		r.connectOnly() // on a fresh socket
	})
}

// TestAPreparationDoesNotExpireDuringAConnect that waits for the application before it takes the connection.
func TestAPreparationDoesNotExpireDuringAConnect(t *testing.T) {
	o := Options{OnRelayNeeded: func(context.Context) (*appinit.TURNCredentials, error) {
		time.Sleep(4 * second)
		return nil, nil
	}}
	run(t, o, func(r *rig) {
		r.must(r.Prepare(context.Background()))
		time.Sleep(58 * second)
		r.core.Work.Call(func() { r.recovery.loginExpiry = 1 })
		r.connectOnly()
		expect.Len(t, all[event.Warning](r), 0, "warnings")
		expect.Equal(t, r.service.Dialled(), 1, "sockets")
	})
}

func TestARunningPreparationIsWaitedFor(t *testing.T) {
	for name, next := range map[string]func(*rig) error{
		"connect": func(r *rig) error { return r.Connect(context.Background()) },
		"prepare": func(r *rig) error { return r.Prepare(context.Background()) },
	} {
		run(t, Options{}, func(r *rig) {
			join := r.service.Answer[signaling.Join]
			r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, e fakeservice.Event) {
				time.AfterFunc(second, func() { join(s, e) })
			}
			began := time.Now()
			first := make(chan error, 1)
			go func() { first <- r.Prepare(context.Background()) }()
			synctest.Wait()
			if err := next(r); err != nil || time.Since(began) != second {
				t.Errorf("%s ended with %v after %v, want nil after %v", name, err, time.Since(began), second)
			}
			if err := <-first; err != nil || r.service.Dialled() != 1 {
				t.Errorf("%s: the preparation ended with %v, %d sockets", name, err, r.service.Dialled())
			}
		})
	}
}

func TestWaitForCapacityPolls(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.random = func() float64 { return 0.75 }
		asked := 0
		r.service.Answer[signaling.CheckAvailability] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			asked++
			s.Say(signaling.AvailabilityResult, signaling.Availability{Available: asked == 3, Details: json.RawMessage(`{"maxCalls":20}`)})
		}
		began := time.Now()
		details, err := r.WaitForCapacity(context.Background(), 0, 0)
		if err != nil || string(details) != `{"maxCalls":20}` || time.Since(began) != 6250*time.Millisecond+5*second {
			t.Errorf("%s, %v after %v", details, err, time.Since(began))
		}
		expect.Equal(t, len(all[event.CapacityChanged](r)), 3, "capacityChanged")
		r.service.Answer[signaling.CheckAvailability] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.AvailabilityResult, signaling.Availability{})
		}
		expect.Fail(r.WaitForCapacity(context.Background(), 0, 0))(t, fault.CapacityTimeout, "err")
	})
}

// TestCloseEndsWaitForCapacity: the wait, its socket and its events do not outlive the session,
// which takes no token any more that would begin another.
func TestCloseEndsWaitForCapacity(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.CheckAvailability] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.AvailabilityResult, signaling.Availability{})
		}
		outcome := make(chan error, 1)
		go func() { _, err := r.WaitForCapacity(context.Background(), 0, 0); outcome <- err }()
		synctest.Wait()
		r.Close()
		if !r.service.Socket(0).Closed() {
			t.Error("the socket outlives Close")
		}
		r.Forget()
		began := time.Now()
		if err := <-outcome; !errors.Is(err, fault.Aborted) || time.Since(began) != 0 {
			t.Errorf("ended with %v, %v after Close", err, time.Since(began))
		}
		if n := len(r.Recorded()); n != 0 {
			t.Errorf("%d events after Close", n)
		}
		_, wait := r.WaitForCapacity(context.Background(), 0, 0)
		for call, err := range map[string]error{
			"SetToken": r.SetToken("another"), "another wait": wait,
			"Connect": r.Connect(context.Background()), "Prepare": r.Prepare(context.Background()),
		} {
			if !errors.Is(err, fault.InvalidState) || !strings.Contains(err.Error(), "; make a new one") {
				t.Errorf("%s after Close: %v", call, err)
			}
		}
	})
}

// TestAConnectWhoseContextHasEndedDoesNothing, so that the session can connect afterwards.
func TestAConnectWhoseContextHasEndedDoesNothing(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		expect.Error(t, r.Connect(ended), fault.Aborted, "connect")
		synctest.Wait()
		expect.Equal(t, r.service.Dialled(), 0, "sockets")
		expect.Len(t, r.heardNames(), 0, "events")
		r.connectOnly()
	})
}

// TestASecondConnectJoinsTheFirst: it waits for the same outcome, the end of its context
// ends only its own wait, and a call on a connected session is refused.
func TestASecondConnectJoinsTheFirst(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		join := r.service.Answer[signaling.Join]
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, e fakeservice.Event) {
			time.AfterFunc(2*second, func() { join(s, e) })
		}
		outcomes := make(chan error, 2)
		for range 2 {
			go func() { outcomes <- r.Connect(context.Background()) }()
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(context.Background(), second)
		defer cancel()
		expect.Error(t, r.Connect(ctx), fault.Timeout, "a wait that was cut short")
		if len(outcomes) > 0 {
			t.Fatal("a connect ended with the wait of another")
		}
		if a, b := <-outcomes, <-outcomes; a != nil || b != nil {
			t.Fatalf("connected with %v and %v", a, b)
		}
		expect.Equal(t, r.service.Dialled(), 1, "connections")
		expect.Error(t, r.Connect(context.Background()), fault.InvalidState, "while connected")
	})
	run(t, Options{}, func(r *rig) {
		delete(r.service.Answer, signaling.Join)
		outcomes := make(chan error, 2)
		for range 2 {
			go func() { outcomes <- r.Connect(context.Background()) }()
		}
		if a, b := <-outcomes, <-outcomes; !errors.Is(a, fault.Timeout) || !errors.Is(b, fault.Timeout) {
			t.Errorf("two calls failed with %v and %v", a, b)
		}
	})
}

func TestADroppedHandshakeSocketFailsConnect(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.ServerDisconnect})
		}
		expect.Error(t, r.Connect(context.Background()), fault.ConnectFailed, "err")
	})
}

// TestALateStepOfAnEarlierConnectHasNoEffect: the service's reply to the join came before the end of that
// connect, and the session handles it only when the next one has begun.
func TestALateStepOfAnEarlierConnectHasNoEffect(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.ClientConfig, signaling.Configuration{LanguageCode: s.ID()})
		}
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- r.Connect(context.Background()) }()
		synctest.Wait()
		r.core.Work.Post(func() {
			r.service.Socket(0).Say(signaling.JoinComplete, signaling.Empty{})
			time.Sleep(time.Second) // the step has ended, and its outcome waits for the queue
			r.disconnect(session.DisconnectOptions{})
			r.setToken("next")
			r.connect(second)
		})
		expect.Error(t, <-first, fault.ConnectFailed, "the first connect")
		time.Sleep(time.Second)
		if _, joined := r.Snapshot().Timings[string(phaseJoinComplete)]; joined {
			t.Errorf("the second connect has joined according to %v", r.Snapshot().Timings)
		}
		s := r.service.Socket(1)
		s.Say(signaling.JoinComplete, signaling.Empty{})
		r.must(<-second)
		expect.Equal(t, r.Snapshot().ClientConfig.LanguageCode, s.ID(), "configuration of the socket")
	})
}
