package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// PacketRate is how many packets a second a client may send for long; one that talks and
// types sends less than ten.
const PacketRate = 50

// SocketPath is where clients open the control socket (protocol §1.6); it
// is what a token's urirestrict is compared with.
const SocketPath = "/socket.io/"

// Config is what all sessions of a service share. Everything but Timing is
// required.
type Config struct {
	Dialogue Dialogue
	Threads  Threads
	Tokens   Tokens
	Voice    voice.Voice
	Media    Media

	// MediaURL is the address of the media, which clients get for information.
	MediaURL string
	// Calls bounds how many calls, i.e. pictures with a voice or voices alone, there can
	// be at once. Its total is required.
	Calls quota.Limit
	// Sockets bounds the sessions at once, and SocketBytes the memory of messages that have
	// not arrived completely, for which only the limits of an address and of all are used.
	Sockets, SocketBytes quota.Limit
	// Work is how many milliseconds of work clients may cause.
	Work *quota.Pace

	Timing Timing
	Logger *slog.Logger
}

// Timing contains the times that a user of the service may want to change. A
// PauseWindow, Unwatched, UnusedRoom or Join that is zero or negative means its default; the
// others are off when zero.
type Timing struct {
	PauseWindow time.Duration // until a pause loses its media, default 120 s (choice F1)
	Unwatched   time.Duration // without a viewer, until a picture or voice gives up its slot, default 30 s
	UnusedRoom  time.Duration // until a joined room without media is closed, default 120 s (choice A10)
	Join        time.Duration // until a socket that has not joined a room is closed, default 60 s

	Conversation time.Duration // a whole conversation (choice A17)
	Warning      time.Duration // how long before its end the client is warned
	WakeUp       time.Duration // a user's silence before the check-in (choice A18)
	Goodbye      time.Duration // and before the goodbye that follows
}

// Defaults of [Timing].
const (
	DefaultPauseWindow = 120 * time.Second
	DefaultUnusedRoom  = 120 * time.Second
	DefaultUnwatched   = 30 * time.Second
	DefaultJoin        = 60 * time.Second
	DefaultWarning     = 60 * time.Second
)

// Dialogue keeps threads and runs turns; [dialogue.Service] implements it.
type Dialogue interface {
	Caller(ctx context.Context, c token.Claims) (dialogue.Caller, error)
	Open(ctx context.Context, who dialogue.Caller, threadID string, c dialogue.Context) (store.Thread, error)
	Opening(ctx context.Context, who dialogue.Caller, t store.Thread, c dialogue.Context) (phrase, messageID string, err error)
	Turn(ctx context.Context, who dialogue.Caller, req dialogue.TurnRequest, emit func(converse.Segment) error) (dialogue.TurnResult, error)
	KeepSpoken(ctx context.Context, who dialogue.Caller, messageID, text string) error
}

// Threads is what is stored with a thread; [store.Store] implements it.
type Threads interface {
	HasTurn(ctx context.Context, threadID, id string) (bool, error)
	UpdateThread(ctx context.Context, scope store.Scope, id string, change func(*store.Thread) error) (store.Thread, error)
}

// Tokens checks tokens; [token.Authority] implements it.
type Tokens interface {
	Check(ctx context.Context, text string, use token.Use) (token.Claims, error)
	Valid(ctx context.Context, c token.Claims) error
}

// Conn is the service's end of a control socket; [socketio.Session] implements it.
type Conn interface {
	ID() string
	Handshake() socketio.Handshake
	Events() <-chan socketio.Event
	Emit(name string, args ...any) error
	Close() error
	Drop()
}

var (
	_ Dialogue = (*dialogue.Service)(nil)
	_ Threads  = (*store.Store)(nil)
	_ Tokens   = (*token.Authority)(nil)
	_ Conn     = (*socketio.Session)(nil)
)

// Hub runs the sessions of a service. Its methods may be called from any
// goroutine.
type Hub struct {
	cfg Config

	calls   quota.Count
	sockets quota.Count
	bytes   quota.Count

	exhausted, tierFull atomic.Bool
	silent              atomic.Bool // turns are not acknowledged

	// mu guards what follows; it is never held while waiting.
	mu       sync.Mutex
	sessions map[string]*Session // by socket id
	served   int
}

// Counts returns how many sessions there are now, and how many there were since the start.
func (h *Hub) Counts() (now, all int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions), h.served
}

// NewHub returns a Hub.
func NewHub(c Config) *Hub {
	c.Timing.PauseWindow = cmp.Or(max(c.Timing.PauseWindow, 0), DefaultPauseWindow)
	c.Timing.Unwatched = cmp.Or(max(c.Timing.Unwatched, 0), DefaultUnwatched)
	c.Timing.UnusedRoom = cmp.Or(max(c.Timing.UnusedRoom, 0), DefaultUnusedRoom)
	c.Timing.Join = cmp.Or(max(c.Timing.Join, 0), DefaultJoin)
	return &Hub{
		cfg: c, sessions: map[string]*Session{}, calls: quota.Count{Limit: c.Calls, Shared: true},
		sockets: quota.Count{Limit: c.Sockets}, bytes: quota.Count{Limit: c.SocketBytes},
	}
}

// Authorize accepts a handshake whose token opens conversations. A token that
// expires later does not end its socket (choice A5).
func (h *Hub) Authorize(ctx context.Context, hs socketio.Handshake) error {
	claims, err := h.cfg.Tokens.Check(ctx, tokenOf(hs), useOf(hs))
	if err != nil || !mayTalk(&claims) {
		h.cfg.Logger.Info("socket refused", "remote", hs.RemoteAddr, "err", err)
		return errUnauthorized
	}
	return nil
}

// connectWork is about how many milliseconds of the processor a new socket takes until it
// has joined.
const connectWork = 10

// errUnauthorized is the only reply to a token that is not accepted
// (choice A4).
var errUnauthorized = &socketio.RefusedError{Message: "unauthorized"}

// Serve runs the session of a socket until the socket is gone for good.
func (h *Hub) Serve(ctx context.Context, conn Conn) {
	hs := conn.Handshake()
	s := newSession(ctx, h, conn)
	s.token, s.use = tokenOf(hs), useOf(hs)
	debugMode := hs.Query.Get("debugMode")
	s.debugEvents = debugMode == "true" || debugMode == "1" // choice F11

	// This check counts as a second action of the token: a token that permits only one
	// can connect, and no more.
	claims, err := h.cfg.Tokens.Check(ctx, s.token, s.use)
	if err != nil {
		s.refuse(err)
		return // which disconnects
	}
	s.caller = claims
	by := quota.Client{Token: claims.Client(), Addr: s.use.Addr}
	if !h.sockets.Take(by, 1) {
		s.refuse(dialogue.ErrBusy)
		return
	}
	defer h.sockets.Free(by, 1)
	if err := h.cfg.Work.Wait(ctx, by, connectWork); err != nil {
		s.refuse(dialogue.ErrBusy)
		return
	}
	// Only a session that is about to run is listed, because others wait for what they post
	// to it. A token that is ended from now on is either refused here or its session is
	// found by TokenEnded.
	h.mu.Lock()
	h.sessions[conn.ID()] = s
	h.served++
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sessions, conn.ID())
	}()
	if err := h.cfg.Tokens.Valid(ctx, claims); err != nil {
		defer close(s.ended)
		s.refuse(err)
		return
	}
	s.run(conn.Events())
}

// Reserve takes memory for a message of a client, or gives it back, as
// [socketio.ServerOptions] require it.
func (h *Hub) Reserve(hs socketio.Handshake, n int) bool {
	by := quota.Client{Addr: useOf(hs).Addr}
	if n < 0 {
		h.bytes.Free(by, -n)
		return true
	}
	return h.bytes.Take(by, n)
}

// TokenEnded closes the sessions of tokens that were ended, and does not wait for
// them. The client is disconnected without an event: when it connects again it gets
// the same reply as for any token that is not accepted (choice A5).
func (h *Hub) TokenEnded(e token.Ended) {
	for _, s := range h.running() {
		s.post(func() {
			if e.Covers(&s.caller) || e.Covers(&s.who.Claims) {
				s.log.Info("session closed: its token was ended")
				s.hangUp()
			}
		})
	}
}

func newSession(ctx context.Context, h *Hub, conn Conn) *Session {
	s := &Session{
		inbox: newInbox(), cfg: &h.cfg, hub: h, conn: conn, since: time.Now(),
		log: h.cfg.Logger.With("session", conn.ID()), stored: make(chan struct{}),
		unstored: map[string]*receipt{}, ended: make(chan struct{}),
	}
	close(s.stored)
	s.ctx, s.stop = context.WithCancel(ctx)
	return s
}

// tokenOf reads the token of a handshake, "" when there is none.
func tokenOf(hs socketio.Handshake) string {
	var auth struct {
		Token string `json:"token"`
	}
	if json.Unmarshal(hs.Auth, &auth) != nil {
		return ""
	}
	return auth.Token
}

func useOf(hs socketio.Handshake) token.Use {
	return token.Use{Path: SocketPath, Addr: quota.AddrOf(hs.RemoteAddr)}
}

// takeSlot takes one of the slots for picture and voice, within the quotas.
func (h *Hub) takeSlot(by quota.Client) bool { return !h.exhausted.Load() && h.calls.Take(by, 1) }

// client is whom the quotas count what the session takes for.
func (s *Session) client() quota.Client {
	return quota.Client{Token: s.who.Claims.Client(), Addr: s.use.Addr}
}

// availability reports whether a client could start one more conversation; a session that
// has its slot does not count against itself.
func (h *Hub) availability(by quota.Client, hasSlot bool) signaling.Availability {
	calls := h.calls.Total()
	free := !h.exhausted.Load() && (hasSlot || h.calls.Fits(by, 1))
	details, err := json.Marshal(signaling.CapacityDetails{
		StvAvailable: free, WhisperAvailable: true, ActiveCalls: calls, MaxCalls: h.cfg.Calls.Total, CapacityAvailable: free,
	})
	if err != nil { // a struct of numbers always marshals
		return signaling.Availability{Error: err.Error()}
	}
	a := signaling.Availability{Available: free, Details: details}
	if !free {
		a.Reason = "capacity"
	}
	return a
}

// SetExhausted makes the service behave as if every slot was taken.
func (h *Hub) SetExhausted(on bool) { h.exhausted.Store(on) }

// SetTierExceeded makes the service behave as if the plan's limit was reached.
func (h *Hub) SetTierExceeded(on bool) { h.tierFull.Store(on) }

// SetAcknowledging sets whether the service acknowledges typed turns and drops
// repeated ones. It does so at first; the real service may not (choice A22).
func (h *Hub) SetAcknowledging(on bool) { h.silent.Store(!on) }

// running are the live sessions, in any order.
func (h *Hub) running() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.sessions))
}

// Sessions describes the live sessions, oldest first.
func (h *Hub) Sessions(ctx context.Context) []Info {
	infos := []Info{}
	for _, s := range h.running() {
		if info, err := s.Info(ctx); err == nil {
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
	})
	return infos
}

// Session returns the live session with that socket id.
func (h *Hub) Session(id string) (*Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.sessions[id]
	if !ok {
		return nil, fmt.Errorf("session %q: %w", id, ErrNoSession)
	}
	return s, nil
}
