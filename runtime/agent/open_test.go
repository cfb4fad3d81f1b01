package agent

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// A constructor that creates a transport, closes it and returns an error, as happens when a
// page refuses the transport, leads to no events.
func TestTransportThatWasNeverMadeIsNotHeard(t *testing.T) {
	refused := errors.New("refused")
	heard := 0
	_, err := New(Options{
		Options: session.Options{Token: "t", OnEvent: func(event.Event) { heard++ }}, Mode: Chat,
		NewChat: func(o chat.Options) (*chat.Session, func(), error) {
			s, err := chat.New(o)
			if err != nil {
				return nil, nil, err
			}
			s.Close()
			return nil, nil, refused
		},
	})
	if !errors.Is(err, refused) || heard != 0 {
		t.Errorf("got error %v and %d events, want %v and none", err, heard, refused)
	}
}

func TestAnAdministratorsTokenIsRefused(t *testing.T) {
	for _, mode := range []Mode{Avatar, Chat} {
		_, err := New(Options{Options: session.Options{Token: "t", Kind: appinit.AdminToken}, Mode: mode})
		expect.Error(t, err, fault.WrongTokenScope, "%s", mode)
	}
}
