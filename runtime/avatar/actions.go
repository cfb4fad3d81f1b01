package avatar

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// AgentAction is something the agent starts by itself: a tool call, a widget, a
// navigation or a form (session §A.1.1, onAgentAction).
type AgentAction struct {
	Type        string `json:"type" ts:"'toolCall' | 'genui' | 'navigate' | 'structuredDataForm'"`
	ToolName    string `json:"toolName,omitempty"` // of a toolCall
	Runtime     string `json:"runtime,omitempty"`
	RuntimeName string `json:"runtimeName,omitempty"`
	WidgetName  string `json:"widgetName,omitempty"`
	// Payload is the arguments of a toolCall, else the content of the segment.
	Payload any             `json:"payload,omitempty"`
	Call    *event.ToolCall `json:"call,omitempty"` // of a toolCall
	Source  string          `json:"source" ts:"'agent'"`
}

// actionQueue keeps the brain's segments in order while the application decides about
// one of them: those after it wait.
type actionQueue struct {
	deciding context.CancelCauseFunc // of the hook under way, nil without one
	decided  <-chan struct{}         // closed when that ends
	waiting  []func()
	refused  bool // the widget to which the next fragments belong was refused
}

// inOrder runs f after the segments that arrived before it.
func (s *Session) inOrder(f func()) {
	if s.actions.deciding != nil {
		s.actions.waiting = append(s.actions.waiting, f)
		return
	}
	f()
}

// dropSegments drops the waiting segments when their server-side session is given up.
func (s *Session) dropSegments() {
	if s.actions.deciding != nil {
		s.actions.deciding(canceled(nil))
	}
	s.actions = actionQueue{}
	s.answer.widgets.Discard()
}

// ifAllowed runs f unless the policy or the application refuses action. An action
// without a Type is always allowed (protocol §10.7, session §O14).
func (s *Session) ifAllowed(action AgentAction, f func()) {
	if action.Type == "" {
		f()
		return
	}
	if reason := s.opts.AgentActions.refuses(action.Type, action.ToolName); reason != "" {
		s.deny(action, reason)
		return
	}
	if s.opts.OnAgentAction == nil {
		s.allow(action, f)
		return
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	s.actions.deciding, s.actions.decided = cancel, ctx.Done()
	s.core.Spawn(func() {
		_, err := session.Guarded(func() (any, error) { return nil, s.opts.OnAgentAction(ctx, action) })
		s.core.Work.Post(func() {
			if ctx.Err() != nil { // dropped, with everything that waited for it
				return
			}
			cancel(nil)
			s.actions.deciding = nil
			if err != nil {
				s.deny(action, err.Error())
			} else {
				s.core.Audit("agent.action.allow", "allowed", action.Type)
				s.allow(action, f)
			}
			s.runWaiting()
		})
	})
}

func (s *Session) allow(action AgentAction, f func()) {
	if action.RuntimeName != "" {
		s.actions.refused = false
	}
	f()
}

// runWaiting runs the waiting functions, up to the next that needs a decision.
func (s *Session) runWaiting() {
	for s.actions.deciding == nil && len(s.actions.waiting) > 0 {
		f := s.actions.waiting[0]
		s.actions.waiting = s.actions.waiting[1:]
		f()
	}
}

func (s *Session) deny(action AgentAction, reason string) {
	if action.RuntimeName != "" {
		s.actions.refused = true
	}
	s.core.Audit("agent.action.deny", "denied", reason)
	s.core.Emit(event.AgentActionDenied{Type: action.Type, Reason: reason, ToolName: action.ToolName})
}

// actionOf returns the action that a segment would start; its Type is empty if there
// is none.
func actionOf(seg *converse.Segment) AgentAction {
	switch seg.Type {
	case converse.Tool:
		if call, ok := converse.ParseCall(seg); ok {
			return actionOfCall(call)
		}
	case converse.WidgetPiece:
		if seg.Metadata != nil && seg.Metadata.RuntimeName != "" {
			return actionOfWidget(seg, seg.Metadata.RuntimeName, seg.Metadata.WidgetName)
		}
	case converse.Navigate:
		action := AgentAction{Type: "navigate", Payload: seg.Content, Source: "agent"}
		if payload := seg.Extra["payload"]; seg.ContentString() == "" && payload != nil {
			action.Payload = payload
		}
		return action
	default:
		// A live session may get a widget under its runtime's name
		// (protocol §4.4.2).
		if name := string(seg.Type); converse.KnownRuntime(converse.NormalizeRuntime(name)) {
			return actionOfWidget(seg, name, "")
		}
	}
	return AgentAction{}
}

func actionOfWidget(seg *converse.Segment, runtimeName, widgetName string) AgentAction {
	action := AgentAction{
		Type: "genui", Runtime: converse.NormalizeRuntime(runtimeName), RuntimeName: runtimeName, WidgetName: widgetName,
		Payload: seg.Content, Source: "agent",
	}
	switch action.Runtime {
	case converse.RuntimeShowLink:
		action.Type = "navigate"
	case converse.RuntimeUserPropertiesForm:
		action.Type = "structuredDataForm"
	}
	return action
}

func actionOfCall(call converse.Call) AgentAction {
	whole := session.CallOf(call)
	return AgentAction{Type: "toolCall", ToolName: call.Name, Payload: call.Args, Call: &whole, Source: "agent"}
}

// refuses returns why the policy refuses an action, "" if it does not.
func (p ActionPolicy) refuses(action, tool string) string {
	switch {
	case action == "navigate" && off(p.Navigate),
		action == "genui" && off(p.GenUI),
		action == "structuredDataForm" && off(p.StructuredDataForm),
		action == "toolCall" && off(p.ToolCalls):
		return action + " is switched off"
	case action == "toolCall" && p.Tools != nil && !slices.Contains(p.Tools, tool):
		return "the tool " + tool + " is not on the list"
	}
	return ""
}

func off(allowed *bool) bool { return allowed != nil && !*allowed }

// answerState is what a turn showed the visitor.
type answerState struct {
	widgets     converse.Assembler // the one that is not complete yet
	perceived   bool               // something was perceived in this turn
	silentTools int                // tool segments since the visitor last perceived anything
}

// spiralPrefix begins a question that is asked again after a spiral
// (protocol §8.7).
const spiralPrefix = "Please answer in words only this turn, without calling any tool. "

// countTool rebuilds the session when the brain has called so many tools without
// showing anything that only a rebuild helps (protocol §8.7).
func (s *Session) countTool() {
	s.answer.silentTools++
	hard := *s.opts.HardToolSpiralLimit
	if hard <= 0 || s.answer.silentTools < hard || s.phase != live {
		return
	}
	question := s.turn.lastText
	s.core.Emit(event.ToolSpiralRecovering{Count: s.answer.silentTools, Limit: hard, LastTurnText: question})
	s.core.Audit("tool.spiral_hard_recovery", "recovering", "")
	s.answer.silentTools = 0
	s.core.SetPending(false)
	if *s.opts.RecoverFromSpiral && question != "" {
		s.recovery.question = question
	}
	s.handle(toolSpiral, cause{reason: "tool_spiral_hard_limit"})
}

// askAgain sends the question that a tool spiral left unanswered again, after the opening.
func (s *Session) askAgain() {
	question := s.recovery.question
	s.recovery.question = ""
	if question == "" {
		return
	}
	ctx := s.core.Life
	s.core.Spawn(func() {
		text, err := s.guard(ctx, spiralPrefix+question, "spiralRecovery")
		s.core.Work.Post(func() {
			switch {
			case ctx.Err() != nil: // the session ended
			case err != nil:
				s.core.Log("warn", "the lost question is not asked again: "+err.Error(), nil)
			default:
				s.outbox.addFirst(&waitingText{text: text, hidden: true, done: func(sent bool) {
					if sent {
						s.core.Emit(event.SpiralRecovered{Text: question})
					}
				}})
			}
		})
	})
}

// perceived resets the counter and the watchdog of silence.
func (s *Session) perceived() {
	s.answer.silentTools = 0
	s.answer.perceived = true
	s.core.Stall.Disarm()
}
