package agent

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/completion"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// line is what both kinds of session can do.
type line interface {
	OnToolCall(name string, h session.ToolHandler, schema converse.ArgsSchema) (remove func(), err error)
	OnOAuthRequired(h session.ConsentHandler) (remove func(), err error)
	RespondToTool(ctx context.Context, id string, response map[string]any) (session.ToolAnswer, error)
	UpdateRequestVars(vars map[string]any) error
	SetToken(token string) error
	CompleteThread(ctx context.Context) (completion.Result, error)
	Close()
}

var (
	_ line = (*avatar.Session)(nil)
	_ line = (*chat.Session)(nil)
)

// transport is one session in the hands of the agent session, and what only its
// kind can do.
type transport struct {
	line
	mode    Mode
	avatar  *avatar.Session // of its mode, else nil
	chat    *chat.Session
	release func()

	dead    bool                // it ended by itself, during a change
	gone    bool                // it was let go, and is not heard any more
	removes map[*handler]func() // of the session's handlers in it
}

// open makes a transport that hears the session's handlers; it does not connect.
func (s *Session) open(mode Mode) (*transport, error) {
	t := &transport{mode: mode, removes: map[*handler]func(){}}
	listen := func(e event.Event) { s.hear(t, e) }
	var err error
	if mode == Avatar {
		o := s.avatarOptions()
		o.OnEvent = listen
		if t.avatar, t.release, err = s.deps.Avatar(o); err == nil {
			t.line = t.avatar
		}
	} else {
		o := s.chatOptions()
		o.OnEvent = listen
		if t.chat, t.release, err = s.deps.Chat(o); err == nil {
			t.line = t.chat
		}
	}
	if err != nil {
		return nil, err
	}
	for _, h := range s.handlers {
		t.lend(h)
	}
	return t, nil
}

// lend registers a handler of the session.
func (t *transport) lend(h *handler) {
	// Its name and function were checked when the session took it.
	if remove, err := h.register(t.line); err == nil {
		t.removes[h] = remove
	}
}

// inner is what a page or a program gets of the transport.
func (t *transport) inner() any {
	if t.mode == Avatar {
		return t.avatar
	}
	return t.chat
}

func (t *transport) connect(ctx context.Context) error {
	if t.mode == Avatar {
		return t.avatar.Connect(ctx)
	}
	return t.chat.Connect()
}

func (t *transport) thread() string {
	if t.mode == Avatar {
		return t.avatar.Snapshot().ThreadID
	}
	return t.chat.Snapshot().ThreadID
}

// kickoff returns the first turn as the transport knows it.
func (t *transport) kickoff() *event.Kickoff {
	if t.mode == Avatar {
		return t.avatar.Snapshot().Kickoff
	}
	return t.chat.Snapshot().Kickoff
}

func (t *transport) disconnect(keep bool, reason string) {
	if t.mode == Avatar {
		t.avatar.Disconnect(avatar.DisconnectOptions{Keep: keep, Reason: reason})
	} else {
		t.chat.Disconnect(chat.DisconnectOptions{Keep: keep, Reason: reason})
	}
}

// free waits until a transport that was disconnected is gone.
func (t *transport) free() {
	t.Close()
	if t.release != nil {
		t.release()
	}
}
