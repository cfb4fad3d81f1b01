package live

import (
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/runtime/control"
)

func TestHandshakeOrder(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.join()
		got := f.expect(control.ServerConnected, control.ClientConfig, control.AgentRawText, control.JoinComplete)
		const first = `{"speechId":"","turnId":"","delta":"{\"role\":\"assistant\",\"type\":\"init_response\",\"content\":\"\",` +
			`\"segmentNumber\":0,\"et\":0,\"threadId\":\"thread1\",\"messageId\":\"m0\",\"openingPhrase\":\"Hello there.\"}"}`
		if got[2].payload != first {
			t.Errorf("first segment\n%s, want\n%s", got[2].payload, first)
		}
		f.join()
		f.expect() // joining twice gives no reply

		f.send(control.StvNewSession, control.RoomRequest{RoomID: "room1"})
		got = f.expect(control.StvNewSession, control.ShowAgent, control.AskPermissions)
		if got[0].field("status") != "session started" {
			t.Errorf("reply %s", got[0].payload)
		}

		f.send(control.ASRInit, control.ASRInitRequest{SessionID: "socket1"})
		f.send(control.ASROffer, control.Offer{Offer: control.Description{Type: "offer", SDP: "v=0"}})
		f.expect(control.ASRReady, control.ASRAnswer, control.ASRServerCandidate)
	})
}

func TestCapacityIsAnsweredBeforeTheJoin(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(control.CheckAvailability, control.Empty{})
		got := f.expect(control.ServerConnected, control.AvailabilityResult)
		if got[1].field("available") != true {
			t.Errorf("got %s", got[1].payload)
		}
		f.hub.SetExhausted(true)
		f.send(control.CheckAvailability, control.Empty{})
		if got := f.expect(control.AvailabilityResult); got[0].field("available") != false {
			t.Errorf("got %s", got[0].payload)
		}
	})
}

func TestJoinThatIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		context control.Context
		event   string
		payload string
	}{
		{"unknown token", control.Context{KS: "nonsense"}, control.ThrowToBadRequest, `{}`},
		{"token of another partner", control.Context{KS: "foreign"}, control.ThrowToBadRequest, `{}`},
		{"token that is used up", control.Context{KS: "spent"}, control.UnsupportedClient, `{"code":"USAGE_LIMIT_EXCEEDED"}`},
		{"somebody else's thread", control.Context{KS: "token", ThreadID: "somebody-elses"}, control.ThrowToBadRequest, `{}`},
		{"reserved variable", control.Context{KS: "token", RequestVars: map[string]any{"sys__ks": "x"}}, control.ThrowToBadRequest, `{}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runSession(t, talkative(), Timing{}, func(f *fixture) {
				f.send(control.Join, control.NewJoin("room1", "", tt.context))
				if got := f.conn.last(); got.name != tt.event || got.payload != tt.payload {
					t.Errorf("got %v", got)
				}
				if !f.conn.gone() {
					t.Error("the socket was left open")
				}
			})
		})
	}
}

func TestJoinWithoutTokenIsSilent(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(control.Join, control.NewJoin("room1", "", control.Context{}))
		f.expect(control.ServerConnected)
		f.join() // one that failed does not count
		f.expect(control.ClientConfig, control.AgentRawText, control.JoinComplete)
	})
}

func TestFullServiceRefusesAVideoSession(t *testing.T) {
	for _, tt := range []struct {
		event string
		set   func(*Hub)
	}{
		{control.ThrowToNoAgent, func(h *Hub) { h.SetExhausted(true) }},
		{control.ThrowToExceededTier, func(h *Hub) { h.SetTierExceeded(true) }},
	} {
		t.Run(tt.event, func(t *testing.T) {
			runSession(t, talkative(), Timing{}, func(f *fixture) {
				f.join()
				tt.set(f.hub)
				f.conn.take()
				f.send(control.StvNewSession, control.RoomRequest{})
				f.expect(tt.event)
				if !f.conn.gone() {
					t.Error("the socket was left open")
				}
			})
		})
	}
}

func TestFatalEventsByCommand(t *testing.T) {
	for _, event := range control.FatalEvents() {
		t.Run(event, func(t *testing.T) {
			runSession(t, talkative(), Timing{}, func(f *fixture) {
				f.open()
				if err := f.s.Fatal(f.t.Context(), event, ""); err != nil {
					t.Fatal(err)
				}
				f.expect(event)
				if !f.conn.gone() {
					t.Error("the socket was left open")
				}
			})
		})
	}
}

func TestSocketThatDoesNotJoinIsClosed(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.wait(DefaultJoin - time.Second)
		if f.conn.gone() {
			t.Fatal("closed too early")
		}
		f.wait(time.Second)
		if !f.conn.gone() {
			t.Error("the socket was left open")
		}
	})
}

// TestTooLargeEventsAreDropped before they are decoded.
func TestTooLargeEventsAreDropped(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(control.Join, map[string]any{"channel": "r", "kaltura": map[string]string{"ks": "token"}, "x": strings.Repeat("x", maxEvent)})
		if f.join(); f.s.room == "r" {
			t.Error("the event was handled")
		}
	})
}

func TestUnusedRoomIsClosed(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.join()
		f.wait(DefaultUnusedRoom - time.Second)
		if f.conn.gone() {
			t.Fatal("closed too early")
		}
		f.wait(time.Second)
		if !f.conn.gone() {
			t.Error("the room was left open")
		}
	})
}

// TestAvatarIsSeenAndHeard: the avatar of the agent is drawn and speaks.
func TestAvatarIsSeenAndHeard(t *testing.T) {
	profile := talkative()
	profile.Avatar = &store.AvatarProfile{Face: "Ben", VoiceID: "5ac0000000000000000000b2", VoiceName: "Deep", VoiceLanguage: "en", Speed: 1.2}
	runSession(t, profile, Timing{}, func(f *fixture) {
		f.ready()
		f.send(control.ApprovedPermissions, control.Approval{})
		f.wait(5 * time.Second)
		if f.media.avatar != profile.Avatar {
			t.Errorf("the picture is of %+v", f.media.avatar)
		}
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
		f.send(control.StvNewSession, control.RoomRequest{})
		got := f.expect(control.StvNewSession, control.ShowAgent, control.AskPermissions, control.VoiceOffer)
		if want := `{"status":"audio/phone mode - no STV session"}`; got[0].payload != want {
			t.Errorf("reply %s, want %s", got[0].payload, want)
		}
		f.send(control.VoiceAnswer, control.Answer{Answer: control.Description{Type: "answer", SDP: "v=0 client"}})
		if f.media.downlink.answer != "v=0 client" {
			t.Errorf("answer %q", f.media.downlink.answer)
		}
		f.send(control.ApprovedPermissions, control.Approval{})
		f.wait(5 * time.Second)
		if f.media.downlink.samples != 200 {
			t.Errorf("played %d samples, want the 200 of the opening", f.media.downlink.samples)
		}
	})
}
