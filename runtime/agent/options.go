package agent

import (
	"fmt"
	"io"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
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

// Options configure a [Session] (session-api A.3.1). What both transports need
// stands here once; Avatar and Chat hold what is their own, and wins.
type Options struct {
	// Mode is the first transport. Default [Avatar].
	Mode Mode `json:"mode"`
	// Token is the conversation token. Required, here or in both transports.
	Token string `json:"token"`
	// RequestVars are the prompt's variables; they survive a switch.
	RequestVars map[string]any `json:"requestVars"`
	// Capabilities are what the agent may do; those of a transport win, name by name.
	Capabilities map[string]string `json:"capabilities"`
	// ThreadID continues a stored dialogue. Those in Avatar and Chat count until a
	// thread is known: afterwards the conversation has one.
	ThreadID string `json:"threadId"`
	// Kickoff is the first turn, sent once however often the mode changes. Of those
	// in Avatar and Chat, that of the first mode counts.
	Kickoff *event.Kickoff `json:"kickoff"`
	// Region picks the default GenieURL: "nvp1" (default) or "frp2".
	Region *string `json:"region"`
	// GenieURL is the brain's host.
	GenieURL *string `json:"genieUrl"`
	// AllowInsecureTransport lets http: and ws: reach public hosts.
	AllowInsecureTransport bool `json:"allowInsecureTransport"`
	// PartnerID and SubjectID are for audit events.
	PartnerID string `json:"partnerId"`
	SubjectID string `json:"subjectId"`

	Avatar avatar.Options `json:"-"`
	Chat   chat.Options   `json:"-"`

	// OnAuditEvent receives redacted security events.
	OnAuditEvent func(event.Audit) `json:"-"`
	// Log receives diagnostics; nothing in it is secret.
	Log func(level, message string, data map[string]any) `json:"-"`
	// OnEvent receives every event, in order, on one goroutine.
	OnEvent func(event.Event) `json:"-"`
}

// Format prints nothing, whatever the verb: the token and the variables are
// private.
func (Options) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, "agent options") // fmt has nobody to tell
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

// common is where a transport's options keep what the session shares.
type common struct {
	token, partnerID, subjectID, threadID *string
	region, genieURL                      **string
	insecure                              *bool
	vars                                  *map[string]any
	caps                                  *map[string]string
	once                                  **sessionend.Once
	kickoff                               **event.Kickoff
	log                                   *func(string, string, map[string]any)
	audit                                 *func(event.Audit)
}

// avatarOptions are the options of an avatar session that begins now.
func (s *Session) avatarOptions() avatar.Options {
	o := s.opts.Avatar
	s.share(common{
		&o.Token, &o.PartnerID, &o.SubjectID, &o.ThreadID, &o.Region, &o.GenieURL,
		&o.AllowInsecureTransport, &o.RequestVars, &o.Capabilities, &o.Completion.Once, &o.Kickoff, &o.Log, &o.OnAuditEvent,
	})
	return o
}

// chatOptions are the options of a chat session that begins now.
func (s *Session) chatOptions() chat.Options {
	o := s.opts.Chat
	s.share(common{
		&o.Token, &o.PartnerID, &o.SubjectID, &o.ThreadID, &o.Region, &o.GenieURL,
		&o.AllowInsecureTransport, &o.RequestVars, &o.Capabilities, &o.Completion.Once, &o.Kickoff, &o.Log, &o.OnAuditEvent,
	})
	return o
}

// share fills in what a transport has not of its own, and what belongs to the
// conversation.
func (s *Session) share(to common) {
	fill(to.token, s.token)
	fill(to.partnerID, s.opts.PartnerID)
	fill(to.subjectID, s.opts.SubjectID)
	fill(to.region, s.opts.Region)
	fill(to.genieURL, s.opts.GenieURL)
	*to.insecure = *to.insecure || s.opts.AllowInsecureTransport
	if *to.log == nil {
		*to.log = s.opts.Log
	}
	if *to.audit == nil {
		*to.audit = s.opts.OnAuditEvent
	}
	if s.thread != "" {
		*to.threadID = s.thread
	}
	*to.kickoff = s.kickoff
	*to.once = s.once
	*to.caps = session.Merged(s.opts.Capabilities, *to.caps)
	// A transport's own variables win over the shared ones, and what was updated
	// since wins over both.
	*to.vars = session.Merged(session.Merged(s.opts.RequestVars, *to.vars), s.updates)
}

func fill[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}
