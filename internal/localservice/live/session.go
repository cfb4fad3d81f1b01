package live

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Session is one control-plane socket and the conversation on it. Its exported
// methods may be called from any goroutine; everything else may be used by the
// session's own goroutine only.
type Session struct {
	*inbox
	cfg         *Config
	hub         *Hub
	conn        Conn
	token       string // of the handshake
	caller      token.Claims
	use         token.Use
	debugEvents bool // the client requested debug events

	recovered bool // the socket was gone and came back
	log       *slog.Logger
	since     time.Time

	ended chan struct{}   // closed when run has returned
	ctx   context.Context // ends with the socket
	stop  context.CancelFunc
	tasks sync.WaitGroup // what spawn started

	// The handshake.
	joining, joined  bool
	approved, opened bool
	room             string
	who              dialogue.Caller
	profile          *store.Profile // of who.Agent
	thread           store.Thread
	context          signaling.GenieContext
	openingPhrase    string
	roomTimer        *timer // until the join, and then until the first stvNewSession

	// The conversation.
	active     *speech
	stored     chan struct{} // closed when the last turn is stored
	waiting    []waiting
	pushed     []pushed            // lines that wait for their turn to be said
	proceeding *timer              // until what waits is said or asked after an interruption
	unstored   map[string]*receipt // by the id that the client gave
	lastLine   string              // for a replay
	idle       *timer
	checkedIn  bool
	limits     [2]*timer // the warning and the end of the whole conversation

	// The state of a pause: paused at first, released instead once its window has
	// passed, and then resuming too, from the client's request to resume until its
	// approval.
	paused, released, resuming bool
	window                     *timer

	// Media.
	downlink  Downlink
	unwatched *timer    // until the downlink must have a viewer
	voice     VoicePeer // the downlink in audio mode, otherwise nil
	mic       Microphone
	micCount  int // changes with mic
	muted     bool
	tap       tapWindow
	stills    stills
}

// run handles the session's events until the socket is gone for good.
func (s *Session) run(events <-chan socketio.Event) {
	defer close(s.ended)
	defer s.close()
	s.emit(signaling.ServerConnected, signaling.Hello{FinalURL: s.cfg.MediaURL, HostName: hostName})
	s.roomTimer = s.after(s.cfg.Timing.Join, func() {
		s.log.Info("no room joined, closing")
		s.hangUp()
	})
	for {
		select {
		case <-s.ctx.Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			switch e.Kind {
			case socketio.Message:
				s.handle(e.Name, e.Args, e.Reply)
			case socketio.Connected:
				s.recovered = true
				s.returned()
			}
		case <-s.ready:
			for _, f := range s.take() {
				f()
			}
		}
	}
}

// close frees everything that the session holds.
func (s *Session) close() {
	if p := s.active; p != nil {
		s.cut(p, func() {})
	}
	for _, t := range []*timer{s.roomTimer, s.idle, s.window, s.unwatched, s.tap.timer, s.proceeding, s.limits[0], s.limits[1]} {
		t.stop()
	}
	s.freeMedia()
	s.stop()
	s.tasks.Wait()
}

// spawn runs f on a goroutine of its own; f must return when s.ctx ends.
func (s *Session) spawn(f func()) { s.tasks.Go(f) }

// emit sends an event. An error means that the socket is gone, which the
// session learns from its events.
func (s *Session) emit(name string, payload any) {
	if err := s.conn.Emit(name, payload); err != nil {
		s.log.Debug("event not sent", "event", name, "err", err)
	}
}

// debug sends a diagnostic event to clients that asked for them
// (protocol §4.10).
func (s *Session) debug(name string, payload any) {
	if s.debugEvents {
		s.emit(name, payload)
	}
}

func (s *Session) debugState(state, preparing string) {
	s.debug(signaling.DebugState, signaling.ConversationState{State: state, PreparingAnswerState: preparing})
}
