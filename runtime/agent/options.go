package agent

import (
	"time"

	"github.com/agentruntime/agentruntime/internal/options"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// Mode is the kind of transport.
type Mode string

// The modes.
const (
	Avatar Mode = "avatar"
	Chat   Mode = "chat"
)

func (m Mode) check() error {
	if m != Avatar && m != Chat {
		return fault.New(fault.BadRequest, "mode must be avatar or chat")
	}
	return nil
}

// Options are the options of an agent session (session §A.3.1). The options at the top
// level apply to both transports; those in avatar and chat override them for one transport.
//
// The thread and the kickoff belong to the conversation: a kickoff in Avatar or Chat is used
// only for the first transport, and the thread of the other transport only while the
// conversation has none. Capabilities and variables are merged by name.
type Options struct {
	session.Options

	// Mode is the transport that the session starts with.
	Mode Mode `json:"mode" enum:"avatar,chat" default:"avatar" ts:"AgentMode"`

	// Avatar are the options that only the avatar uses.
	Avatar avatar.Options `json:"-" js:"avatar" ts:"AvatarSettings & OwnToken"`
	// Chat are the options that only turns in text use.
	Chat chat.Options `json:"-" js:"chat" ts:"ChatSettings & OwnToken"`

	// NewAvatar and NewChat create the transports; by default [avatar.New] and [chat.New]
	// do. release is called when the transport was released and closed; it may be nil.
	NewAvatar func(avatar.Options) (s *avatar.Session, release func(), err error) `json:"-"`
	NewChat   func(chat.Options) (s *chat.Session, release func(), err error)     `json:"-"`
}

// OptionsFor returns the options of a session with the token and the addresses of r. Its
// shared options are at the top level, those of the media in Avatar.
func OptionsFor(r *appinit.Result) Options {
	face := avatar.OptionsFor(r)
	shared := face.Options
	face.Options = session.Options{}
	return Options{Options: shared, Avatar: face}
}

// setDefaults sets the functions that are nil.
func (o *Options) setDefaults() {
	if o.NewAvatar == nil {
		o.NewAvatar = func(o avatar.Options) (*avatar.Session, func(), error) {
			s, err := avatar.New(o)
			return s, nil, err
		}
	}
	if o.NewChat == nil {
		o.NewChat = func(o chat.Options) (*chat.Session, func(), error) {
			s, err := chat.New(o)
			return s, nil, err
		}
	}
}

// share sets the options that a transport has no value of its own for, and those that
// belong to the conversation.
func (s *Session) share(own *session.Options) {
	shared := s.opts.Options
	shared.Token, shared.TokenAge = s.core.Token, time.Since(s.core.Tokens.Since)
	capabilities, vars := own.Capabilities, own.RequestVars
	options.Inherit(own, shared)
	if s.core.Thread != "" {
		own.ThreadID = s.core.Thread
	}
	own.Kickoff = s.kickoff
	own.Sent = s.reported
	own.Capabilities = session.Merged(shared.Capabilities, capabilities)
	// A transport's own variables override the shared ones; variables that were updated
	// since override both.
	own.RequestVars = session.Merged(session.Merged(shared.RequestVars, vars), s.core.Vars)
}
