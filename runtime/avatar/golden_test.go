package avatar

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestEveryClientEventIsProduced is the other half of the golden list: what the
// catalogue says a client sends, a session does send.
func TestEveryClientEventIsProduced(t *testing.T) {
	run(t, Options{Debug: true}, func(r *rig) {
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			s.Say(signaling.ClientConfig, signaling.Configuration{IsTapToTalk: true, IsScreenShareEnabled: true, IsCameraAnalysisEnabled: true})
			s.Say(signaling.JoinComplete, signaling.Empty{})
		}
		s := r.mustConnect()
		r.media.Publisher.Notify(media.Event{Kind: media.Candidate, Channel: event.ChannelASR, Candidate: &signaling.Candidate{Candidate: "candidate:1 1 udp 1 127.0.0.1 9 typ host"}})
		r.say("Hello")
		for name, call := range map[string]func() error{
			"tap":     r.StartTapToTalk,
			"vars":    func() error { return r.UpdateRequestVars(map[string]any{"a": 1}) },
			"click":   func() error { return r.NotifyHTMLElementClick(map[string]any{"htmlText": "<b>"}) },
			"form":    func() error { return r.SubmitStructuredDataForm(map[string]any{"email": "a@b.example"}) },
			"picture": func() error { return r.SendScreenShot([]byte{0xff, 0xd8}) },
			"camera":  func() error { return r.SendCameraShot([]byte{0xff, 0xd8}) },
		} {
			expect.Equal(t, call(), nil, "%s", name)
		}
		synctest.Wait()
		r.must(r.EndTapToTalk())
		r.Mute()
		r.Unmute()
		r.must(r.Pause())
		synctest.Wait()
		r.must(r.Resume(context.Background()))
		synctest.Wait()
		sent := s.Names()
		for _, name := range signaling.ClientEvents() {
			if !slices.Contains(sent, name) {
				t.Errorf("%s was never sent", name)
			}
		}
		for _, name := range sent {
			if name != signaling.VoiceAnswer && !slices.Contains(signaling.ClientEvents(), name) {
				t.Errorf("%s is not in the catalogue", name)
			}
		}
	})
}

// TestALongDeltaIsCut as protocol §4.4 says, and a tool call is not.
func TestALongDeltaIsCut(t *testing.T) {
	long := strings.Repeat("x", converse.MaxText)
	for delta, want := range map[string]string{
		`{"type":"avatar","content":"` + long + `y"}`: long,
		long + "y": long,
		`{"type":"tool","content":"go {\"page\":\"` + long + `\"}"}`: `go {"page":"` + long + `"}`,
	} {
		seg := parseDelta(signaling.RawText{Delta: delta})
		if got := seg.ContentString(); got != want {
			t.Errorf("%.40s: %d characters, want %d", delta, len(got), len(want))
		}
	}
}
