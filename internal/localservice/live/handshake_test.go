package live

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func TestHandshakeOrder(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.join()
		got := f.expect(signaling.ServerConnected, signaling.ClientConfig, signaling.AgentRawText, signaling.JoinComplete)
		const first = `{"speechId":"","turnId":"","delta":"{\"role\":\"assistant\",\"type\":\"init_response\",\"content\":\"\",` +
			`\"segmentNumber\":0,\"et\":0,\"threadId\":\"thread1\",\"messageId\":\"m0\",\"openingPhrase\":\"Hello there.\"}"}`
		expect.Equal(t, got[2].payload, first, "first segment")
		f.join()
		f.expect() // joining twice gives no reply

		f.send(signaling.StvNewSession, signaling.RoomRequest{RoomID: "room1"})
		got = f.expect(signaling.StvNewSession, signaling.ShowAgent, signaling.AskPermissions)
		expect.Equal(t, got[0].field("status"), "session started", "reply %s", got[0].payload)

		f.send(signaling.ASRInit, signaling.ASRInitRequest{SessionID: "socket1"})
		f.send(signaling.ASROffer, signaling.Offer{Offer: signaling.Description{Type: "offer", SDP: "v=0"}})
		f.expect(signaling.ASRReady, signaling.ASRAnswer, signaling.ASRServerCandidate)
	})
}

func TestCapacityIsAnsweredBeforeTheJoin(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.CheckAvailability, signaling.Empty{})
		got := f.expect(signaling.ServerConnected, signaling.AvailabilityResult)
		expect.Equal(t, got[1].field("available"), true, "got %s", got[1].payload)
		refused := func(by string) {
			t.Helper()
			f.send(signaling.CheckAvailability, signaling.Empty{})
			if got := f.expect(signaling.AvailabilityResult); got[0].field("available") != false {
				t.Errorf("%s: got %s", by, got[0].payload)
			}
		}
		f.hub.calls.Limit.Token = 1
		same := quota.Client{Token: f.s.caller.Client()}
		f.hub.calls.Take(same, 1)
		refused("the limit of the token")
		f.hub.calls.Free(same, 1)
		f.hub.SetExhausted(true)
		refused("no slot")
	})
}

func TestJoinThatIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		context signaling.Context
		event   string
		payload string
	}{
		{"unknown token", signaling.Context{KS: "nonsense"}, signaling.ThrowToBadRequest, `{}`},
		{"token of another partner", signaling.Context{KS: "foreign"}, signaling.ThrowToBadRequest, `{}`},
		{"token that is used up", signaling.Context{KS: "spent"}, signaling.UnsupportedClient, `{"code":"USAGE_LIMIT_EXCEEDED"}`},
		{"somebody else's thread", signaling.Context{KS: "token", ThreadID: "somebody-elses"}, signaling.ThrowToBadRequest, `{}`},
		{"reserved variable", signaling.Context{KS: "token", RequestVars: map[string]any{"sys__ks": "x"}}, signaling.ThrowToBadRequest, `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runSession(t, talkative(), Timing{}, func(f *fixture) {
				f.send(signaling.Join, signaling.NewJoin("room1", "", tt.context))
				if got := f.conn.last(); got.name != tt.event || got.payload != tt.payload {
					t.Errorf("got %v", got)
				}
				f.expectGone()
			})
		})
	}
}

func TestATokenMayEndWhileARecoveryIsChecked(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.join()
		f.expect(signaling.ServerConnected, signaling.ClientConfig, signaling.AgentRawText, signaling.JoinComplete)
		f.conn.token = "renewed"
		f.conn.events <- socketio.Event{Kind: socketio.Connected}
		synctest.Wait()
		f.expect(signaling.ThrowToBadRequest)
		f.expectGone()
	})
}

// TestARecoveryDuringTheJoin has another token than the one that is being checked. The race detector
// looks at it.
func TestARecoveryDuringTheJoin(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.conn.token = "renewed"
		f.s.post(func() {
			f.s.join(signaling.NewJoin("room1", "", signaling.Context{KS: "token"}))
			f.s.returned()
		})
		synctest.Wait()
		f.expectGone()
	})
}

func TestJoinWithoutTokenIsSilent(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.Join, signaling.NewJoin("room1", "", signaling.Context{}))
		f.expect(signaling.ServerConnected)
		f.join() // one that failed does not count
		f.expect(signaling.ClientConfig, signaling.AgentRawText, signaling.JoinComplete)
	})
}

func TestFullServiceRefusesAVideoSession(t *testing.T) {
	for _, tt := range []struct {
		event string
		set   func(*Hub)
	}{
		{signaling.ThrowToNoAgent, func(h *Hub) { h.SetExhausted(true) }},
		{signaling.ThrowToExceededTier, func(h *Hub) { h.SetTierExceeded(true) }},
	} {
		t.Run(tt.event, func(t *testing.T) {
			runSession(t, talkative(), Timing{}, func(f *fixture) {
				f.join()
				tt.set(f.hub)
				f.conn.take()
				f.send(signaling.StvNewSession, signaling.RoomRequest{})
				f.expect(tt.event)
				f.expectGone()
			})
		})
	}
}

func TestFatalEventsByCommand(t *testing.T) {
	for _, event := range signaling.FatalEvents() {
		t.Run(event, func(t *testing.T) {
			openSession(t, talkative(), Timing{}, func(f *fixture) {
				must.Do(t, f.s.Command(f.t.Context(), "fatal", &Request{Event: event}))
				f.expect(event)
				f.expectGone()
			})
		})
	}
}

func TestSocketsThatAreNotUsedAreClosed(t *testing.T) {
	for limit, begin := range map[time.Duration]func(*fixture){DefaultJoin: func(*fixture) {}, DefaultUnusedRoom: (*fixture).join} {
		runSession(t, talkative(), Timing{}, func(f *fixture) {
			begin(f)
			f.wait(limit - time.Second)
			if f.conn.gone() {
				t.Fatalf("closed before %v", limit)
			}
			f.wait(time.Second)
			if !f.conn.gone() {
				t.Errorf("left open after %v", limit)
			}
		})
	}
}

// TestTooLargeEventsAreDropped before they are decoded.
func TestTooLargeEventsAreDropped(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.Join, map[string]any{"channel": "r", "kaltura": map[string]string{"ks": "token"}, "x": strings.Repeat("x", maxEvent)})
		if f.join(); f.s.room == "r" {
			t.Error("the event was handled")
		}
	})
}

// TestAvatarIsSeenAndHeard: the avatar of the agent is drawn and speaks.
func TestAvatarIsSeenAndHeard(t *testing.T) {
	profile := talkative()
	profile.Avatar = &store.AvatarProfile{Face: "Ben", VoiceID: "5ac0000000000000000000b2", VoiceName: "Deep", VoiceLanguage: "en", Speed: 1.2}
	runSession(t, profile, Timing{}, func(f *fixture) {
		f.ready()
		f.send(signaling.ApprovedPermissions, signaling.Approval{})
		f.wait(5 * time.Second)
		expect.Equal(t, f.media.avatar, profile.Avatar, "the picture is of")
		want := voice.Manner{Name: "Deep", ID: "5ac0000000000000000000b2", Language: "en", Speed: 1.2}
		if how := f.voice.how.Load(); how == nil || *how != want {
			t.Errorf("the opening is spoken like %+v, want %+v", how, want)
		}
	})
}

func TestAudioModeOffersTheVoice(t *testing.T) {
	profile := talkative()
	profile.AudioMode = true
	runSession(t, profile, Timing{}, func(f *fixture) {
		f.ready()
		f.conn.take()
		f.send(signaling.StvNewSession, signaling.RoomRequest{})
		got := f.expect(signaling.StvNewSession, signaling.ShowAgent, signaling.AskPermissions, signaling.VoiceOffer)
		expect.Equal(t, got[0].payload, `{"status":"audio/phone mode - no STV session"}`, "reply")
		f.send(signaling.VoiceAnswer, signaling.Answer{Answer: signaling.Description{Type: "answer", SDP: "v=0 client"}})
		expect.Equal(t, f.media.downlink.answer, "v=0 client", "answer")
		f.send(signaling.ApprovedPermissions, signaling.Approval{})
		f.wait(5 * time.Second)
		expect.Equal(t, f.media.downlink.samples, 200, "played samples")
	})
}
