package avatar

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
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
			lose(s)
			return r.service.Socket(r.service.Dialled() - 1)
		}},
		"switched off": {options: Options{AgentActions: ActionPolicy{GenUI: new(bool)}}},
		"refused":      {options: Options{OnAgentAction: refuse}},
	} {
		t.Run(name, func(t *testing.T) {
			connectedWith(t, c.options, func(r *rig, s *fakeservice.Socket) {
				applySegment(s, "followups-tool", `{"questions":["Why?"`)
				if c.cut != nil {
					s = c.cut(r, s)
				} else {
					applySegment(s, "", `]}`)
				}
				s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "a"})
				expect.Len(t, all[event.WidgetShown](r), 0, "shown")
				applySegment(s, "sources-tool", `{"sources":[{"title":"Guide"}]}`)
				s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "b"})
				want := 1
				if c.cut == nil {
					want = 0
				}
				expect.Len(t, all[event.WidgetShown](r), want, "of the next turn")
			})
		})
	}
}

// TestThePolicyKnowsWidgetsByEitherName (protocol §4.4.2), and drops the
// later fragments of a widget that it refused.
func TestThePolicyKnowsWidgetsByEitherName(t *testing.T) {
	o := Options{AgentActions: ActionPolicy{Navigate: new(bool)}}
	connectedWith(t, o, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		brain(s, "a", converse.Segment{Type: "show-link", Content: "url: x"})
		brain(s, "a", converse.Segment{Type: converse.WidgetPiece, Metadata: &converse.Metadata{RuntimeName: "show-link-tool"}, Content: "url: "})
		brain(s, "a", converse.Segment{Type: converse.WidgetPiece, Content: "x"})
		brain(s, "a", converse.Segment{Type: converse.WidgetPiece, Metadata: &converse.Metadata{RuntimeName: "followups-tool"}, Content: "["})
		brain(s, "a", converse.Segment{Type: converse.WidgetPiece, Content: "]"})
		if d := all[event.AgentActionDenied](r); len(d) != 2 || d[0].Type != "navigate" || d[1].Type != "navigate" {
			t.Errorf("denied %+v", d)
		}
		var got []string
		for _, b := range all[event.BrainSegment](r) {
			got = append(got, b.ContentString())
		}
		expect.List(t, got, []string{"[", "]"}, "passed")
	})
}

// TestANavigationCanBeRefused: a segment of the type navigate is an action like a link that is
// shown (page-helpers G.3), refused by the policy and by the hook, which gets where it leads.
func TestANavigationCanBeRefused(t *testing.T) {
	there := func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		brain(s, "a", converse.Segment{Type: converse.Navigate, Content: json.RawMessage(`{"url":"/a"}`)})
		s.Say(signaling.AgentRawText, signaling.RawText{SpeechID: "a", TurnID: "t-1", Delta: `{"role":"assistant","type":"navigate","payload":"/b"}`})
		brain(s, "a", converse.Segment{Type: converse.Avatar, Content: "Here."})
		if d := all[event.AgentActionDenied](r); len(d) != 2 || d[0].Type != "navigate" || d[1].Type != "navigate" {
			t.Errorf("denied %+v", d)
		}
		if b := all[event.BrainSegment](r); len(b) != 1 || b[0].Type != converse.Avatar {
			t.Errorf("passed %+v", b)
		}
	}
	run(t, Options{AgentActions: ActionPolicy{Navigate: new(bool)}}, func(r *rig) { there(r, r.mustConnect()) })
	var asked []string
	veto := func(_ context.Context, action AgentAction) error {
		payload, err := json.Marshal(action.Payload)
		asked = append(asked, action.Type+" "+string(payload))
		return cmp.Or(err, errors.New("no"))
	}
	run(t, Options{OnAgentAction: veto}, func(r *rig) { there(r, r.mustConnect()) })
	expect.List(t, asked, []string{`navigate {"url":"/a"}`, `navigate "/b"`}, "asked about")
}
