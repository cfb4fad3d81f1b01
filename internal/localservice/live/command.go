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
	ErrNoEvent   = errors.New("event is missing")
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

// Request has what some commands need.
type Request struct {
	Stopped *bool           `json:"stopped"` // of stop-video, default true
	Event   string          `json:"event"`   // of send and fatal
	Payload json.RawMessage `json:"payload"` // of send
	Code    string          `json:"code"`    // of fatal: the payload of unsupportedClient, default INTERNAL_ERROR
}

// Commands change a session, by name; [Session.Command] runs them.
var Commands = map[string]func(*Session, *Request) error{
	// kill-media breaks the connection of picture and voice without a close message.
	"kill-media": func(s *Session, _ *Request) error { return s.withDownlink(Downlink.Kill) },
	// stop-video stops sending the bytes of the picture, or resumes.
	"stop-video": func(s *Session, r *Request) error {
		return s.withDownlink(func(d Downlink) { d.StopVideo(r.Stopped == nil || *r.Stopped) })
	},
	// fail-video reports that the picture can't be made any more, and hangs up (protocol §4.8).
	"fail-video": func(s *Session, _ *Request) error {
		s.emit(signaling.StvTaskFail, signaling.Empty{})
		s.hangUp()
		return nil
	},
	// end ends the conversation as the service would on its own.
	"end": func(s *Session, _ *Request) error {
		s.endConversation()
		return nil
	},
	// expire-pause ends the window of a pause now.
	"expire-pause": func(s *Session, _ *Request) error {
		if !s.paused {
			return ErrNotPaused
		}
		s.expirePause()
		return nil
	},
	// send emits any event with any payload; nothing else happens.
	"send": func(s *Session, r *Request) error {
		if r.Event == "" {
			return ErrNoEvent
		}
		if len(r.Payload) == 0 {
			r.Payload = json.RawMessage(`{}`)
		}
		return s.conn.Emit(r.Event, r.Payload)
	},
	// fatal ends the session with one of the fatal events.
	"fatal": func(s *Session, r *Request) error {
		if !slices.Contains(signaling.FatalEvents(), r.Event) {
			return fmt.Errorf("%q: %w", r.Event, ErrNotFatal)
		}
		var payload any = signaling.Empty{}
		if r.Event == signaling.UnsupportedClient {
			payload = signaling.Unsupported{Code: cmp.Or(r.Code, codeInternal)}
		}
		s.fatal(r.Event, payload)
		return nil
	},
}

// Command runs one of Commands.
func (s *Session) Command(ctx context.Context, name string, r *Request) error {
	return s.do(ctx, func() error { return Commands[name](s, r) })
}

func (s *Session) withDownlink(f func(Downlink)) error {
	if s.downlink == nil {
		return ErrNoMedia
	}
	f(s.downlink)
	return nil
}
