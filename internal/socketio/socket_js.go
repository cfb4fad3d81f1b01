//go:build js && wasm

package socketio

import (
	"context"
	"errors"
	"io"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// The page's own WebSocket is used as it is. github.com/coder/websocket works in
// a page too, but its package imports net/http and with it all of crypto/tls:
// 374 kB after brotli, a quarter of the whole runtime.

var (
	// errHandshake is all there is to say: a browser hides the cause from the page.
	errHandshake = errors.New("socketio: the WebSocket handshake failed")
	errAborted   = errors.New("socketio: the WebSocket was abandoned")
)

const (
	// normalClosure is the only code of RFC 6455's own that a browser lets a page
	// send; with another one the socket would stay open.
	normalClosure = 1000
	// closeTimeout bounds the wait for the peer's goodbye.
	closeTimeout = 5 * time.Second
	// floodFactor times the limit of a message is how much may wait to be read:
	// a browser can't be told to take less from the network.
	floodFactor = 2
)

// socket is the page's WebSocket. A wasm program has one thread, so its fields
// need no lock.
type socket struct {
	ws     js.Value
	scope  *jsbridge.Scope
	limit  int64 // bytes of one message
	buffer int   // bytes that may wait to be sent

	inbox   []frame
	waiting int64         // bytes in inbox
	changed chan struct{} // holds a token when inbox or err changed
	err     error         // why nothing more comes
	closed  chan struct{} // closed by the browser's close event
}

var _ transport = (*socket)(nil)

// dialSocket opens a WebSocket.
func dialSocket(ctx context.Context, address string, o *ClientOptions) (transport, error) {
	constructor, err := jsbridge.Get(js.Global(), "WebSocket")
	if err != nil {
		return nil, err
	}
	ws, err := jsbridge.New(constructor, address)
	if err != nil {
		return nil, errHandshake // its text repeats the address with the query
	}
	s := &socket{
		ws: ws, scope: jsbridge.NewScope(nil), limit: o.MaxMessage, buffer: o.SendBuffer,
		changed: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	opened := make(chan struct{}, 1)
	if err := s.listen(opened); err != nil {
		s.Abort()
		return nil, err
	}
	select {
	case <-opened:
		return s, nil
	case <-s.closed:
		s.scope.End()
		return nil, errHandshake
	case <-ctx.Done():
		s.Abort()
		return nil, ctx.Err()
	}
}

func (s *socket) listen(opened chan<- struct{}) error {
	if err := jsbridge.Set(s.ws, "binaryType", "arraybuffer"); err != nil {
		return err
	}
	for event, fn := range map[string]func(js.Value){
		"open":    func(js.Value) { opened <- struct{}{} },
		"message": s.take,
		"close": func(js.Value) {
			s.fail(io.EOF)
			close(s.closed)
		},
	} {
		if _, err := s.scope.Listen(s.ws, event, fn); err != nil {
			return err
		}
	}
	return nil
}

// take puts a message into the inbox. It is called by the browser and must not
// wait.
func (s *socket) take(event js.Value) {
	if s.err != nil {
		return
	}
	data, err := jsbridge.Get(event, "data")
	if err != nil {
		s.fail(err)
		return
	}
	f := frame{binary: data.Type() != js.TypeString}
	if f.binary {
		err = jsbridge.FromJS("message", data, &f.data)
	} else {
		f.data = []byte(data.String())
	}
	size := int64(len(f.data))
	switch {
	case err != nil:
		s.fail(err)
	case size > s.limit, s.waiting+size > floodFactor*s.limit:
		s.fail(errTooBig)
	default:
		s.inbox = append(s.inbox, f)
		s.waiting += size
		s.signal()
	}
}

func (s *socket) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.signal()
}

func (s *socket) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *socket) Read() (frame, error) {
	for {
		if len(s.inbox) > 0 {
			f := s.inbox[0]
			s.inbox[0] = frame{} // let its bytes go
			s.inbox = s.inbox[1:]
			s.waiting -= int64(len(f.data))
			return f, nil
		}
		if s.err != nil {
			s.signal() // for a Read after this one
			return frame{}, s.err
		}
		<-s.changed
	}
}

// Write hands f to the browser, which never makes a writer wait: a peer that
// takes nothing is noticed by what the browser still holds.
func (s *socket) Write(f frame) error {
	if s.err != nil {
		return s.err
	}
	if held, err := jsbridge.Get(s.ws, "bufferedAmount"); err == nil && held.Int() > s.buffer {
		return ErrBufferFull
	}
	payload := any(string(f.data))
	if f.binary {
		bytes, err := jsbridge.ToJS(f.data)
		if err != nil {
			return err
		}
		payload = bytes
	}
	_, err := jsbridge.Call(s.ws, "send", payload)
	return err
}

func (s *socket) Close() error {
	_, err := jsbridge.Call(s.ws, "close", normalClosure)
	limit := time.NewTimer(closeTimeout)
	defer limit.Stop()
	select {
	case <-s.closed:
	case <-limit.C: // the browser goes on closing by itself
	}
	s.scope.End()
	s.fail(errAborted)
	return err
}

// Abort closes without waiting; also a handshake that is still under way.
func (s *socket) Abort() {
	_, _ = jsbridge.Call(s.ws, "close", normalClosure) // of no use any more, whatever the error
	s.scope.End()
	s.fail(errAborted)
}
