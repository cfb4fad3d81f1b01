package avatar

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// applySegment sends one fragment of a widget. Only the first names the widget.
func applySegment(s *fakeservice.Socket, runtime, content string) {
	seg := map[string]any{"type": converse.WidgetPiece, "content": content}
	if runtime != "" {
		seg["metadata"] = map[string]any{"runtimeName": runtime, "widgetName": runtime + "-widget"}
	}
	s.Segment(seg)
}

// TestAWidgetComesInPiecesAndIsShownOnce, after its fragments and before the end of the
// turn that completes it.
func TestAWidgetComesInPiecesAndIsShownOnce(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		applySegment(s, "followups-tool", `{"questions":["Why?",`)
		applySegment(s, "", `"How?"]}`)
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "a"})
		s.Say(signaling.StvFinishedGenerating, signaling.FinishedGenerating{SpeechID: "a"})
		r.wantEvents("brainSegment", "brainSegment", "widget", "turnEnd")
		got := all[event.WidgetShown](r)
		if len(got) != 1 {
			t.Fatalf("shown %+v", got)
		}
		w := got[0]
		if w.Runtime != converse.RuntimeFollowups || w.WidgetName != "followups-tool-widget" || w.SpeechID != "a" ||
			w.Followups == nil || !slices.Equal(w.Followups.Questions, []string{"Why?", "How?"}) {
			t.Errorf("shown %+v", w)
		}
	})
}

// TestAMalformedWidgetIsShownAsAnError, in its place: when another cuts it off, and at the
// end of the turn.
func TestAMalformedWidgetIsShownAsAnError(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		applySegment(s, "followups-tool", `{"questions":["Why`)
		applySegment(s, "sources-tool", `{"sources":[{"title":"Gu`)
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "a"})
		r.wantEvents("brainSegment", "brainSegment", "widget", "widget", "turnEnd")
		got := all[event.WidgetShown](r)
		if len(got) != 2 || got[0].Runtime != converse.RuntimeFollowups || got[0].Error == "" || got[0].Raw != `{"questions":["Why` ||
			got[1].Runtime != converse.RuntimeSources || got[1].Error == "" {
			t.Errorf("shown %+v", got)
		}
	})
}

// TestAWidgetThatNobodyWaitsForIsNotShown: its turn was cut, its session is gone,
// or the application refused it.
func TestAWidgetThatNobodyWaitsForIsNotShown(t *testing.T) {
	refuse := func(_ context.Context, a AgentAction) error {
		if a.Type == "genui" {
			return errors.New("no widgets here")
		}
		return nil
	}
	for name, c := range map[string]struct {
		options Options
		cut     func(r *rig, s *fakeservice.Socket) *fakeservice.Socket
	}{
		"interrupted": {cut: func(_ *rig, s *fakeservice.Socket) *fakeservice.Socket {
			s.Say(signaling.AgentInterrupted, signaling.Empty{})
			return s
		}},
		"rebuilt": {cut: func(r *rig, s *fakeservice.Socket) *fakeservice.Socket {
			synctest.Wait()
			s.Drop(socketio.TransportClose)
			s.Back(false)
			synctest.Wait()
			return r.service.Socket(r.service.Dialled() - 1)
		}},
		"switched off": {options: Options{AgentActions: ActionPolicy{GenUI: new(bool)}}},
		"refused":      {options: Options{OnAgentAction: refuse}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, c.options, func(r *rig) {
				s := r.mustConnect()
				applySegment(s, "followups-tool", `{"questions":["Why?"`)
				if c.cut != nil {
					s = c.cut(r, s)
				} else {
					applySegment(s, "", `]}`)
				}
				s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "a"})
				if got := all[event.WidgetShown](r); len(got) != 0 {
					t.Errorf("shown %+v", got)
				}
				applySegment(s, "sources-tool", `{"sources":[{"title":"Guide"}]}`)
				s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "b"})
				want := 1
				if c.cut == nil {
					want = 0
				}
				if got := all[event.WidgetShown](r); len(got) != want {
					t.Errorf("of the next turn: %+v", got)
				}
			})
		})
	}
}
