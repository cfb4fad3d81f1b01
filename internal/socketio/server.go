//go:build !js

package socketio

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// DefaultRecovery is the usual recovery window (protocol §1.9.5).
const DefaultRecovery = 20 * time.Second

const (
	defaultPingInterval = 25 * time.Second
	// handshakeTimeout bounds the time from the WebSocket to a complete handshake,
	// Authorize included.
	handshakeTimeout = 45 * time.Second
	// maxInGap bounds the sessions that wait for their client to reconnect. A further
	// session ends at once when it loses its connection.
	maxInGap = 2048
	// defaultPacketTimeout is as long as the local service waits for the body of a request.
	defaultPacketTimeout = 30 * time.Second
)

// ServerOptions are the options of [NewServer]. The zero value of each field but
// Recovery means its default; the times are those of the official server.
type ServerOptions struct {
	// PingInterval is the time between pings, default 25 s; PingTimeout is how long a
	// pong may take, default 20 s.
	PingInterval time.Duration
	PingTimeout  time.Duration
	// MaxPayload bounds one incoming packet with all of its attachments, in bytes; default
	// 1,000,000. PacketTimeout is how long it may take to arrive once its first byte has;
	// default 30 s.
	MaxPayload    int64
	PacketTimeout time.Duration
	// Reserve, when set, is called before a message of more than 4 KiB is read: it takes n
	// bytes of memory for the client, or returns false, and then the client is
	// disconnected. With a negative n it gives them back, because the packet has arrived.
	Reserve func(h Handshake, n int) bool
	// PacketRate, if it is not 0, is how many packets a second of one client are handled,
	// after a burst of up to ten times as many; each 8 KiB of a packet count as one more.
	// The socket of a client that sends more is not read for a while.
	PacketRate int
	// Recovery is how long a session outlives its connection; 0 switches recovery
	// off. [DefaultRecovery] is the usual value; [Server.SetRecovery] changes it.
	Recovery time.Duration
	// SendBuffer bounds the bytes that wait to be sent on one connection; default
	// 1 MiB. When it is full, the client is disconnected.
	SendBuffer int

	// Authorize, when set, accepts a handshake or refuses it with an error: the client
	// receives the error's text, or Message and Data of a [RefusedError]. It is also called
	// before a recovery, and must return when ctx ends.
	Authorize func(ctx context.Context, h Handshake) error
	// Serve is called once for each session, on a goroutine of its own. When it
	// returns, the client is disconnected; ctx ends with the session.
	Serve func(ctx context.Context, c *Session)
}

// Handshake is what a client has sent before it was connected. All of it is
// untrusted.
type Handshake struct {
	Query      url.Values
	Auth       json.RawMessage // the connect packet's object, or nil
	RemoteAddr string
}

// Server is the remote side of many connections: an http.Handler to be mounted
// at /socket.io/.
type Server struct {
	opts     ServerOptions
	recovery atomic.Int64 // time.Duration
	refuse   atomic.Bool  // the next recovery
	inGap    atomic.Int64 // sessions without a connection
	maxInGap int64
	quit     chan struct{}

	mu       sync.Mutex
	closed   bool
	sessions map[string]*Session // sessions that can be recovered, by pid
	wg       sync.WaitGroup
}

// NewServer returns a server. Close ends it.
func NewServer(o ServerOptions) *Server {
	o.PingInterval = cmp.Or(o.PingInterval, defaultPingInterval)
	o.PingTimeout = cmp.Or(o.PingTimeout, 20*time.Second)
	o.MaxPayload = cmp.Or(o.MaxPayload, 1_000_000)
	o.SendBuffer = cmp.Or(o.SendBuffer, 1<<20)
	o.PacketTimeout = cmp.Or(o.PacketTimeout, defaultPacketTimeout)
	if o.Serve == nil {
		o.Serve = func(ctx context.Context, _ *Session) { <-ctx.Done() }
	}
	s := &Server{opts: o, quit: make(chan struct{}), sessions: map[string]*Session{}, maxInGap: maxInGap}
	s.SetRecovery(o.Recovery)
	return s
}

// SetRecovery changes how long sessions outlive their connection; it applies to
// connections that are lost later. With 0, new sessions are not offered recovery, and
// existing ones end with their connection.
func (s *Server) SetRecovery(window time.Duration) { s.recovery.Store(int64(window)) }

// RefuseNextRecovery makes the next attempt to recover a session fail: the old
// session ends, the client gets a new one.
func (s *Server) RefuseNextRecovery() { s.refuse.Store(true) }

// Close aborts every connection, as the end of the process would, and waits until
// each Serve has returned. Clients may try to connect again.
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

// ServeHTTP accepts one WebSocket and runs the connection; other requests are refused
// with the error codes of the official server. Pages of every origin may connect,
// because a session depends on the handshake's auth, which no browser adds by itself.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	code, message := 0, ""
	switch {
	case query.Get("transport") != "websocket":
		message = "Transport unknown"
	case query.Has("sid"):
		code, message = 1, "Session ID unknown"
	case r.Method != http.MethodGet:
		code, message = 2, "Bad handshake method"
	case query.Get("EIO") != "4":
		code, message = 5, "Unsupported protocol version"
	case r.Header.Get("Upgrade") == "":
		code, message = 3, "Bad request"
	}
	if message != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(marshal(map[string]any{"code": code, "message": message})) // fails when the client has disconnected
		return
	}
	pings := newBucket(pingRate, pingBurst)
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true,
		// Clients of this protocol have no use for the pings of WebSocket, each of which is
		// answered.
		OnPingReceived: func(context.Context, []byte) bool { return pings.take(1) == 0 },
	})
	if err != nil {
		return // Accept has written the response
	}
	s.accept(newWebSocket(ws, maxStranger), Handshake{Query: query, RemoteAddr: r.RemoteAddr})
}

// accept starts the handshake on a new transport.
func (s *Server) accept(t transport, h Handshake) {
	if !s.spawn(func() { s.handshake(t, h) }) {
		t.Abort()
	}
}

// handshake waits for the client's connect packet (protocol §1.9.2) and ends
// when a session has taken the connection over or it is closed.
func (s *Server) handshake(t transport, h Handshake) {
	client := h // h is completed below, while the door may be read
	door := newDoor(t, s.opts.PacketTimeout, func(n int) bool { return s.opts.Reserve == nil || s.opts.Reserve(client, n) })
	conn := &serverConnection{
		connection: newConnection(door, s.opts.SendBuffer, &s.wg, door.complete),
		heartbeat:  heartbeat{timer: time.NewTimer(s.opts.PingInterval), interval: s.opts.PingInterval, timeout: s.opts.PingTimeout},
	}
	conn.out.push(enginePacket(engineOpen, marshal(openPacket{
		SID: rand.Text(), Upgrades: []string{}, MaxPayload: s.opts.MaxPayload,
		PingInterval: s.opts.PingInterval.Milliseconds(), PingTimeout: s.opts.PingTimeout.Milliseconds(),
	})))

	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	var authorized chan error // nil before the connect packet
	for {
		select {
		case r := <-conn.in:
			connect, ok := conn.onHandshake(r)
			if !ok || connect != nil && authorized != nil {
				conn.abort()
				return
			}
			if connect == nil {
				continue
			}
			h.Auth = connect.data
			authorized = make(chan error, 1)
			if s.opts.Authorize == nil {
				authorized <- nil
				continue
			}
			h, result := h, authorized
			s.spawn(func() { result <- s.opts.Authorize(ctx, h) })
		case <-conn.heartbeat.timer.C:
			if !conn.heartbeat.ping(conn.out, 0) {
				conn.abort()
				return
			}
		case err := <-authorized:
			if err != nil {
				conn.refuse(err)
			} else {
				door.open(int(s.opts.MaxPayload))
			}
			if err != nil || !s.admit(conn, h) {
				conn.close()
			}
			return
		case <-ctx.Done():
			conn.abort()
			return
		case <-s.quit:
			conn.abort()
			return
		}
	}
}

// onHandshake handles one packet before the handshake is complete, and returns it
// if it is the connect packet; ok is false when the client has violated the protocol or
// disconnected.
func (c *serverConnection) onHandshake(r received) (connect *packet, ok bool) {
	if r.err != nil {
		return nil, false
	}
	c.heartbeat.received()
	switch {
	case r.engine == enginePong:
		c.heartbeat.pong()
		return nil, true
	case r.engine == engineUpgrade, r.engine == engineNoop:
		return nil, true
	case r.engine != engineMessage, r.packet.typ != typeConnect:
		return nil, false
	case r.packet.namespace != rootNamespace:
		return nil, c.refuseNamespace(r.packet.namespace)
	}
	return &r.packet, true
}

// admit attaches the connection to the session that the client asks to recover, or
// to a new one. False means that the server is closed.
func (s *Server) admit(conn *serverConnection, h Handshake) bool {
	var recovery struct {
		PID    string `json:"pid"`
		Offset string `json:"offset"`
	}
	_ = json.Unmarshal(h.Auth, &recovery) // without a valid pid, the session is new
	s.mu.Lock()
	old := s.sessions[recovery.PID]
	s.mu.Unlock()
	if old != nil {
		recovered := false
		if old.do(func() { recovered = old.resume(conn, h, recovery.Offset) }) && recovered {
			return true
		}
	}
	return s.startSession(conn, h)
}

// refuse sends the reason why the handshake is not accepted (protocol §1.9.2).
func (c *connection) refuse(err error) {
	answer := struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{Message: err.Error()}
	var refused *RefusedError
	if errors.As(err, &refused) {
		answer.Message = refused.Message
		if json.Valid(refused.Data) {
			answer.Data = refused.Data
		}
	}
	c.answer(typeConnectError, answer)
}

// refuseNamespace refuses a connect packet for a namespace other than the default one.
func (c *connection) refuseNamespace(name string) bool {
	p := packet{typ: typeConnectError, id: noID, namespace: name, data: json.RawMessage(`{"message":"Invalid namespace"}`)}
	return c.out.offer(p.encode()...)
}

// answer sends the response to the client's connect packet.
func (c *connection) answer(typ packetType, payload any) {
	p := packet{typ: typ, id: noID, data: marshal(payload)}
	c.out.push(p.encode()...)
}

// maxStranger bounds the total number of bytes that a client may send before its handshake
// is accepted (choice A16, which allows twice as much): heartbeats, and the connect packet,
// whose token has at most 8 KB.
const maxStranger = 32 << 10

// errNoMemory ends the connection of a client for whose message no memory is left. The
// session may be recovered.
var errNoMemory = errors.New("socketio: too much is arriving at once")

// serverConnection is a connection of a server, with its heartbeat.
type serverConnection struct {
	*connection
	heartbeat heartbeat
}

// heartbeat is the part of a server's connection that detects whether the client is
// still connected.
type heartbeat struct {
	timer    *time.Timer
	interval time.Duration
	timeout  time.Duration
	waiting  bool   // for a pong
	offset   uint64 // of the last event sent before the ping
}

// ping is called when the timer has fired: it sends a ping, or returns false when the
// pong is overdue.
func (h *heartbeat) ping(out *sendQueue, offset uint64) bool {
	if h.waiting {
		return false
	}
	h.waiting, h.offset = true, offset
	out.push(enginePacket(enginePing, nil))
	h.timer.Reset(h.timeout)
	return true
}

// received extends the wait for a pong, because the client may still be sending what
// precedes it.
func (h *heartbeat) received() {
	if h.waiting {
		h.timer.Reset(h.timeout)
	}
}

// pong ends the wait; the next ping is due an interval later.
func (h *heartbeat) pong() {
	h.waiting = false
	h.timer.Reset(h.interval)
}
