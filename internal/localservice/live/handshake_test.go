package live

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/runtime/control"
)

func TestHandshakeOrder(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.join()
		got := st.expect(control.ServerConnected, control.ClientConfig, control.AgentRawText, control.JoinComplete)
		const first = `{"speechId":"","turnId":"","delta":"{\"role\":\"assistant\",\"type\":\"init_response\",\"content\":\"\",` +
			`\"segmentNumber\":0,\"et\":0,\"threadId\":\"thread1\",\"messageId\":\"m0\",\"openingPhrase\":\"Hello there.\"}"}`
		if got[2].payload != first {
			t.Errorf("first segment\n%s, want\n%s", got[2].payload, first)
		}
		st.join()
		st.expect() // joining twice gives no reply

		st.send(control.StvNewSession, control.RoomRequest{RoomID: "room1"})
		got = st.expect(control.StvNewSession, control.ShowAgent, control.AskPermissions)
		if got[0].field("status") != "session started" {
			t.Errorf("reply %s", got[0].payload)
		}

		st.send(control.ASRInit, control.ASRInitRequest{SessionID: "socket1"})
		st.send(control.ASROffer, control.Offer{Offer: control.Description{Type: "offer", SDP: "v=0"}})
		st.expect(control.ASRReady, control.ASRAnswer, control.ASRServerCandidate)
	})
}

func TestCapacityIsAnsweredBeforeTheJoin(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.send(control.CheckAvailability, control.Empty{})
		got := st.expect(control.ServerConnected, control.AvailabilityResult)
		if got[1].field("available") != true {
			t.Errorf("got %s", got[1].payload)
		}
		st.hub.SetExhausted(true)
		st.send(control.CheckAvailability, control.Empty{})
		if got := st.expect(control.AvailabilityResult); got[0].field("available") != false {
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
			play(t, talkative(), Timing{}, func(st *stage) {
				st.send(control.Join, control.NewJoin("room1", "", tt.context))
				if got := st.conn.last(); got.name != tt.event || got.payload != tt.payload {
					t.Errorf("got %v", got)
				}
				if !st.conn.gone() {
					t.Error("the socket was left open")
				}
			})
		})
	}
}

func TestJoinWithoutTokenIsSilent(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.send(control.Join, control.NewJoin("room1", "", control.Context{}))
		st.expect(control.ServerConnected)
		st.join() // one that failed does not count
		st.expect(control.ClientConfig, control.AgentRawText, control.JoinComplete)
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
			play(t, talkative(), Timing{}, func(st *stage) {
				st.join()
				tt.set(st.hub)
				st.conn.take()
				st.send(control.StvNewSession, control.RoomRequest{})
				st.expect(tt.event)
				if !st.conn.gone() {
					t.Error("the socket was left open")
				}
			})
		})
	}
}

func TestFatalEventsByCommand(t *testing.T) {
	for _, event := range control.FatalEvents() {
		t.Run(event, func(t *testing.T) {
			play(t, talkative(), Timing{}, func(st *stage) {
				st.open()
				if err := st.s.Fatal(st.t.Context(), event, ""); err != nil {
					t.Fatal(err)
				}
				st.expect(event)
				if !st.conn.gone() {
					t.Error("the socket was left open")
				}
			})
		})
	}
}

func TestUnusedRoomIsClosed(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.join()
		st.wait(DefaultUnusedRoom - time.Second)
		if st.conn.gone() {
			t.Fatal("closed too early")
		}
		st.wait(time.Second)
		if !st.conn.gone() {
			t.Error("the room was left open")
		}
	})
}

func TestAudioModeOffersTheVoice(t *testing.T) {
	profile := talkative()
	profile.AudioMode = true
	play(t, profile, Timing{}, func(st *stage) {
		st.ready()
		st.conn.take()
		st.send(control.StvNewSession, control.RoomRequest{})
		got := st.expect(control.StvNewSession, control.ShowAgent, control.AskPermissions, control.VoiceOffer)
		if want := `{"status":"audio/phone mode - no STV session"}`; got[0].payload != want {
			t.Errorf("reply %s, want %s", got[0].payload, want)
		}
		st.send(control.VoiceAnswer, control.Answer{Answer: control.Description{Type: "answer", SDP: "v=0 client"}})
		if st.media.downlink.answer != "v=0 client" {
			t.Errorf("answer %q", st.media.downlink.answer)
		}
		st.send(control.ApprovedPermissions, control.Approval{})
		st.wait(5 * time.Second)
		if st.media.downlink.samples != 200 {
			t.Errorf("played %d samples, want the 200 of the opening", st.media.downlink.samples)
		}
	})
}
