//go:build !js

package avatar

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// FuzzService plays any events, in any order, with any payload, before and
// after the connect: a service can end a session, and never break it.
func FuzzService(f *testing.F) {
	names := append(signaling.ServerEvents(), signaling.VoiceOffer, signaling.VoiceCandidate)
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
				s.Push(socketio.Event{Kind: socketio.Message, Name: name, Args: socketio.Args{line[1:]}})
				synctest.Wait()
			}
			for _, e := range all[event.Failed](r) {
				if e.Code == fault.InternalError {
					t.Errorf("%v", e.Error)
				}
			}
		})
	})
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
		seg := parseDelta(signaling.RawText{SpeechID: "a", Delta: delta})
		_, widget := seg.Runtime()
		whole := widget || seg.Type == converse.Tool // JSON, which is not cut
		if text, ok := seg.Content.(string); ok && text != converse.Clean(text) && !(whole && len(text) > converse.MaxText) {
			t.Errorf("content %q of %q is not clean", text, delta)
		}
		if b, err := json.Marshal(event.BrainSegment{Segment: seg}); err != nil {
			t.Errorf("%q gives what can't be handed on: %s, %v", delta, b, err)
		}
		actionOf(&seg)
		perceivable(&seg)
	})
}
