package live

import (
	"context"
	"log/slog"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// FuzzEvents gives a session whatever a client may send, in any state. It must
// neither panic nor keep more than one utterance, one microphone and one
// downlink.
func FuzzEvents(f *testing.F) {
	for _, event := range append(signaling.ClientEvents(), signaling.VoiceAnswer, signaling.VoiceCandidate, "unknown") {
		for _, payload := range []string{
			`{}`, `null`, `[]`, `"x"`, `{"text":"Hello","isFinal":true}`, `{"text":"","isSpeechStart":true}`,
			`{"channel":"r","kaltura":{"ks":"token","request_vars":{"a":1}}}`, `{"request_vars":{"a":{"b":1}}}`,
			`{"offer":{"type":"offer","sdp":"v=0"},"is_reconnect":true}`, `{"candidate":{"candidate":"x"}}`,
			`{"data":"/9j/"}`, `{"htmlText":"Buy"}`, `{"email":"x@example.com"}`,
		} {
			f.Add(uint8(7), event, payload)
		}
	}
	f.Add(uint8(0), signaling.ApprovedPermissions, `{}`)
	f.Add(uint8(0), signaling.ScreenShareShot, `{"data":"/9j/"}`)
	f.Add(uint8(0), signaling.CameraShot, `{"data":"/9j/"}`)
	f.Add(uint8(3), signaling.StvNewSession, `{}`)
	f.Add(uint8(15), signaling.TapToTalkStart, `{}`)
	f.Add(uint8(23), signaling.StvNewSession, `{}`)
	f.Add(uint8(39), signaling.ResumeConversation, `{}`)
	f.Fuzz(func(t *testing.T, state uint8, event, payload string) {
		profile := talkative()
		profile.TapToTalk, profile.AudioMode, profile.ScreenShare = state&8 != 0, state&16 != 0, true
		media := &fakeMedia{}
		hub := NewHub(Config{
			Dialogue: &fakeBrain{profile: profile}, Threads: &fakeBrain{}, Tokens: fakeTokens{}, Voice: &fakeVoice{}, Media: media, Calls: quota.Limit{Total: 1},
			Work: &quota.Pace{}, Logger: slog.New(slog.DiscardHandler),
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := newSession(ctx, hub, &fakeConn{events: make(chan socketio.Event)})
		s.token = "token"
		s.caller, _ = mintedClaims("agentid:a1,geniegpcid:7")
		if s.joined = state&1 != 0; s.joined {
			s.profile = &profile
			s.approved, s.paused = state&2 != 0, state&4 != 0 && state&32 != 0
		}
		if state&4 != 0 {
			s.newVideoSession()
			s.startMicrophone()
		}
		for range 2 {
			s.handle(event, jsonArgs{[]byte(payload)}, nil)
			for _, message := range s.take() {
				message()
			}
		}
		if media.open > 2 {
			t.Errorf("%d peers are open", media.open)
		}
		s.close()
		if media.open != 0 || hub.calls.Total() != 0 {
			t.Errorf("%d peers and %d slots were left", media.open, hub.calls.Total())
		}
	})
}
