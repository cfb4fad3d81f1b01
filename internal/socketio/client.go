package socketio

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"
)

// Client is one Socket.IO connection that comes back by itself. Its methods may
// be called from any goroutine but a Tap.
type Client struct {
	peer
	opts      ClientOptions
	url       string
	closing   chan struct{}
	closeOnce sync.Once
	dialed    chan dialed
	state     atomic.Pointer[clientState] // what the owner shows to others

	// What follows belongs to the goroutine of run.

	phase   phase
	auth    map[string]json.RawMessage
	attempt int         // attempts made since the last connection
	timer   *time.Timer // the present phase's
	abandon context.CancelFunc
	round   int // counts dials, to know an abandoned one's result

	heartbeat time.Duration // ping interval and time-out together
	deadline  time.Time     // when the next ping is overdue
	pid       string        // recovery: the session's secret name
	offset    string        // recovery: the last event seen
	early     []packet      // came in before the answer to the handshake
	earlySize int           // bytes of early
	buffer    []packet      // emitted while not connected
	buffered  int           // bytes of buffer
}

// clientState is what the getters see.
type clientState struct {
	id        string
	connected bool
	recovered bool
}

// NewClient prepares a connection to the server at address, an http, https, ws
// or wss URL without a path; one trailing slash is removed. Nothing is sent
// before Open. A client holds a goroutine until Close, or until its last event
// has been taken.
func NewClient(address string, o ClientOptions) (*Client, error) {
	o = o.withDefaults()
	target, err := socketURL(address, &o)
	if err != nil {
		return nil, err
	}
	auth, err := encodeAuth(o.Auth)
	if err != nil {
		return nil, err
	}
	c := &Client{
		peer:    newPeer(o.Tap),
		opts:    o,
		url:     target,
		closing: make(chan struct{}),
		dialed:  make(chan dialed),
		auth:    auth,
		timer:   stoppedTimer(),
	}
	c.state.Store(&clientState{})
	go c.run()
	return c, nil
}

// Open starts connecting; what comes of it is on Events. Calling it again does
// nothing.
func (c *Client) Open() {
	c.do(func() {
		if c.phase == phaseIdle {
			c.connect()
		}
	})
}

// Events returns the channel of everything that happens, in order. It is closed
// after the event that ends the client: a Disconnected that is not followed by
// reconnection, ReconnectFailed, or a ConnectError with a [RefusedError]. Close
// ends it with a Disconnected when a connection was up, and drops what has not
// been taken before.
//
// A reader that stops reading holds back the socket; after 10 s it is cut
// (TransportError with [ErrSlowConsumer]), and the next attempt to connect waits
// until there is room again.
func (c *Client) Events() <-chan Event { return c.events.ch }

// Emit sends an event. Before the first connection and between connections it
// is kept and sent as soon as the next one is up, before its Connected event. It
// never waits for the network: [ErrBufferFull] means that SendBuffer is used up.
func (c *Client) Emit(name string, args ...any) error {
	pkt, err := newEvent(name, args)
	if err != nil {
		return err
	}
	return c.doErr(func() error { return c.send(pkt) })
}

// Call sends an event that asks for an acknowledgement, and returns what the
// server answers with. It ends early with ctx, and with [ErrDisconnected] when
// the connection that carried the event goes away; made while disconnected, it
// waits for the next connection.
func (c *Client) Call(ctx context.Context, name string, args ...any) (Args, error) {
	return c.call(ctx, name, args, c.send, c.unbuffer)
}

// ID returns the session id the server gave (wire-protocol §1.9.3), or "" when
// not connected.
func (c *Client) ID() string { return c.state.Load().id }

// Connected reports whether the handshake is complete and the socket up.
func (c *Client) Connected() bool { return c.state.Load().connected }

// Recovered reports whether the present connection continues the one before.
func (c *Client) Recovered() bool { return c.state.Load().recovered }

// SetAuth replaces what the next handshake sends. It must marshal to a JSON
// object, or be nil.
func (c *Client) SetAuth(auth any) error {
	object, err := encodeAuth(auth)
	if err != nil {
		return err
	}
	return c.doErr(func() error {
		c.auth = object
		return nil
	})
}

// Reconnect connects now instead of after the current wait, with a new count of
// attempts. A connection that is up is dropped (ForcedClose) without telling the
// server, so that the server may recover it. Before Open and after the end it
// does nothing.
func (c *Client) Reconnect() {
	c.do(c.reconnectNow)
}

// Close disconnects and waits until the socket is closed and the goroutines are
// gone: for a peer that takes nothing any more, 3 s. Calling it again does nothing.
func (c *Client) Close() error {
	c.closeOnce.Do(func() { close(c.closing) })
	<-c.done
	c.wg.Wait()
	return nil
}

// handshake returns the payload of the connect packet.
func handshake(auth map[string]json.RawMessage, pid, offset string) (json.RawMessage, error) {
	if pid == "" {
		if auth == nil {
			return nil, nil
		}
		return json.Marshal(auth)
	}
	object := map[string]json.RawMessage{"pid": quote(pid)}
	if offset != "" {
		object["offset"] = quote(offset)
	}
	for name, value := range auth {
		object[name] = value
	}
	return json.Marshal(object)
}
