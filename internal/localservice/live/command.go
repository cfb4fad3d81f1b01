package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Errors of commands.
var (
	ErrNoSession = errors.New("no such session")
	ErrEnded     = errors.New("session has ended")
	ErrNotPaused = errors.New("session is not paused")
	ErrNoMedia   = errors.New("session has no media")
	ErrNotFatal  = errors.New("not a fatal event")
)

// Info describes a live session, for people and tests.
type Info struct {
	ID        string    `json:"id"` // the socket id
	State     State     `json:"state"`
	Agent     string    `json:"agent,omitempty"`
	Room      string    `json:"room,omitempty"`
	ThreadID  string    `json:"threadId,omitempty"`
	SpeechID  string    `json:"speechId,omitempty"` // of what is being said
	Muted     bool      `json:"muted"`
	Recovered bool      `json:"recovered"` // the socket was lost and recovered
	Since     time.Time `json:"since"`

	// Counts of the stills of a shared screen and of the camera.
	StillsAccepted int `json:"stillsAccepted"`
	StillsRefused  int `json:"stillsRefused"`

	Media      any `json:"media,omitempty"`      // statistics of picture and voice
	Microphone any `json:"microphone,omitempty"` // statistics of the microphone
}

// State is the phase of a session.
type State string

// States of a session.
const (
	Connected State = "connected" // the socket is up
	Joined    State = "joined"    // the thread is ready
	Ready     State = "ready"     // it has its media and waits for the approval
	Listening State = "listening" // neither side speaks
	Thinking  State = "thinking"  // the brain works and nothing was said yet
	Talking   State = "talking"   // the agent speaks
	Paused    State = "paused"
	Released  State = "released" // paused for so long that the media are gone
)

func (s *Session) state() State {
	switch p := s.active; {
	case !s.joined:
		return Connected
	case s.released:
		return Released
	case s.paused:
		return Paused
	case !s.approved && s.downlink == nil:
		return Joined
	case !s.approved:
		return Ready
	case p == nil:
		return Listening
	case p.thinking():
		return Thinking
	default:
		return Talking
	}
}

// do runs f on the session goroutine and waits for its result.
func (s *Session) do(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	s.post(func() { done <- f() })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
	}
	select {
	case err := <-done: // f itself has ended the session
		return err
	default:
		return ErrEnded
	}
}

// Info describes the session.
func (s *Session) Info(ctx context.Context) (Info, error) {
	var info Info
	err := s.do(ctx, func() error {
		info = Info{
			ID: s.conn.ID(), State: s.state(), Agent: s.who.Agent.Name, Room: s.room, ThreadID: s.thread.ID,
			Muted: s.muted, Since: s.since, Recovered: s.recovered,
			StillsAccepted: s.stills.accepted, StillsRefused: s.stills.refused,
		}
		if s.active != nil {
			info.SpeechID = s.active.id
		}
		if s.downlink != nil {
			info.Media = s.downlink.Stats()
		}
		if s.mic != nil {
			info.Microphone = s.mic.Stats()
		}
		return nil
	})
	return info, err
}

// DropSocket cuts the socket as a broken network would.
func (s *Session) DropSocket() { s.conn.Drop() }

// KillMedia breaks the connection of picture and voice without a close message.
func (s *Session) KillMedia(ctx context.Context) error {
	return s.withDownlink(ctx, Downlink.Kill)
}

// StopVideo stops sending the bytes of the picture, or resumes.
func (s *Session) StopVideo(ctx context.Context, stopped bool) error {
	return s.withDownlink(ctx, func(d Downlink) { d.StopVideo(stopped) })
}

func (s *Session) withDownlink(ctx context.Context, f func(Downlink)) error {
	return s.do(ctx, func() error {
		if s.downlink == nil {
			return ErrNoMedia
		}
		f(s.downlink)
		return nil
	})
}

// End ends the conversation as the service would on its own.
func (s *Session) End(ctx context.Context) error {
	return s.do(ctx, func() error {
		s.endConversation()
		return nil
	})
}

// ExpirePause ends the window of a pause now.
func (s *Session) ExpirePause(ctx context.Context) error {
	return s.do(ctx, func() error {
		if !s.paused {
			return ErrNotPaused
		}
		s.expirePause()
		return nil
	})
}

// Send emits any event with any payload; nothing else happens.
func (s *Session) Send(ctx context.Context, event string, payload json.RawMessage) error {
	if len(payload) == 0 {
		payload = json.RawMessage(`{}`)
	}
	return s.do(ctx, func() error { return s.conn.Emit(event, payload) })
}

// Fatal ends the session with one of the fatal events. Code is the payload of
// unsupportedClient, "INTERNAL_ERROR" when it is empty.
func (s *Session) Fatal(ctx context.Context, event, code string) error {
	if !slices.Contains(signaling.FatalEvents(), event) {
		return fmt.Errorf("%q: %w", event, ErrNotFatal)
	}
	var payload any = signaling.Empty{}
	if event == signaling.UnsupportedClient {
		code = cmp.Or(code, codeInternal)
		payload = signaling.Unsupported{Code: code}
	}
	return s.do(ctx, func() error {
		s.fatal(event, payload)
		return nil
	})
}

// FailVideo reports that the picture can't be made any more, and hangs up (protocol §4.8).
func (s *Session) FailVideo(ctx context.Context) error {
	return s.do(ctx, func() error {
		s.emit(signaling.StvTaskFail, signaling.Empty{})
		s.hangUp()
		return nil
	})
}
