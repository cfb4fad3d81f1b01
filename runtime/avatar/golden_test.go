package avatar

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestEveryClientEventIsProduced is the other half of the golden list: what the
// catalogue says a client sends, a session does send.
func TestEveryClientEventIsProduced(t *testing.T) {
	run(t, Options{Debug: true}, func(r *rig) {
		r.service.answer[control.Join] = func(s *fakeSocket, _ sent) {
			s.say(control.ClientConfig, control.Configuration{IsTapToTalk: true, IsScreenShareEnabled: true})
			s.say(control.JoinComplete, control.Empty{})
		}
		s := r.mustConnect()
		r.media.up.notify(media.Event{Kind: media.Candidate, Channel: media.ChannelASR, Candidate: &control.Candidate{Candidate: "candidate:1 1 udp 1 127.0.0.1 9 typ host"}})
		if _, err := r.Speak(context.Background(), "Hello"); err != nil {
			r.t.Fatal(err)
		}
		for name, call := range map[string]func() error{
			"tap":     r.StartTapToTalk,
			"vars":    func() error { return r.UpdateRequestVars(map[string]any{"a": 1}) },
			"click":   func() error { return r.NotifyHTMLElementClick(map[string]any{"htmlText": "<b>"}) },
			"form":    func() error { return r.SubmitStructuredDataForm(map[string]any{"email": "a@b.example"}) },
			"picture": func() error { return r.SendScreenShot([]byte{0xff, 0xd8}) },
		} {
			if err := call(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		synctest.Wait()
		if err := r.EndTapToTalk(); err != nil {
			t.Error(err)
		}
		r.Mute()
		r.Unmute()
		if err := r.Pause(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := r.Resume(context.Background()); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		sent := s.names()
		for _, name := range control.ClientEvents() {
			if !slices.Contains(sent, name) {
				t.Errorf("%s was never sent", name)
			}
		}
		for _, name := range sent {
			if name != control.VoiceAnswer && !slices.Contains(control.ClientEvents(), name) {
				t.Errorf("%s is not in the catalogue", name)
			}
		}
	})
}

// FuzzService plays any events, in any order, with any payload, before and
// after the connect: a service can end a session, and never break it.
func FuzzService(f *testing.F) {
	names := append(control.ServerEvents(), control.VoiceOffer, control.VoiceCandidate)
	f.Add([]byte("\x00{}\x01{}"))
	f.Add([]byte("\x0d{\"delta\":\"{\\\"type\\\":\\\"tool\\\",\\\"content\\\":\\\"a {}{}\\\"}\"}"))
	for i := range names {
		f.Add(append([]byte{byte(i)}, []byte(`{"speechId":"a-wake-up","text":"x","durationMs":1e400,"delta":"{","isNewTurn":true}`)...))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		run(t, Options{Options: session.Options{RequestVars: map[string]any{"a": 1}}}, func(r *rig) {
			s := r.mustConnect()
			// A line is an event: its first byte names it, the rest is the payload.
			for line := range bytes.SplitSeq(script, []byte("\n")) {
				if len(line) == 0 {
					continue
				}
				name := names[int(line[0])%len(names)]
				s.push(socketio.Event{Kind: socketio.Message, Name: name, Args: socketio.Args{line[1:]}})
				synctest.Wait()
			}
			for _, e := range all[Failed](r) {
				if e.Code == fault.InternalError {
					t.Errorf("%v", e.Error)
				}
			}
		})
	})
}

// TestALongDeltaIsCut as wire-protocol §4.4 says, and a tool call is not.
func TestALongDeltaIsCut(t *testing.T) {
	long := strings.Repeat("x", converse.MaxText)
	for delta, want := range map[string]string{
		`{"type":"avatar","content":"` + long + `y"}`: long,
		long + "y": long,
		`{"type":"tool","content":"go {\"page\":\"` + long + `\"}"}`: `go {"page":"` + long + `"}`,
	} {
		seg := parseDelta(control.RawText{Delta: delta})
		if got := seg.ContentString(); got != want {
			t.Errorf("%.40s: %d characters, want %d", delta, len(got), len(want))
		}
	}
}

// FuzzDelta reads what a brain may stream: any text is one segment, whose
// content can be shown.
func FuzzDelta(f *testing.F) {
	for _, delta := range []string{
		``, `null`, `{`, `plain words`, `{"type":"avatar","content":"Hi"}`, `{"type":7,"content":"Hi"}`,
		`{"type":"interruption","content":{"auth_url":"https://a.example"},"metadata":{"subtype":"oauth_required"}}`,
		`{"type":"tool","content":"a {}{}","tool_metadata":{"id":7,"wait_for_response":"true"}}`,
	} {
		f.Add(delta)
	}
	f.Fuzz(func(t *testing.T, delta string) {
		seg := parseDelta(control.RawText{SpeechID: "a", Delta: delta})
		_, widget := seg.Runtime()
		whole := widget || seg.Type == converse.Tool // JSON, which is not cut
		if text, ok := seg.Content.(string); ok && text != converse.Clean(text) && !(whole && len(text) > converse.MaxText) {
			t.Errorf("content %q of %q is not clean", text, delta)
		}
		if b, err := json.Marshal(BrainSegment{Segment: seg}); err != nil {
			t.Errorf("%q gives what can't be handed on: %s, %v", delta, b, err)
		}
		actionOf(&seg)
		perceivable(&seg)
	})
}
