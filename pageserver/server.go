package pageserver

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/accept"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
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

// Grace is how long the requests in progress may take after the end of [Limits.Serve]'s context.
const Grace = 2 * time.Second

// Serve answers the requests on ln with h, within these limits, until ctx ends. It then takes no
// further connection and gives the requests in progress [Grace] to be answered. It closes ln, and
// returns nil after the end of ctx, otherwise why it could not go on.
func (l Limits) Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	return accept.Serve(ctx, l.Server(h), l.Listen(ln), Grace)
}

// Listen returns ln with the limit on the connections of one address. A connection beyond
// it gets 503 (Service Unavailable) and is closed.
func (l Limits) Listen(ln net.Listener) net.Listener {
	log := l.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	most := cmp.Or(l.PerAddress, DefaultPerAddress)
	var warned time.Time
	return accept.Limit(ln, quota.Limit{Address: most}, func(c net.Conn) {
		if now := time.Now(); now.Sub(warned) >= time.Minute { // one line, not one for each connection
			warned = now
			log.Warn("connections are refused: one address holds as many as it may", "address", c.RemoteAddr(), "limit", most)
		}
		_, _ = io.WriteString(c, tooMany) // fits into the empty buffer of a new connection
	})
}

// tooMany is the reply to a connection beyond the limit.
const tooMany = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
