//go:build !js

package socketio

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Defaults of [ServerOptions]: those of the official server where it has them,
// and the recovery window of wire-protocol §1.9.5.
const (
	DefaultPingInterval     = 25 * time.Second
	DefaultPingTimeout      = 20 * time.Second
	DefaultMaxPayload       = 1_000_000 // bytes
	DefaultHandshakeTimeout = 45 * time.Second
	DefaultRecovery         = 20 * time.Second
	DefaultServerBuffer     = 8 << 20 // bytes
	DefaultMaxKept          = 1000
)

// ServerOptions are the options of [NewServer]. The zero value of each field but
// Recovery means its default.
type ServerOptions struct {
	// PingInterval is the time between pings, PingTimeout how long a pong may
	// take.
	PingInterval time.Duration
	PingTimeout  time.Duration
	// MaxPayload bounds one incoming WebSocket message in bytes.
	MaxPayload int64
	// ConnectTimeout bounds the time from the socket to a complete handshake,
	// Authorize included.
	ConnectTimeout time.Duration

	// Recovery is how long a session outlives its socket; 0 switches recovery
	// off. [DefaultRecovery] is the usual value; [Server.SetRecovery] changes it.
	Recovery time.Duration
	// MaxKept bounds the sessions that wait for their client at one time. One
	// more ends at once.
	MaxKept int

	// SendBuffer bounds the bytes that wait to be sent on one connection. A peer
	// that reads too slowly for it is disconnected.
	SendBuffer int

	// Authorize, when set, accepts a handshake or refuses it: the client is told
	// the error's text, or Message and Data of a [RefusedError]. It is also asked
	// before a recovery, and must return when ctx ends.
	Authorize func(ctx context.Context, h Handshake) error
	// Serve runs once for each session, on a goroutine of its own. When it
	// returns, the client is disconnected; ctx ends with the session.
	Serve func(ctx context.Context, c *Conn)

	// Tap, when set, sees every event in both directions.
	Tap Tap
}

// Handshake is what a client has said before it was connected. All of it is
// untrusted.
type Handshake struct {
	Query      url.Values
	Auth       json.RawMessage // the connect packet's object, or nil
	Header     http.Header
	RemoteAddr string
	// Recovering is true when the client asks for a session that is there.
	Recovering bool
}

// Server is the remote side of many connections: an http.Handler to be mounted
// at /socket.io/.
type Server struct {
	opts     ServerOptions
	recovery atomic.Int64 // time.Duration
	refuse   atomic.Bool  // the next recovery
	kept     atomic.Int64 // sessions without a socket
	quit     chan struct{}

	mu     sync.Mutex
	closed bool
	conns  map[string]*Conn // by pid, for sessions that can be recovered
	wg     sync.WaitGroup
}

var _ http.Handler = (*Server)(nil)

// NewServer returns a server. Close ends it.
func NewServer(o ServerOptions) *Server {
	setDefault(&o.PingInterval, DefaultPingInterval)
	setDefault(&o.PingTimeout, DefaultPingTimeout)
	setDefault(&o.MaxPayload, DefaultMaxPayload)
	setDefault(&o.ConnectTimeout, DefaultHandshakeTimeout)
	setDefault(&o.SendBuffer, DefaultServerBuffer)
	setDefault(&o.MaxKept, DefaultMaxKept)
	if o.Serve == nil {
		o.Serve = func(ctx context.Context, _ *Conn) { <-ctx.Done() }
	}
	s := &Server{opts: o, quit: make(chan struct{}), conns: map[string]*Conn{}}
	s.SetRecovery(o.Recovery)
	return s
}

// SetRecovery changes how long sessions outlive their socket, from the next drop
// on. With 0, new sessions are not offered recovery, and those that were offered
// it end with their socket.
func (s *Server) SetRecovery(window time.Duration) { s.recovery.Store(int64(window)) }

// RefuseNextRecovery makes the next attempt to recover a session fail: the old
// session ends, the client gets a new one.
func (s *Server) RefuseNextRecovery() { s.refuse.Store(true) }

// Close cuts every connection, as the end of the process would, and waits until
// each Serve has returned. Clients will try to connect again.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.quit)
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

// spawn runs f on a goroutine that Close waits for, unless the server is closed.
func (s *Server) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Go(f)
	return true
}

// ServeHTTP accepts one WebSocket and hands it over; anything else is answered
// with the codes of the official server. Pages of every origin may connect: what
// counts is the handshake's auth, which no browser adds by itself.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Get("transport") != "websocket":
		refuse(w, http.StatusBadRequest, 0, "Transport unknown")
		return
	case query.Has("sid"):
		refuse(w, http.StatusBadRequest, 1, "Session ID unknown")
		return
	case r.Method != http.MethodGet:
		refuse(w, http.StatusBadRequest, 2, "Bad handshake method")
		return
	case query.Get("EIO") != "4":
		refuse(w, http.StatusBadRequest, 5, "Unsupported protocol version")
		return
	case r.Header.Get("Upgrade") == "":
		refuse(w, http.StatusBadRequest, 3, "Bad request")
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return // Accept has answered
	}
	h := Handshake{Query: query, Header: r.Header.Clone(), RemoteAddr: r.RemoteAddr}
	s.accept(newSocket(ws, s.opts.MaxPayload), h)
}

// refuse answers a request that is no handshake.
func refuse(w http.ResponseWriter, status, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that is gone does not miss the answer.
	_ = json.NewEncoder(w).Encode(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}{code, message})
}

// accept starts the handshake on a new socket.
func (s *Server) accept(t transport, h Handshake) {
	if !s.spawn(func() { s.greet(t, h) }) {
		t.Abort()
	}
}

// lookUp finds the session that a handshake wants to recover.
func (s *Server) lookUp(pid string) *Conn {
	if pid == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[pid]
}

func (s *Server) remember(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c.pid] = c
}

func (s *Server) forgetConn(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c.pid)
}
