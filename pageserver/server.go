package pageserver

import (
	"cmp"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Limits bound what one client takes of an HTTP server: how long it may hold a connection
// without using it, and how many it may hold. A field that is 0 means its default.
//
// A reply that is streamed for longer than Reply allows must move its deadline, with
// [http.ResponseController.SetWriteDeadline] before every part. A connection that was taken
// over by a handler, such as a WebSocket, has no time limits, but counts.
type Limits struct {
	// Header is the time for the header of a request, and for a new connection to begin
	// one. Default 10 s.
	Header time.Duration
	// Request is the time for a whole request, header and body. Default 30 s. Then the
	// handler that reads the body gets [os.ErrDeadlineExceeded].
	Request time.Duration
	// Reply is the time from the end of a request's header to the end of its reply: for
	// the body, the handler and a client that reads slowly. Default 5 min, in which 11 MB
	// pass at 300 kbit/s.
	Reply time.Duration
	// Idle is how long a connection may wait for its next request. Default 2 min.
	Idle time.Duration
	// HeaderBytes is the size of a request's header. Default 64 KiB.
	HeaderBytes int
	// PerAddress is how many connections one client address may hold, of which each 64-bit
	// prefix of IPv6 is one. Default 1024; a negative number is no limit. All clients
	// of a server behind a proxy have the proxy's address.
	PerAddress int
	// Logger gets a warning when an address reaches PerAddress; nil discards it.
	Logger *slog.Logger
}

// Defaults of [Limits].
const (
	DefaultHeader      = 10 * time.Second
	DefaultRequest     = 30 * time.Second
	DefaultReply       = 5 * time.Minute
	DefaultIdle        = 2 * time.Minute
	DefaultHeaderBytes = 64 << 10
	DefaultPerAddress  = 1024
)

// Server returns a server with these limits, for a listener of [Limits.Listen].
func (l Limits) Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: cmp.Or(l.Header, DefaultHeader), ReadTimeout: cmp.Or(l.Request, DefaultRequest),
		WriteTimeout: cmp.Or(l.Reply, DefaultReply), IdleTimeout: cmp.Or(l.Idle, DefaultIdle), MaxHeaderBytes: cmp.Or(l.HeaderBytes, DefaultHeaderBytes),
	}
}

// Listen returns ln with the limit on the connections of one address. A connection beyond
// it gets 503 (Service Unavailable) and is closed.
func (l Limits) Listen(ln net.Listener) net.Listener {
	l.PerAddress = cmp.Or(l.PerAddress, DefaultPerAddress)
	if l.PerAddress < 0 {
		return ln
	}
	if l.Logger == nil {
		l.Logger = slog.New(slog.DiscardHandler)
	}
	return &listener{Listener: ln, limits: l, held: map[netip.Addr]int{}}
}

type listener struct {
	net.Listener
	limits Limits

	mu     sync.Mutex
	held   map[netip.Addr]int
	warned time.Time
}

// tooMany is the reply to a connection beyond the limit.
const tooMany = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := client(c.RemoteAddr())
		if l.take(from) {
			return &held{Conn: c, free: sync.OnceFunc(func() { l.free(from) })}, nil
		}
		_, _ = c.Write([]byte(tooMany)) // fits into the empty buffer of a new connection
		_ = c.Close()
	}
}

// client is what counts as one client of an address.
func client(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.Is6() {
		prefix, _ := ip.Prefix(64)
		return prefix.Addr()
	}
	return ip
}

func (l *listener) take(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[from] < l.limits.PerAddress {
		l.held[from]++
		return true
	}
	if now := time.Now(); now.Sub(l.warned) >= time.Minute { // one line, not one for each connection
		l.warned = now
		l.limits.Logger.Warn("connections are refused: one address holds as many as it may", "address", from, "limit", l.limits.PerAddress)
	}
	return false
}

func (l *listener) free(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[from]--; l.held[from] <= 0 {
		delete(l.held, from)
	}
}

// held is a connection that counts until it is closed.
type held struct {
	net.Conn
	free func()
}

func (h *held) Close() error {
	defer h.free()
	return h.Conn.Close()
}

// CloseWrite closes the sending direction. net/http needs it so that a client whose upload
// was refused can read the reply.
func (h *held) CloseWrite() error {
	if half, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
