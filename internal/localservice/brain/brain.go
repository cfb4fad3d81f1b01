package brain

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Brain answers questions. Answer returns when the answer is complete, soon after
// ctx ends, or with a [Failure] to tell the user why there is none. It may be
// called from many goroutines at once.
type Brain interface {
	Answer(ctx context.Context, q *Question, out Sink) error
}

// Question is one turn as a brain sees it.
type Question struct {
	Text    string
	History []Line // what was said before, oldest first
	Profile store.Profile

	// Vars are the request variables and the sys__* ones, for templates.
	Vars map[string]any

	Capabilities Capabilities
	Avatar       bool   // the answer will be spoken by an avatar
	Experience   string // force_experience, a hint: markdown, summarization, …
	Fast         bool   // the caller prefers speed over quality
	Trigger      string // what began the turn, "" for the user's own words

	// Image is a still of the user's shared screen, JPEG or PNG; nil is none.
	Image []byte

	// Site is the origin of the service's own pages; "" makes links to them
	// relative.
	Site string

	// Wire is the stream under the answer, nil on a live session.
	Wire Wire
}

// Line is something that was said in the thread.
type Line struct {
	Agent bool // the agent said it, not the user
	Text  string
}

// Sink takes an answer apart into segments. Its methods may be called from the
// goroutine of Answer only; the error they return ends the answer.
type Sink interface {
	// Think tells what the brain is doing. It is sent when think_process is on.
	Think(text string) error
	// Say appends a piece of the answer.
	Say(piece string) error
	// Filler says something while work goes on.
	Filler(text string) error
	// Widget shows a widget; its body may come in several fragments.
	Widget(runtime string, fragments ...string) error
	// Call announces tool calls, waits for those that block, and returns one
	// result for each, in order. Several calls go out fused in one segment
	// (wire-protocol §10.6).
	Call(ctx context.Context, calls ...Call) ([]Result, error)
	// Consented reports whether the user has allowed the agent to use a tool.
	Consented(tool string) bool
	// AskConsent asks the user to allow it (wire-protocol §10.8). The answer
	// should end with that: the user asks again once it is allowed.
	AskConsent(tool, displayName string) error
	// Title names the thread.
	Title(title string) error
	// Share says whether the answer can be shared; by default it can.
	Share(can bool) error
	// Raw sends a segment of any type; position and time are filled in.
	Raw(seg converse.Segment) error
}

// Wire is the stream that carries an answer over HTTP. Scripts spoil it, because
// tests of a client need a service that misbehaves. Like a [Sink] it belongs to
// the goroutine of Answer.
type Wire interface {
	// Write writes text as it stands, with its line ends.
	Write(text string) error
	// Stall lets nothing out for so long, keepalives neither.
	Stall(d time.Duration) error
	// Cut breaks the connection; its error ends the answer.
	Cut() error
}

// Call is one call of a tool.
type Call struct {
	Tool store.ToolDef
	Args json.RawMessage // a JSON object
}

// Result is what a tool answered: a JSON object. Answered is false when nobody
// waited for it, or when nobody answered in time.
type Result struct {
	Response json.RawMessage
	Answered bool
}

// Failure ends a turn with an error segment. Its text is shown to the user, so it
// must not carry addresses, keys or what an upstream service said.
type Failure struct{ Message string }

func (f *Failure) Error() string { return f.Message }
