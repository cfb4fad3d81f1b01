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

// docs/architecture.md explains why this is not github.com/coder/websocket.

var (
	// errHandshake wraps no cause, because browsers hide the cause from the page.
	errHandshake = errors.New("socketio: the WebSocket handshake failed")
	errBroken    = errors.New("socketio: the WebSocket failed")
	errAborted   = errors.New("socketio: the WebSocket was aborted")
)

const (
	// normalClosure is the only status code defined by RFC 6455 that a browser lets a
	// page send; with another one, close fails and the socket stays open.
	normalClosure = 1000
	// closeTimeout bounds the wait for the peer's part of the closing handshake.
	closeTimeout = 5 * time.Second
	// unreadFactor times the limit of a message is how much may wait to be read, because
	// a page can't stop the browser from reading from the network.
	unreadFactor = 2
	// messageCost is added to the bytes of each waiting message, so that a flood of
	// empty messages is bounded too.
	messageCost = 64
	// maxBufferedAmount is how many bytes the browser may buffer before Write waits,
	// and drainPoll is the interval at which Write polls the amount, because there is
	// no event for it.
	maxBufferedAmount = 1 << 20
	drainPoll         = 20 * time.Millisecond
	// stateClosing is the readyState from which on a WebSocket discards what is sent.
	stateClosing = 2
)

// webSocket is the page's WebSocket. A wasm program has one thread, so its fields
// need no lock.
type webSocket struct {
	ws    js.Value
	scope *jsbridge.Scope
	limit int64 // bytes of one message

	unread     []message
	unreadCost int64
	arrived    chan struct{} // signals that unread has grown
	err        error         // why nothing more is received
	ended      chan struct{} // closed when err is set
}

var _ transport = (*webSocket)(nil)

// dialWebSocket opens a WebSocket.
func dialWebSocket(ctx context.Context, address string, o *ClientOptions) (transport, error) {
	constructor, err := jsbridge.Get(js.Global(), "WebSocket")
	if err != nil {
		return nil, err
	}
	ws, err := jsbridge.New(constructor, address)
	if err != nil {
		return nil, errHandshake // the text of err contains the address with the query
	}
	s := &webSocket{
		ws: ws, scope: jsbridge.NewScope(nil), limit: o.MaxMessage,
		arrived: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	opened := make(chan struct{})
	if err := s.listen(opened); err != nil {
		s.Abort()
		return nil, err
	}
	select {
	case <-opened:
		return s, nil
	case <-s.ended:
		s.Abort()
		return nil, errHandshake
	case <-ctx.Done():
		s.Abort()
		return nil, ctx.Err()
	}
}

func (s *webSocket) listen(opened chan<- struct{}) error {
	if err := jsbridge.Set(s.ws, "binaryType", "arraybuffer"); err != nil {
		return err
	}
	for event, fn := range map[string]func(js.Value){
		"open":    func(js.Value) { close(opened) },
		"message": s.onMessage,
		"error":   func(js.Value) { s.fail(errBroken) }, // a close event follows
		"close":   func(js.Value) { s.fail(io.EOF) },
	} {
		if err := s.scope.Listen(s.ws, event, fn); err != nil {
			return err
		}
	}
	return nil
}

// onMessage queues a message. The browser calls it, so it must not wait.
func (s *webSocket) onMessage(event js.Value) {
	if s.err != nil {
		return
	}
	m, err := s.message(event)
	cost := int64(len(m.data)) + messageCost
	switch {
	case err != nil:
		s.fail(err)
	case s.unreadCost > 0 && s.unreadCost+cost > unreadFactor*s.limit:
		s.fail(ErrSlowConsumer)
	default:
		s.unread = append(s.unread, m)
		s.unreadCost += cost
		select {
		case s.arrived <- struct{}{}:
		default:
		}
	}
}

// message copies the message of an event, unless it is longer than the limit.
func (s *webSocket) message(event js.Value) (message, error) {
	data, err := jsbridge.Get(event, "data")
	if err != nil {
		return message{}, err
	}
	if data.Type() == js.TypeString {
		text := []byte(data.String())
		return message{data: text}, s.checkSize(len(text))
	}
	size, err := jsbridge.Get(data, "byteLength")
	if err == nil {
		err = s.checkSize(size.Int())
	}
	m := message{binary: true}
	if err == nil {
		err = jsbridge.FromJS("message", data, &m.data)
	}
	return m, err
}

func (s *webSocket) checkSize(size int) error {
	if int64(size) > s.limit {
		return errTooBig
	}
	return nil
}

// fail records the error that ends reading; the first one counts.
func (s *webSocket) fail(err error) {
	if s.err == nil {
		s.err = err
		close(s.ended)
	}
}

// Read returns the next message, and after the last one the error that ended the socket.
func (s *webSocket) Read() (message, error) {
	for len(s.unread) == 0 {
		if s.err != nil {
			return message{}, s.err
		}
		select {
		case <-s.arrived:
		case <-s.ended:
		}
	}
	m := s.unread[0]
	s.unread[0] = message{} // so that its bytes can be freed
	s.unread = s.unread[1:]
	s.unreadCost -= int64(len(m.data)) + messageCost
	return m, nil
}

// Write passes m to the browser. It waits while the browser's buffer is above
// maxBufferedAmount, because the browser buffers without limit: a peer that doesn't read
// would fill the memory.
func (s *webSocket) Write(m message) error {
	// A page may have replaced WebSocket by a class without this property.
	for s.err == nil && jsbridge.NumberOf(s.ws, "bufferedAmount") > maxBufferedAmount {
		select {
		case <-time.After(drainPoll):
		case <-s.ended:
		}
	}
	// The close event may wait behind other events of the page. Until then the browser would
	// discard the message without an exception, and warn in the console.
	if s.err == nil && jsbridge.NumberOf(s.ws, "readyState") >= stateClosing {
		<-s.ended
	}
	if s.err != nil {
		return s.err
	}
	payload := any(string(m.data))
	if m.binary {
		bytes, err := jsbridge.ToJS(m.data)
		if err != nil {
			return err
		}
		payload = bytes
	}
	_, err := jsbridge.Call(s.ws, "send", payload)
	return err
}

// Close does the closing handshake after the browser has sent its buffer.
func (s *webSocket) Close() error {
	_, err := jsbridge.Call(s.ws, "close", normalClosure)
	limit := time.NewTimer(closeTimeout)
	defer limit.Stop()
	select {
	case <-s.ended:
	case <-limit.C: // the browser continues the closing handshake
	}
	s.release()
	return err
}

// Abort closes the socket without waiting, also during its handshake.
func (s *webSocket) Abort() {
	_, _ = jsbridge.Call(s.ws, "close", normalClosure) // after an error nothing else can be done
	s.release()
}

// release removes the listeners and unblocks every call that waits.
func (s *webSocket) release() {
	s.scope.End()
	s.fail(errAborted)
}
