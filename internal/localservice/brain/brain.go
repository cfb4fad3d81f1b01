// Package brain turns a question into the pieces of an answer.
//
// It has three brains. [Demo] is built in and has no language model: it remembers
// its thread, answers from Markdown through a full-text index, and calls a page's
// tools on request. [Scripted] plays a YAML file, for tests and demos, and leaves
// other questions to another brain. [Chat] asks an OpenAI-compatible chat endpoint.
//
// A brain is independent of transports and segment numbers, and of the database
// beyond the search it is given: it writes to a [Sink], from which the dialogue
// package makes segments.
package brain

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Brain answers questions. Answer returns when the answer is complete, soon after
// ctx ends, or with a [Failure] whose text is shown to the user. It may be called
// from many goroutines at once.
type Brain interface {
	Answer(ctx context.Context, q *Question, out Sink) error
}

// Question is the input of one turn.
type Question struct {
	Text    string
	History []Line // the thread before this turn, oldest first
	Profile store.Profile

	// Vars are the request variables and the sys__* ones, for templates.
	Vars map[string]any

	Capabilities Capabilities
	Avatar       bool   // the answer is spoken by an avatar
	Experience   string // force_experience, a hint: markdown, summarization, …
	Trigger      string // what began the turn, "" for the user's own words

	// Screen and Camera are stills of the user's shared screen and camera, JPEG or PNG;
	// nil is none.
	Screen, Camera []byte

	// Started are the results of the tools that ran when the thread began.
	Started []store.ToolResult
	// LoadedSkills are the names of skills that were kept for the thread; KeepSkill adds
	// one. nil keeps nothing.
	LoadedSkills []string
	KeepSkill    func(name string) error

	// Site is the origin of the service's own pages; "" makes links to them
	// relative.
	Site string

	// Wire is the stream under the answer, nil on a live session.
	Wire Wire
}

// read reports whether the user reads the answer; otherwise it is spoken, or requested
// in a form that can be spoken.
func (q *Question) read() bool { return !q.Avatar && q.Experience != avatarOnly }

// shows reports whether a widget with that capability may be shown. An avatar shows
// none unless [ShowContent] is on.
func (q *Question) shows(capability string) bool {
	return q.Capabilities.On(capability) && (q.read() || q.Capabilities.On(ShowContent))
}

// Line is one message of the thread's history.
type Line struct {
	Agent  bool // by the agent, not by the user
	System bool // by neither: a partner's server added it for the brain
	Text   string
}

// Sink splits an answer into segments. Its methods may be called from the goroutine of
// Answer only; the error they return ends the answer.
type Sink interface {
	// Think reports progress. It is sent when think_process is on.
	Think(text string) error
	// Say appends a piece of the answer.
	Say(piece string) error
	// Filler appends text that is spoken while work goes on.
	Filler(text string) error
	// Widget shows a widget; its body may come in several fragments.
	Widget(runtime string, fragments ...string) error
	// Call announces tool calls, waits for those that block, and returns one
	// result for each, in order. Several calls are fused into one segment
	// (protocol §10.6).
	Call(ctx context.Context, calls ...Call) ([]Result, error)
	// Consented reports whether the user has allowed the agent to use a tool.
	Consented(tool string) bool
	// AskConsent asks the user to allow a tool (protocol §10.8). The answer should
	// end there: once the tool is allowed, the user repeats the question.
	AskConsent(tool, displayName string) error
	// Title sets the thread's title.
	Title(title string) error
	// Share sets whether the answer can be shared; by default it can.
	Share(can bool) error
	// Raw sends a segment of any type; position and time are filled in.
	Raw(seg converse.Segment) error
}

// Wire is the stream that carries an answer over HTTP. Scripts damage it, because
// tests of a client need a service that misbehaves. Like a [Sink] it may be used
// from the goroutine of Answer only.
type Wire interface {
	// Write writes text as it is, with its line ends.
	Write(text string) error
	// Stall writes nothing for d, keepalives included.
	Stall(d time.Duration) error
	// Cut breaks the connection; its error ends the answer.
	Cut() error
}

// Call is one call of a tool.
type Call struct {
	Tool store.ToolDef
	Args json.RawMessage // a JSON object
}

// Result is the answer of a tool, a JSON object. Answered is false when the call
// did not block, or when no answer came in time.
type Result struct {
	Response json.RawMessage
	Answered bool
}

// Failure ends a turn with an error segment. Its text is shown to the user, so it
// must not contain addresses, keys or the reply of an upstream service.
type Failure struct{ Message string }

func (f *Failure) Error() string { return f.Message }
