package chat

import (
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// Options are what a conversation in text can be told (session-api A.2.1).
type Options struct {
	session.Options

	// OnErrorSegment says what an error inside a good reply does: throw fails the turn,
	// warn emits a warning and keeps its text (service.md, "Refusals with HTTP 200").
	OnErrorSegment converse.OnErrorSegment `json:"onErrorSegment" enum:"throw,warn" default:"throw"`
	// OnResponse is called for every HTTP reply to a turn, in order with the events,
	// before those of its segments.
	OnResponse func(converse.Response) `json:"-" js:"onResponse" ts:"(response: ResponseInfo) => void"`
}

// Deps are the parts a session is built on. The zero value is a program's.
type Deps struct {
	// Fetch and Send do the requests; nil means a fetch.Transport of the session's
	// own, which Close closes.
	Fetch fetch.Client
	Send  fetch.Sender
	// Page reports what the browser does with the page; nil natively.
	Page sessionend.Page
}

// withDefaults returns o with every default filled in, or the first thing wrong
// with it.
func (o Options) withDefaults() (Options, error) {
	err := o.Complete(&o)
	return o, err
}
