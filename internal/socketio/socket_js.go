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
	errBroken    = errors.New("socketio: the WebSocket failed")
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
	// frameCost is what a message costs in the inbox beyond its bytes, so that a
	// flood of empty ones is bounded too.
	frameCost = 64
	// maxHeld is how many bytes the browser may hold for the network before a
	// writer waits, and drainPoll how often it looks: no event tells of less.
	maxHeld   = 1 << 20
	drainPoll = 20 * time.Millisecond
)

// socket is the page's WebSocket. A wasm program has one thread, so its fields
// need no lock.
type socket struct {
	ws    js.Value
	scope *jsbridge.Scope
	limit int64 // bytes of one message

	inbox   []frame
	waiting int64         // what inbox costs
	arrived chan struct{} // holds a token when inbox has grown
	err     error         // why nothing more comes
	ended   chan struct{} // closed when err is set
	gone    chan struct{} // closed when the browser has closed the socket, or by Abort
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
		ws: ws, scope: jsbridge.NewScope(nil), limit: o.MaxMessage,
		arrived: make(chan struct{}, 1), ended: make(chan struct{}), gone: make(chan struct{}),
	}
	opened := make(chan struct{})
	if err := s.listen(opened); err != nil {
		s.Abort()
		return nil, err
	}
	select {
	case <-opened:
		return s, nil
	case <-s.gone:
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
		"open":    func(js.Value) { close(opened) },
		"message": s.take,
		"error":   func(js.Value) { s.fail(errBroken) }, // a close event follows
		"close": func(js.Value) {
			s.fail(io.EOF)
			s.leave()
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
	f, err := s.message(event)
	cost := int64(len(f.data)) + frameCost
	switch {
	case err != nil:
		s.fail(err)
	case s.waiting > 0 && s.waiting+cost > floodFactor*s.limit:
		s.fail(ErrSlowConsumer)
	default:
		s.inbox = append(s.inbox, f)
		s.waiting += cost
		select {
		case s.arrived <- struct{}{}:
		default:
		}
	}
}

// message copies the message of an event, unless it is longer than the limit.
func (s *socket) message(event js.Value) (frame, error) {
	data, err := jsbridge.Get(event, "data")
	if err != nil {
		return frame{}, err
	}
	if data.Type() == js.TypeString {
		text := []byte(data.String())
		return frame{data: text}, s.fits(len(text))
	}
	size, err := jsbridge.Get(data, "byteLength")
	if err == nil {
		err = s.fits(size.Int())
	}
	f := frame{binary: true}
	if err == nil {
		err = jsbridge.FromJS("message", data, &f.data)
	}
	return f, err
}

func (s *socket) fits(size int) error {
	if int64(size) > s.limit {
		return errTooBig
	}
	return nil
}

// fail notes why nothing more comes; the first cause counts.
func (s *socket) fail(err error) {
	if s.err == nil {
		s.err = err
		close(s.ended)
	}
}

// leave notes that nothing more is to be expected of the browser.
func (s *socket) leave() {
	select {
	case <-s.gone:
	default:
		close(s.gone)
	}
}

// Read returns what came before the end, then the end.
func (s *socket) Read() (frame, error) {
	for len(s.inbox) == 0 {
		if s.err != nil {
			return frame{}, s.err
		}
		select {
		case <-s.arrived:
		case <-s.ended:
		}
	}
	f := s.inbox[0]
	s.inbox[0] = frame{} // let its bytes go
	s.inbox = s.inbox[1:]
	s.waiting -= int64(len(f.data)) + frameCost
	return f, nil
}

// Write hands f to the browser, and waits while that holds much already: a
// browser never makes a page wait, so a peer that takes nothing would fill its
// memory.
func (s *socket) Write(f frame) error {
	for s.err == nil && s.held() > maxHeld {
		select {
		case <-time.After(drainPoll):
		case <-s.ended:
		}
	}
	if s.err != nil {
		return s.err
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

// held returns the bytes that the browser has not given to the network.
func (s *socket) held() int {
	amount, err := jsbridge.Get(s.ws, "bufferedAmount")
	if err != nil || amount.Type() != js.TypeNumber {
		return 0 // a page's own WebSocket may not tell
	}
	return amount.Int()
}

// Close says goodbye after what the browser still holds.
func (s *socket) Close() error {
	_, err := jsbridge.Call(s.ws, "close", normalClosure)
	limit := time.NewTimer(closeTimeout)
	defer limit.Stop()
	select {
	case <-s.gone:
	case <-limit.C: // the browser goes on closing by itself
	}
	s.end()
	return err
}

// Abort closes without waiting; also a handshake that is still under way.
func (s *socket) Abort() {
	_, _ = jsbridge.Call(s.ws, "close", normalClosure) // of no use any more, whatever the error
	s.end()
}

// end lets the browser's side go and everybody who waits.
func (s *socket) end() {
	s.scope.End()
	s.fail(errAborted)
	s.leave()
}
