//go:build !js

package socketio

import (
	"errors"
	"io"
	"sync"
)

// pipeEnd is one end of a socket that is made of Go channels.
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
	case f := <-p.in: // messages sent before the end are read before it
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
