package avatar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
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
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// issuer mints tokens that live for a minute.
type issuer struct {
	mu     sync.Mutex
	minted []time.Time
}

func (i *issuer) mint(context.Context) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.minted = append(i.minted, time.Now())
	return fmt.Sprintf("token-%d", len(i.minted)-1), nil
}

func (i *issuer) valid(token string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	var n int
	if _, err := fmt.Sscanf(token, "token-%d", &n); err != nil || n >= len(i.minted) {
		return false
	}
	return time.Since(i.minted[n]) < time.Minute
}

// reconnect is the socket's next attempt: the service looks at the token of the handshake.
func reconnect(s *fakeservice.Socket, i *issuer, recovered bool) {
	if i.valid(s.Token()) {
		s.Back(recovered)
		return
	}
	s.Refuse("unauthorized")
}

// TestATokenThatLivesAMinute: ten minutes with five drops and two restarts of the service. The
// session is back each time, and the completion carries a valid token. In the first run
// tokenLifeMs is set, and the application is asked before a token expires; in the second it
// is not set.
func TestATokenThatLivesAMinute(t *testing.T) {
	for _, life := range []time.Duration{time.Minute, 0} {
		synctestIssuer(t, life)
	}
}

func synctestIssuer(t *testing.T, life time.Duration) {
	var i *issuer
	var r *rig
	logins := 0
	o := Options{
		Options: session.Options{
			Token: "token-0", ThreadID: "5f0c", TokenLife: life,
			OnTokenNeeded: func(ctx context.Context) (string, error) { return i.mint(ctx) },
		},
		IdleTimeout: new(time.Duration(0)),
		OnRelayNeeded: func(context.Context) (*appinit.TURNCredentials, error) {
			logins++
			return &appinit.TURNCredentials{Username: "u", Credential: "c"}, nil
		},
	}
	run(t, o, func(it *rig) {
		r, i = it, &issuer{}
		_, _ = i.mint(context.Background())
		r.service.Answer["open"] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			if !i.valid(s.Token()) {
				s.Refuse("unauthorized")
				return
			}
			s.Say(signaling.ServerConnected, signaling.Hello{})
		}
		s := r.mustConnect()
		for n, recovered := range []bool{true, false, true, false, true, false, false} {
			time.Sleep(80 * second)
			s.Drop(socketio.TransportClose)
			time.Sleep(time.Duration(n) * second)
			reconnect(s, i, recovered)
			time.Sleep(5 * second)
			synctest.Wait()
			if state := r.Snapshot().State; state != Connected {
				t.Fatalf("life %v, loss %d: %s, errors %v", life, n, state, all[event.Failed](r))
			}
			s = r.service.Socket(r.service.Dialled() - 1)
		}
		if logins == 0 {
			t.Error("no new login to the relay was asked for")
		}
		if life > 0 && r.service.Dialled() != 1 {
			t.Errorf("%d sockets: the application was not asked ahead of the end", r.service.Dialled())
		}
		r.http.mu.Lock()
		r.http.accepts = i.valid
		r.http.mu.Unlock()
		time.Sleep(80 * second)
		r.Disconnect(session.DisconnectOptions{})
		r.Settle()
		r.http.mu.Lock()
		defer r.http.mu.Unlock()
		if n := len(r.http.tokens); n == 0 || !i.valid(r.http.tokens[n-1]) {
			t.Errorf("the completion was sent with %q", r.http.tokens)
		}
	})
}

// TestTheLifeOfATokenBeginsBeforeTheConnect, which a visitor may begin long after the page was loaded.
func TestTheLifeOfATokenBeginsBeforeTheConnect(t *testing.T) {
	var made time.Time
	var asked []time.Duration
	o := Options{Options: session.Options{TokenLife: time.Minute, OnTokenNeeded: func(context.Context) (string, error) {
		asked = append(asked, time.Since(made))
		return "next", nil
	}}}
	run(t, o, func(r *rig) {
		made = time.Now()
		time.Sleep(40 * second)
		r.mustConnect()
		time.Sleep(20 * second)
		synctest.Wait()
		expect.List(t, asked, []time.Duration{48 * second}, "asked after")
	})
}

// TestAFirstTokenThatHasExpiredIsReplaced before the connect fails.
func TestAFirstTokenThatHasExpiredIsReplaced(t *testing.T) {
	o := Options{Options: session.Options{Token: "old", OnTokenNeeded: func(context.Context) (string, error) { return "new", nil }}}
	run(t, o, func(r *rig) {
		r.refuseAllBut("new")
		r.connectOnly()
		expect.Equal(t, r.service.Dialled(), 2, "sockets")
	})
}

// TestTheEndOfAContextEndsAConnectThatWaitsForAToken at once, not when the function returns.
func TestTheEndOfAContextEndsAConnectThatWaitsForAToken(t *testing.T) {
	for _, fails := range []error{nil, errors.New("signed out")} {
		o := Options{Options: session.Options{Token: "old", OnTokenNeeded: func(context.Context) (string, error) {
			time.Sleep(9 * second)
			return "new", fails
		}}}
		run(t, o, func(r *rig) {
			r.refuseAllBut("new")
			began := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), second)
			defer cancel()
			if err := r.Connect(ctx); !errors.Is(err, fault.Timeout) || time.Since(began) != second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			time.Sleep(20 * second)
			if state := r.Snapshot().State; state != Broken || r.service.Dialled() != 1 {
				t.Errorf("%s, %d sockets after the function has returned", state, r.service.Dialled())
			}
		})
	}
}

func (r *rig) refuseAllBut(token string) {
	r.service.Answer["open"] = func(s *fakeservice.Socket, _ fakeservice.Event) {
		if s.Token() != token {
			s.Refuse("unauthorized")
			return
		}
		s.Say(signaling.ServerConnected, signaling.Hello{})
	}
}

// TestATokenThatCanNotBeReplacedEndsTheSession with unauthorized: without a function, with one
// that fails, never answers or has nothing better.
func TestATokenThatCanNotBeReplacedEndsTheSession(t *testing.T) {
	for name, need := range map[string]func(context.Context) (string, error){
		"no function":      nil,
		"fails":            func(context.Context) (string, error) { return "", errors.New("signed out with s3cret-token") },
		"panics":           func(context.Context) (string, error) { panic("bug") },
		"nothing":          func(context.Context) (string, error) { return "", nil },
		"a refused one":    func(context.Context) (string, error) { return "worse", nil },
		"the end of a ctx": func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			connectedWith(t, Options{Options: session.Options{OnTokenNeeded: need}}, func(r *rig, s *fakeservice.Socket) {
				s.Drop(socketio.TransportClose)
				r.refuseAllBut("none")
				r.Forget()
				s.Refuse("unauthorized")
				time.Sleep(11 * second)
				errs := all[event.Failed](r)
				if len(errs) == 0 || errs[len(errs)-1].Code != fault.Unauthorized || errs[len(errs)-1].Retryable {
					t.Fatalf("errors %v, want unauthorized, not retryable", errs)
				}
				if e := all[event.Ended](r); len(e) != 1 || e[0].Reason != "unauthorized" {
					t.Errorf("ended %v", e)
				}
				for _, e := range errs {
					if strings.Contains(e.Error.Error(), "worse") {
						t.Errorf("a token in %v", e)
					}
				}
			})
		})
	}
}

// TestATokenRefusedDuringAResume is replaced, and the resume goes on with a new connection;
// without another token it fails with unauthorized.
func TestATokenRefusedDuringAResume(t *testing.T) {
	for name, next := range map[string]string{"replaced": "new", "not replaced": ""} {
		t.Run(name, func(t *testing.T) {
			o := Options{Options: session.Options{Token: "old", OnTokenNeeded: func(context.Context) (string, error) { return next, nil }}}
			connectedWith(t, o, func(r *rig, s *fakeservice.Socket) {
				r.must(r.Pause())
				s.Say(signaling.PauseSessionExpired, signaling.Empty{})
				synctest.Wait()
				r.Forget()
				// The socket drops while the media are made, and the token has expired.
				ask := r.service.Answer[signaling.StvNewSession]
				r.service.Answer[signaling.StvNewSession] = func(s *fakeservice.Socket, e fakeservice.Event) {
					r.service.Answer[signaling.StvNewSession] = ask
					s.Drop(socketio.TransportClose)
					s.Refuse("unauthorized")
				}
				r.refuseAllBut("new")
				err := r.Resume(context.Background())
				if next == "" {
					if e := all[event.Ended](r); !errors.Is(err, fault.Unauthorized) || len(e) != 1 {
						t.Errorf("resumed with %v, ended %v, want unauthorized", err, e)
					}
					return
				}
				if snap := r.Snapshot(); err != nil || snap.State != Connected || snap.Paused || r.service.Dialled() != 2 {
					t.Fatalf("%v, %s, paused %v, %d sockets", err, snap.State, snap.Paused, r.service.Dialled())
				}
				s = r.service.Socket(1)
				if s.Closed() || len(s.Payloads(signaling.ApprovedPermissions)) != 1 {
					t.Errorf("the new connection: closed %v, sent %q", s.Closed(), s.Names())
				}
				s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
				synctest.Wait()
				if left := r.speakLater("Hello"); !<-left {
					t.Error("a text did not leave")
				}
				expect.Len(t, all[event.Ended](r), 0, "ended")
			})
		})
	}
}

// TestASessionThatHasEndedAsksForNoToken: the call under way at its end is the last one, whatever it
// returns, and a token for the next conversation is not renewed before that begins.
func TestASessionThatHasEndedAsksForNoToken(t *testing.T) {
	for _, fails := range []error{nil, errors.New("signed out")} {
		var asked atomic.Int32
		o := Options{Options: session.Options{TokenLife: 10 * time.Minute, OnTokenNeeded: func(context.Context) (string, error) {
			asked.Add(1)
			time.Sleep(5 * second)
			return "new", fails
		}}}
		connectedWith(t, o, func(r *rig, s *fakeservice.Socket) {
			time.Sleep(8*time.Minute + second)
			s.Drop(socketio.ServerDisconnect)
			time.Sleep(time.Hour)
			expect.Equal(t, asked.Load(), 1, "calls, of which all but one after the end")
			r.must(r.SetToken("newer"))
			time.Sleep(time.Hour)
			expect.Equal(t, asked.Load(), 1, "calls after a new token")
		})
	}
}

// TestATokenOfAnEarlierConversationIsNotUsed: a call that was under way at the end of that one returns after
// the next has begun with a token of its own.
func TestATokenOfAnEarlierConversationIsNotUsed(t *testing.T) {
	o := Options{Options: session.Options{Token: "old", ThreadID: "5f0c", TokenLife: 10 * time.Minute, OnTokenNeeded: func(context.Context) (string, error) {
		time.Sleep(5 * second)
		return "late", nil
	}}}
	connectedWith(t, o, func(r *rig, _ *fakeservice.Socket) {
		time.Sleep(8*time.Minute + second)
		r.Disconnect(session.DisconnectOptions{})
		r.must(r.SetToken("next"))
		r.mustConnect()
		time.Sleep(10 * second)
		r.Disconnect(session.DisconnectOptions{})
		r.Settle()
		expect.List(t, r.http.tokens, []string{"old", "next"}, "the ends were reported with")
	})
}

// TestTheJoinCarriesTheNewestToken: it is sent when the service has greeted, which may be long after the start.
func TestTheJoinCarriesTheNewestToken(t *testing.T) {
	for name, first := range map[string]func(*rig) error{
		"connect": func(r *rig) error { return r.Connect(context.Background()) },
		"prepare": func(r *rig) error { return r.Prepare(context.Background()) },
	} {
		run(t, Options{}, func(r *rig) {
			open := r.service.Answer["open"]
			r.service.Answer["open"] = func(s *fakeservice.Socket, e fakeservice.Event) {
				time.AfterFunc(2*second, func() { open(s, e) })
			}
			time.AfterFunc(second, func() { r.must(r.SetToken("newer")) })
			r.must(first(r))
			if joins := r.service.Socket(0).Payloads(signaling.Join); len(joins) != 1 || !strings.Contains(joins[0], `"ks":"newer"`) {
				t.Errorf("%s: joined with %q", name, joins)
			}
		})
	}
}

// TestTheTokenIsInNothingThatLeaves checks the events, log and audit of a session whose
// service repeats the token wherever it can.
func TestTheTokenIsInNothingThatLeaves(t *testing.T) {
	const token = "djJ8NTUwMXxTZWNyZXRTZWNyZXRTZWNyZXRTZWNyZXRTZWNyZXRTZWNyZXRTZWNyZXQ"
	var mu sync.Mutex
	var log []string
	note := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		log = append(log, string(b))
	}
	o := Options{
		Options: session.Options{
			Token:        token,
			ThreadID:     "5f0c",
			Log:          func(level, message string, data map[string]any) { note([]any{level, message, data}) },
			OnAuditEvent: func(e event.Audit) { note(e) },
		},
		OnAgentAction: func(context.Context, AgentAction) error {
			return errors.New("refused with " + token)
		},
	}
	connectedWith(t, o, func(r *rig, s *fakeservice.Socket) {
		brain(s, "a", clientTool("open", `{}`))
		s.Say(signaling.UnsupportedClient, signaling.Unsupported{Code: token})
		s.Say(signaling.VoiceError, signaling.PeerError{Error: "KS " + token})
		s.Push(socketio.Event{Kind: socketio.ConnectError, Err: errors.New("bad auth " + token)})
		r.media.Subscriber.Notify(media.Event{Kind: media.AttachFailed, Media: "video", Err: errors.New(token)})
		r.media.OnSubscribe = func(context.Context, string) error { return errors.New("POST with " + token) }
		r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "failed"})
		time.Sleep(2 * time.Minute)
		r.Disconnect(session.DisconnectOptions{})
		synctest.Wait()
		for _, e := range r.Recorded() {
			note(map[string]any{e.Name(): e})
		}
		note(r.Snapshot())
		note(r.opts.Token)
		if len(log) < 15 {
			t.Errorf("only %d notes", len(log))
		}
		for _, line := range log {
			if strings.Contains(line, token) {
				t.Errorf("the token is in %s", line)
			}
		}
	})
}

// TestTheEndOfASessionEndsTheCallForAToken at once, and a call that goes on nevertheless has no effect on
// the next conversation, which asks for a token of its own when the service refuses that one's.
func TestTheEndOfASessionEndsTheCallForAToken(t *testing.T) {
	var asked, ended []time.Time
	o := Options{Options: session.Options{Token: "old", TokenLife: 10 * time.Minute, OnTokenNeeded: func(ctx context.Context) (string, error) {
		asked = append(asked, time.Now())
		if len(asked) > 1 {
			return "new", nil
		}
		<-ctx.Done()
		ended = append(ended, time.Now())
		time.Sleep(5 * second)
		return "late", nil
	}}}
	connectedWith(t, o, func(r *rig, _ *fakeservice.Socket) {
		time.Sleep(8*time.Minute + second)
		r.Disconnect(session.DisconnectOptions{})
		synctest.Wait()
		expect.List(t, ended, []time.Time{time.Now()}, "ended at")
		r.must(r.SetToken("next"))
		r.refuseAllBut("new")
		r.connectOnly()
		expect.List(t, asked[1:], []time.Time{time.Now()}, "asked again at")
		time.Sleep(10 * second)
		r.Disconnect(session.DisconnectOptions{})
	})
}
