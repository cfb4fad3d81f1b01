package dialogue

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/toolrun"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Bounds of one answer, against a brain that does not stop.
const (
	maxAnswer  = 64 << 10 // bytes of spoken text
	maxWidgets = 1 << 20  // bytes of widgets
	maxCalls   = 64       // tool calls
)

// widgetName is the widget family of everything that brains show here
// (protocol §4.4.2).
const widgetName = "unisphere.widget.genie"

// followupsWidget is the runtime of the widget with follow-up questions.
const followupsWidget = "followups"

// offers reads the questions of a followups widget: JSON, or lines of a list
// (protocol §4.4.3).
func offers(body string) (questions []string) {
	var object struct{ Questions []string }
	if json.Unmarshal([]byte(body), &object) == nil {
		return object.Questions
	}
	for line := range strings.Lines(body) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			questions = append(questions, strings.Trim(strings.TrimSpace(item), `"`))
		}
	}
	return questions
}

// widgetPart is the type of a stored widget.
const widgetPart = string(converse.WidgetPiece)

// sink makes segments of a brain's answer, and keeps the parts that are stored in the
// history. Blocks are numbered: pieces of one block share a number, the first carries
// segmentStart, the last segmentEnd (local-service choice B8).
type sink struct {
	ctx       context.Context // of the turn: nothing is sent after it ends
	service   *Service
	who       Caller
	vars      map[string]any // of templates
	emit      func(converse.Segment) error
	began     time.Time
	threadID  string
	messageID string
	avatar    bool
	thinking  bool // think_process is on

	number int           // of the next block
	open   converse.Type // of the spoken block that has not ended, "" when none
	sent   int
	lost   error // why the client can't be reached any more
	calls  int
	shown  int // bytes of widgets
	shared bool
	title  string

	draft   *draft
	mu      sync.Mutex      // guards what follows, which the draft reads
	text    strings.Builder // of everything spoken
	parts   []store.Part    // of text, and the widgets
	inParts int             // bytes of text that are in parts
	offered []string        // follow-up questions
}

var _ brain.Sink = (*sink)(nil)

// spoken is the type of the main answer on this transport.
func (s *sink) spoken() converse.Type {
	if s.avatar {
		return converse.Avatar
	}
	return converse.Text
}

// send sends a segment with the fields that every segment has. The first one carries
// the ids.
func (s *sink) send(seg converse.Segment) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	seg.Role = "assistant"
	seg.SegmentNumber = s.number
	seg.Elapsed = float64(time.Since(s.began).Milliseconds()) / 1000
	if s.sent == 0 {
		seg.ThreadID, seg.MessageID = s.threadID, s.messageID
	}
	s.sent++
	s.lost = s.emit(seg)
	return s.lost
}

// block sends a block of one segment.
func (s *sink) block(seg converse.Segment) error {
	if err := s.close(); err != nil {
		return err
	}
	defer func() { s.number++ }()
	return s.send(seg)
}

// close ends the spoken block. Its last piece is empty: brains do not mark
// their last piece, and holding one back would delay the voice.
func (s *sink) close() error {
	if s.open == "" {
		return nil
	}
	seg := converse.Segment{Type: s.open, Content: "", SegmentEnd: true}
	s.open = ""
	defer func() { s.number++ }()
	return s.send(seg)
}

func (s *sink) begin() error {
	return s.block(converse.Segment{Type: converse.Think, Content: "", SegmentStart: true})
}

func (s *sink) end() error {
	return s.block(converse.Segment{Type: converse.Think, Content: "", IsFinal: true})
}

func (s *sink) fail(message string) error {
	return s.block(converse.Segment{Type: converse.Error, Content: message, IsFinal: true})
}

// Think implements [brain.Sink].
func (s *sink) Think(text string) error {
	if !s.thinking {
		return s.ctx.Err()
	}
	return s.block(converse.Segment{Type: converse.Think, Content: text})
}

// Say implements [brain.Sink].
func (s *sink) Say(piece string) error { return s.say(s.spoken(), piece) }

// Filler implements [brain.Sink].
func (s *sink) Filler(text string) error {
	if err := s.say(converse.AvatarFiller, text); err != nil {
		return err
	}
	return s.close()
}

func (s *sink) say(kind converse.Type, piece string) error {
	if piece == "" {
		return s.ctx.Err()
	}
	if s.text.Len()+len(piece) > maxAnswer {
		return &brain.Failure{Message: "The answer was too long."}
	}
	start := s.open != kind
	if start {
		if err := s.close(); err != nil {
			return err
		}
		s.open = kind
	}
	err := s.send(converse.Segment{Type: kind, Content: piece, SegmentStart: start})
	if err == nil {
		s.said(piece)
	}
	return err
}

// said keeps what was spoken.
func (s *sink) said(text string) {
	s.mu.Lock()
	s.text.WriteString(text)
	s.mu.Unlock()
	s.draft.changed()
}

// Widget implements [brain.Sink].
func (s *sink) Widget(runtime string, fragments ...string) error {
	body := strings.Join(fragments, "")
	if s.shown += len(body); s.shown > maxWidgets {
		return &brain.Failure{Message: "The answer was too long."}
	}
	if err := s.close(); err != nil {
		return err
	}
	defer func() { s.number++ }()
	metadata := &converse.Metadata{WidgetName: widgetName, RuntimeName: runtime}
	for i, fragment := range fragments {
		seg := converse.Segment{
			Type: converse.WidgetPiece, Content: fragment,
			SegmentStart: i == 0, SegmentEnd: i == len(fragments)-1,
		}
		if i == 0 {
			seg.Metadata = metadata
		}
		if err := s.send(seg); err != nil {
			return err
		}
	}
	stored, err := json.Marshal(metadata)
	s.mu.Lock()
	s.keepText()
	if converse.NormalizeRuntime(runtime) == followupsWidget {
		s.offered = append(s.offered, offers(body)...)
	}
	s.parts = append(s.parts, store.Part{
		Type: widgetPart, Content: jsonText(body), Metadata: stored,
	})
	s.mu.Unlock()
	s.draft.changed()
	return err
}

// Call implements [brain.Sink].
func (s *sink) Call(ctx context.Context, calls ...brain.Call) ([]brain.Result, error) {
	if s.calls += len(calls); s.calls > maxCalls {
		return nil, &brain.Failure{Message: "Too many tool calls in one turn."}
	}
	if len(calls) != 1 {
		return s.fused(calls)
	}
	call := calls[0]
	if toolrun.Here(&call.Tool) {
		return s.here(ctx, call)
	}
	id, answer := s.service.expect(s.who.Scope(), call.Tool.Name)
	result := brain.Result{Response: dispatched}
	err := s.block(converse.Segment{
		Type: converse.Tool, Content: call.Tool.Name + " " + string(call.Args),
		ToolMetadata: &converse.ToolMetadata{
			ID: id, Name: call.Tool.Name, Args: call.Args,
			Type: call.Tool.Type, WaitForResponse: call.Tool.WaitForResponse,
		},
	})
	if err == nil && call.Tool.WaitForResponse {
		result, err = await(ctx, answer, call.Tool)
	}
	// A call that does not block is finished at once; an answer to it counts as a
	// late one.
	s.service.giveUp(id)
	if err != nil {
		return nil, err
	}
	return []brain.Result{result}, s.responded(call, result)
}

// here runs a tool on the service. The page gets a segment for the call without
// wait_for_response, which would request an answer.
func (s *sink) here(ctx context.Context, call brain.Call) ([]brain.Result, error) {
	if err := s.block(converse.Segment{
		Type: converse.Tool, Content: call.Tool.Name + " " + string(call.Args),
		ToolMetadata: &converse.ToolMetadata{ID: uuid.NewString(), Name: call.Tool.Name, Args: call.Args, Type: call.Tool.Type},
	}); err != nil {
		return nil, err
	}
	result := brain.Result{Response: dispatched}
	vars := secretVariables(s.who, s.vars)
	if call.Tool.WaitForResponse {
		result = brain.Result{Response: s.service.cfg.Tools.Run(ctx, &call.Tool, call.Args, vars), Answered: true}
		if err := s.keepVariables(ctx, &call.Tool, result); err != nil {
			return nil, err
		}
	} else {
		s.service.cfg.Tools.Start(&call.Tool, call.Args, vars)
	}
	return []brain.Result{result}, s.responded(call, result)
}

// fused sends several calls in one segment, named after the last one; the
// tool_response segments that follow, in call order, name the tools of the other
// arguments (protocol §10.6). Fused calls do not block.
func (s *sink) fused(calls []brain.Call) ([]brain.Result, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	content := calls[len(calls)-1].Tool.Name + " "
	for _, call := range calls {
		content += string(call.Args)
	}
	if err := s.block(converse.Segment{Type: converse.Tool, Content: content}); err != nil {
		return nil, err
	}
	results := make([]brain.Result, len(calls))
	for i, call := range calls {
		results[i].Response = dispatched
		if err := s.responded(call, results[i]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// responded sends the tool_response of a result. The size is in characters of its
// JSON text (local-service choice E7).
func (s *sink) responded(call brain.Call, result brain.Result) error {
	return s.block(converse.Segment{
		Type:    converse.ToolResponse,
		Content: fmt.Sprintf("%s responded with size %d", call.Tool.Name, len([]rune(string(result.Response)))),
	})
}

// Title implements [brain.Sink].
func (s *sink) Title(title string) error {
	s.title = title
	return s.block(converse.Segment{Type: converse.Thread, Content: title})
}

// Share implements [brain.Sink].
func (s *sink) Share(can bool) error {
	s.shared = true
	return s.block(converse.Segment{
		Type: converse.Share, Content: json.RawMessage(fmt.Sprintf(`{"canShare":%t}`, can)),
		SegmentStart: true, SegmentEnd: true,
	})
}

// Raw implements [brain.Sink]. The segments may go on for ever, but the text that is
// kept of them is bounded.
func (s *sink) Raw(seg converse.Segment) error {
	if seg.Content == nil {
		seg.Content = ""
	}
	if text := seg.ContentString(); seg.Type.Spoken() && s.text.Len()+len(text) <= maxAnswer {
		s.said(text)
	}
	return s.block(seg)
}

// keepText moves what was spoken since the last widget into the stored parts. The
// caller must hold mu.
func (s *sink) keepText() {
	if text := s.text.String()[s.inParts:]; text != "" {
		s.parts = append(s.parts, spokenPart(text, s.avatar))
		s.inParts += len(text)
	}
}

// stored returns the parts of the message so far.
func (s *sink) stored() []store.Part {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := slices.Clone(s.parts)
	if text := s.text.String()[s.inParts:]; text != "" {
		parts = append(parts, spokenPart(text, s.avatar))
	}
	return parts
}

// followups returns the follow-up questions of the answer so far.
func (s *sink) followups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.offered)
}

func spokenPart(text string, avatar bool) store.Part {
	kind := converse.Text
	if avatar {
		kind = converse.Avatar
	}
	return store.Part{Type: string(kind), Content: jsonText(text), Metadata: json.RawMessage(`{}`)}
}

func jsonText(s string) json.RawMessage {
	text, _ := json.Marshal(s) // a string always marshals
	return text
}

// keepVariables stores what a tool's variables_mapping has picked of its reply: variables of
// the rest of the thread, which the client's own override, and of this turn's later tools.
// Variables that a client may not set are left out.
func (s *sink) keepVariables(ctx context.Context, tool *store.ToolDef, result brain.Result) error {
	if len(tool.VariablesMapping) == 0 {
		return nil
	}
	var picked struct {
		Variables map[string]any `json:"variables"`
	}
	if json.Unmarshal(result.Response, &picked) != nil || len(picked.Variables) == 0 || CheckVars(picked.Variables) != nil {
		s.service.cfg.Logger.Info("a tool set no variables: its reply has none, or a value that is not a scalar", "tool", tool.Name)
		return nil
	}
	maps.Copy(s.vars, picked.Variables)
	return stored(s.service.cfg.Store.ChangeThreadState(ctx, s.threadID, func(state *store.ThreadState) {
		state.Vars = merged(state.Vars, picked.Variables)
		if CheckVars(state.Vars) != nil { // too many of earlier tools
			state.Vars = picked.Variables
		}
	}))
}
