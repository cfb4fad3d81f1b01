package agent

import (
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// line is what both kinds of session can do.
type line interface {
	OnToolCall(name string, h session.ToolHandler, schema converse.ArgsSchema) (remove func(), err error)
	OnOAuthRequired(h session.ConsentHandler) (remove func(), err error)
	RespondToTool(ctx context.Context, id string, response map[string]any) (session.ToolAnswer, error)
	UpdateRequestVars(vars map[string]any) error
	SetToken(token string) error
	CompleteThread(ctx context.Context) (sessionend.Result, error)
	WaitHeard()
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

	// What follows belongs to the session's queue.

	pending bool                // it owes an answer
	turn    *TurnEnded          // what the end of the turn under way will be, nil without one
	missed  map[string]any      // variables that it could not be told yet
	over    *Ended              // it ended by itself
	gone    bool                // it was let go, and is not heard any more
	late    bool                // it was let go long ago: nothing waits for its texts
	removes map[*handler]func() // of the session's handlers in it
}

// open makes a transport that has the session's handlers; it does not connect.
func (s *Session) open(mode Mode) (*transport, error) {
	// What ends while it is being made is not heard of: the error tells enough.
	t := &transport{mode: mode, removes: map[*handler]func(){}, gone: true}
	listen := func(e event.Event) { s.hear(t, e) }
	_, err := session.Guarded(func() (_ any, err error) {
		if mode == Avatar {
			o := s.avatarOptions()
			o.OnEvent = listen
			t.avatar, t.release, err = s.deps.Avatar(o)
			t.line = t.avatar
		} else {
			o := s.chatOptions()
			o.OnEvent = listen
			t.chat, t.release, err = s.deps.Chat(o)
			t.line = t.chat
		}
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	t.gone = false
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

// takeBack removes it.
func (t *transport) takeBack(h *handler) {
	if remove := t.removes[h]; remove != nil {
		delete(t.removes, h)
		remove()
	}
}

// transports are those that were not let go.
func (s *Session) transports() []*transport {
	return slices.DeleteFunc([]*transport{s.current, s.next}, func(t *transport) bool { return t == nil || t.gone })
}

// inner is what a page or a program gets of the transport.
func (t *transport) inner() any {
	if t.mode == Avatar {
		return t.avatar
	}
	return t.chat
}

// connect returns when everything that belongs to the outcome was heard.
func (t *transport) connect(ctx context.Context) (err error) {
	if t.mode == Avatar {
		err = t.avatar.Connect(ctx)
	} else {
		err = t.chat.Connect()
	}
	t.WaitHeard()
	return err
}

func (t *transport) thread() string {
	if t.mode == Avatar {
		return t.avatar.Snapshot().ThreadID
	}
	return t.chat.Snapshot().ThreadID
}

// asked reports whether the brain was asked and has shown nothing yet.
func (t *transport) asked() bool {
	if t.mode == Avatar {
		return t.avatar.Snapshot().ResponsePending
	}
	return t.chat.Snapshot().ResponsePending
}

// lost returns the error of a transport that was up and is not any more.
func (t *transport) lost() error {
	var down bool
	if t.mode == Avatar {
		state := t.avatar.Snapshot().State
		down = state == avatar.Disconnecting || state == avatar.Disconnected || state == avatar.Broken
	} else {
		down = t.chat.Snapshot().State != chat.Connected
	}
	if t.over == nil && !down {
		return nil
	}
	return fault.New(fault.ConnectFailed, "the transport ended as soon as it was up").InPhase(fault.PhaseConnect)
}

// holdKickoff keeps the kickoff from leaving, or lets it leave, and reports whether
// it is used up. In text it leaves within the connect.
func (t *transport) holdKickoff(hold bool) (used bool) {
	return t.mode == Chat || t.avatar.HoldKickoff(hold)
}

// kickedOff reports whether the kickoff has left in text.
func (t *transport) kickedOff() bool {
	if t.mode != Chat {
		return false
	}
	k := t.chat.Snapshot().Kickoff
	return k != nil && k.Sent
}

func (t *transport) disconnect(keep bool, reason string) {
	if t.mode == Avatar {
		t.avatar.Disconnect(avatar.DisconnectOptions{Keep: keep, Reason: reason})
	} else {
		t.chat.Disconnect(chat.DisconnectOptions{Keep: keep, Reason: reason})
	}
}

// free returns when a transport that was disconnected is gone. Its bugs are its
// own.
func (t *transport) free(base *session.Base) {
	for _, f := range []func(){t.Close, t.release} {
		if f == nil {
			continue
		}
		if _, err := session.Guarded(func() (any, error) { f(); return nil, nil }); err != nil {
			base.Log("error", "closing a transport: "+err.Error(), nil)
		}
	}
}
