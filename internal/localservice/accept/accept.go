// Package accept keeps listeners running after temporary errors: a service must not
// end because, for example, its process has no file descriptor left. It also bounds how
// many connections one address may have, and ends HTTP servers.
package accept

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/quota"
)

// Bounds of the wait after an error; it doubles from one error to the next.
const (
	minWait = 5 * time.Millisecond
	maxWait = time.Second
)

// Listener returns ln with an Accept that fails only when ln was closed: after any
// other error, which it logs, it waits and tries again.
func Listener(ln net.Listener, log *slog.Logger) net.Listener {
	return &listener{Listener: ln, log: log, closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	log *slog.Logger

	once   sync.Once
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	wait := minWait
	for {
		c, err := l.Listener.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return c, err
		}
		l.log.Warn("connection not accepted", "address", l.Addr().String(), "err", err, "again_in", wait)
		select {
		case <-time.After(wait):
		case <-l.closed:
			return nil, net.ErrClosed
		}
		wait = min(2*wait, maxWait)
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Serve runs an HTTP server on ln, with TLS if it has a TLSConfig, until ctx ends. It then takes
// no further connection and gives the requests in progress that grace to be answered. It closes
// ln, and returns nil after the end of ctx, otherwise why it could not go on.
func Serve(ctx context.Context, server *http.Server, ln net.Listener, grace time.Duration) error {
	run := server.Serve
	if server.TLSConfig != nil {
		run = func(ln net.Listener) error { return server.ServeTLS(ln, "", "") }
	}
	served := make(chan error, 1)
	go func() { served <- run(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if server.Shutdown(ending) != nil {
		server.Close() // those in progress took longer
	}
	<-served
	return nil
}

// Limit returns ln with an Accept that refuses connections beyond a limit and closes them; refuse
// may write to them. The limit is that for an address and for all; connections have no token.
func Limit(ln net.Listener, limit quota.Limit, refuse func(net.Conn)) net.Listener {
	return &limited{Listener: ln, count: quota.Count{Limit: limit}, refuse: refuse}
}

type limited struct {
	net.Listener
	count  quota.Count
	refuse func(net.Conn)
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := quota.Client{Addr: quota.AddrOf(c.RemoteAddr().String())}
		if l.count.Take(from, 1) {
			return &counted{Conn: c, free: sync.OnceFunc(func() { l.count.Free(from, 1) })}, nil
		}
		l.refuse(c)
		_ = c.Close()
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	free func()
}

func (c *counted) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// CloseWrite closes the sending direction. net/http needs it so that a client whose upload
// was refused can read the reply.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
