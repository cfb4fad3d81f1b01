package agent

import (
	"github.com/agentruntime/agentruntime/internal/options"
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

// Options are the options of an agent session (session-api A.3.1). Those at the top are
// for both transports, as far as they apply to one; the options in avatar and chat win.
//
// The thread and the kickoff are the conversation's: those in Avatar and Chat count
// for the first transport alone. Capabilities and variables are merged by name.
type Options struct {
	session.Options

	// Mode is the first transport.
	Mode Mode `json:"mode" enum:"avatar,chat" default:"avatar" ts:"AgentMode"`

	// Avatar is for the avatar alone.
	Avatar avatar.Options `json:"-" js:"avatar" ts:"AvatarSettings & OwnToken"`
	// Chat is for turns in text alone.
	Chat chat.Options `json:"-" js:"chat" ts:"ChatSettings & OwnToken"`
}

// Deps make the transports. The zero value is a program's: both are made of their
// options alone. What release frees is freed when the transport was let go and is
// closed; it may be nil.
type Deps struct {
	Avatar func(avatar.Options) (s *avatar.Session, release func(), err error)
	Chat   func(chat.Options) (s *chat.Session, release func(), err error)
}

// own fills in what d lacks.
func (d *Deps) own() {
	if d.Avatar == nil {
		d.Avatar = func(o avatar.Options) (*avatar.Session, func(), error) {
			s, err := avatar.New(o, avatar.Deps{})
			return s, nil, err
		}
	}
	if d.Chat == nil {
		d.Chat = func(o chat.Options) (*chat.Session, func(), error) {
			s, err := chat.New(o, chat.Deps{})
			return s, nil, err
		}
	}
}

// avatarOptions are the options of an avatar session that begins now.
func (s *Session) avatarOptions() avatar.Options {
	o := s.opts.Avatar
	s.share(&o.Options)
	return o
}

// chatOptions are the options of a chat session that begins now.
func (s *Session) chatOptions() chat.Options {
	o := s.opts.Chat
	s.share(&o.Options)
	return o
}

// share fills in what a transport has not of its own, and what belongs to the
// conversation.
func (s *Session) share(own *session.Options) {
	shared := s.opts.Options
	shared.Token = s.token
	capabilities, vars := own.Capabilities, own.RequestVars
	options.Inherit(own, shared)
	if s.thread != "" {
		own.ThreadID = s.thread
	}
	own.Kickoff = s.kickoff
	own.Once = s.once
	own.Capabilities = session.Merged(shared.Capabilities, capabilities)
	// A transport's own variables win over the shared ones, and what was updated
	// since wins over both.
	own.RequestVars = session.Merged(session.Merged(shared.RequestVars, vars), s.updates)
}

func fill[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
