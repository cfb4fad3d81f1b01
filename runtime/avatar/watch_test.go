package avatar

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func clientTool(name, args string) converse.Segment {
	return converse.Segment{
		Type: converse.Tool, Content: name + " " + args,
		ToolMetadata: &converse.ToolMetadata{ID: "inv-" + name, Name: name, Args: json.RawMessage(args), Type: "client"},
	}
}

func text(s string) converse.Segment {
	return converse.Segment{Type: converse.Text, Content: s}
}

// said lists tool calls, refusals, texts and turns in the order of their events.
func (r *rig) said() []string {
	synctest.Wait()
	var list []string
	for _, e := range r.Recorded() {
		switch e := e.(type) {
		case event.ToolCalled:
			list = append(list, "call "+e.ToolCall.Name)
		case event.AgentActionDenied:
			list = append(list, "denied "+e.ToolName)
		case event.BrainSegment:
			if e.Type == converse.Text {
				list = append(list, e.ContentString())
			}
		case event.TurnStarted:
			list = append(list, "turn "+*e.SpeechID)
		case event.TurnEnded:
			list = append(list, "end "+*e.SpeechID)
		}
	}
	return list
}

// TestAHookThatThinksDoesNotReorderPieces (field.md #34): everything after a segment that
// the application decides about waits, turns included.
func TestAHookThatThinksDoesNotReorderPieces(t *testing.T) {
	verdict := make(chan error)
	var seen []string
	o := Options{OnAgentAction: func(_ context.Context, a AgentAction) error {
		payload, err := json.Marshal(a.Payload)
		seen = append(seen, a.Type+" "+a.ToolName+" "+string(payload))
		if a.Call == nil || a.Call.Name != a.ToolName || string(a.Call.Args) != string(payload) || a.Call.Raw == "" {
			t.Errorf("the call of the action is %+v", a.Call)
		}
		if err != nil {
			return err
		}
		return <-verdict
	}}
	run(t, o, func(r *rig) {
		verdict = make(chan error) // of this bubble
		s := r.mustConnect()
		r.Forget()
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "one", TurnID: "t-1", IsNewTurn: true})
		brain(s, "one", text("before"))
		brain(s, "one", clientTool("open", `{"page":1}`))
		brain(s, "one", text("between"))
		brain(s, "one", clientTool("close", `{}`))
		brain(s, "one", text("after"))
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "one", TurnID: "t-1"})
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "two", TurnID: "t-2", IsNewTurn: true})
		s.Say(signaling.AgentInterrupted, signaling.Empty{})

		want := []string{"turn one", "before"}
		if got := r.said(); !slices.Equal(got, want) {
			t.Fatalf("before the first verdict: %q, want %q", got, want)
		}
		expect.Equal(t, len(all[event.Interrupted](r)), 1, "an interruption waited for the application")
		verdict <- nil
		want = append(want, "call open", "between")
		if got := r.said(); !slices.Equal(got, want) {
			t.Fatalf("after the first verdict: %q, want %q", got, want)
		}
		verdict <- errors.New("not here")
		want = append(want, "denied close", "after", "end one", "turn two")
		if got := r.said(); !slices.Equal(got, want) {
			t.Fatalf("after the second verdict: %q, want %q", got, want)
		}
		expect.List(t, seen, []string{`toolCall open {"page":1}`, "toolCall close {}"}, "the hook was asked")
		expect.Equal(t, all[event.AgentActionDenied](r)[0].Reason, "not here", "reason")
	})
}

func TestDisconnectEndsAHookAndForgetsWhatWaits(t *testing.T) {
	o := Options{OnAgentAction: func(ctx context.Context, _ AgentAction) error {
		<-ctx.Done()
		return nil // too late to allow anything
	}}
	run(t, o, func(r *rig) {
		s := r.mustConnect()
		r.Forget()
		brain(s, "one", clientTool("open", `{}`))
		brain(s, "one", text("behind"))
		synctest.Wait()
		r.Disconnect(session.DisconnectOptions{})
		expect.Len(t, r.said(), 0, "heard")
	})
}

func TestAHookThatPanicsRefuses(t *testing.T) {
	run(t, Options{OnAgentAction: func(context.Context, AgentAction) error { panic("bug") }}, func(r *rig) {
		s := r.mustConnect()
		r.Forget()
		brain(s, "one", clientTool("open", `{}`))
		brain(s, "one", text("behind"))
		expect.List(t, r.said(), []string{"denied open", "behind"}, "heard")
	})
}

// TestThePolicyJudgesRecoveredCallsToo: the policy also applies to a call that was fused
// into the segment of another (protocol §10.6).
func TestThePolicyJudgesRecoveredCallsToo(t *testing.T) {
	o := Options{AgentActions: ActionPolicy{Tools: []string{"show"}}}
	run(t, o, func(r *rig) {
		s := r.mustConnect()
		r.Forget()
		brain(s, "one", converse.Segment{Type: converse.Tool, Content: `show {"a":1}{"b":2}`})
		brain(s, "one", converse.Segment{Type: converse.ToolResponse, Content: "erase responded with size 2"})
		expect.List(t, r.said(), []string{"call show", "denied erase"}, "heard")
	})
}

func TestFailEndsTheSession(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		r.Forget()
		r.Fail(errors.New("a callback broke"))
		r.wantEvents("error", "stateChange:disconnected", "ended")
		expect.Equal(t, all[event.Ended](r)[0].Reason, "internal_error", "ended with")
	})
}

// TestPeersThatConnectedDuringTheHandshakeAreNotRepaired: their states are
// reported before the session is connected, and not again.
func TestPeersThatConnectedDuringTheHandshakeAreNotRepaired(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.media.OnPlayable = func(context.Context) (media.Picture, error) {
			r.media.Subscriber.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "connected"})
			r.media.Publisher.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelASR, State: "connected"})
			return media.Picture{Width: 640, Height: 360}, nil
		}
		r.connectOnly()
		time.Sleep(time.Minute)
		expect.Len(t, all[event.MediaRecovering](r), 0, "repaired")
	})
}

// TestASpiralIsOfOneConversation: neither the tools nor the question of an earlier one count in the next.
func TestASpiralIsOfOneConversation(t *testing.T) {
	connectedWith(t, Options{HardToolSpiralLimit: new(3)}, func(r *rig, s *fakeservice.Socket) {
		call := func(times int) {
			for range times {
				brain(s, "a", clientTool("open", `{}`))
			}
			synctest.Wait()
		}
		r.say("Hello")
		call(2)
		r.Disconnect(session.DisconnectOptions{})
		r.must(r.SetToken("next"))
		s = r.mustConnect()
		call(2)
		expect.Len(t, all[event.ToolSpiralRecovering](r), 0, "spirals of two tools")
		call(1)
		expect.List(t, all[event.ToolSpiralRecovering](r), []event.ToolSpiralRecovering{{Count: 3, Limit: 3}}, "spirals of three tools")
	})
}
