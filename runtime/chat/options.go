package chat

import (
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// Options are the options of a chat session (session §A.2.1).
type Options struct {
	session.Options

	// OnErrorSegment selects how an error segment in a successful reply is handled: throw
	// fails the turn, warn emits a warning and keeps the turn's text (service.md, "Refusals
	// with HTTP 200").
	OnErrorSegment converse.OnErrorSegment `json:"onErrorSegment" enum:"throw,warn" default:"throw"`
	// OnResponse is called for every HTTP reply to a turn, in order with the events and
	// before the events of its segments.
	OnResponse func(httpclient.Response) `json:"-" js:"onResponse" ts:"(response: ResponseInfo) => void"`
}

// OptionsFor returns the options of a session with the token and the address of r.
func OptionsFor(r *appinit.Result) Options { return Options{Options: session.OptionsFor(r)} }

// withDefaults returns o with every default filled in, or the error of the first option
// that is not allowed.
func (o Options) withDefaults() (Options, error) {
	err := o.Complete(&o)
	return o, err
}
