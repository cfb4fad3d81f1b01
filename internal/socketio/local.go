//go:build !js

package socketio

import (
	"context"
	"errors"
	"io"
	"net/url"
	"sync"
)

// NewLocalClient is [NewClient] for servers of this process. Each attempt to connect calls
// reach, which stands for the network: it returns the server that answers, or why none does,
// and may wait until ctx ends. There are no sockets of the system, so that many clients can be
// simulated in virtual time, where nothing can wait for real ones.
func NewLocalClient(address string, o ClientOptions, reach func(ctx context.Context) (*Server, error)) (*Client, error) {
	o.dial = func(ctx context.Context, address string, _ *ClientOptions) (transport, error) {
		s, err := reach(ctx)
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		near, far := pipe(localBuffer)
		s.accept(far, Handshake{Query: u.Query()})
		return near, nil
	}
	return NewClient(address, o)
}

// localBuffer is how many messages are under way between a local client and its server, each way.
const localBuffer = 64

// pipeEnd is one end of a socket of channels.
type pipeEnd struct {
	in, out chan message
	down    chan struct{} // closed when either side has closed
	once    *sync.Once
}

var errPipeDown = errors.New("pipe: down")

func pipe(buffer int) (*pipeEnd, *pipeEnd) {
	there, back := make(chan message, buffer), make(chan message, buffer)
	down, once := make(chan struct{}), new(sync.Once)
	return &pipeEnd{there, back, down, once}, &pipeEnd{back, there, down, once}
}

func (p *pipeEnd) Read() (message, error) {
	select {
	case f := <-p.in: // what came before the end is read before it
		return f, nil
	default:
	}
	select {
	case f := <-p.in:
		return f, nil
	case <-p.down:
		return message{}, io.EOF
	}
}

func (p *pipeEnd) Write(f message) error {
	select {
	case p.out <- f:
		return nil
	case <-p.down:
		return errPipeDown
	}
}

func (p *pipeEnd) Close() error {
	p.Abort()
	return nil
}

func (p *pipeEnd) Abort() { p.once.Do(func() { close(p.down) }) }
