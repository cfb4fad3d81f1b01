package socketio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// ClientOptions are the options of [NewClient]. The zero value of each field
// means its default, which is that of protocol §1.6 where it specifies one.
type ClientOptions struct {
	// Path is the path of the server; default "/socket.io".
	Path string
	// Query is added to the URL, sorted by name, before EIO and transport.
	Query map[string]string
	// Auth is sent with each handshake; it must marshal to a JSON object. Nil
	// sends none. [Client.SetAuth] replaces it.
	Auth any

	// ConnectTimeout bounds one attempt, from dialling to the server's response to
	// the handshake; default 20 s.
	ConnectTimeout time.Duration
	// ReconnectTimeout replaces ConnectTimeout for attempts to connect again; default
	// ConnectTimeout.
	ReconnectTimeout time.Duration
	// ReconnectAttempts is how many attempts to connect again may fail in a row;
	// default 5, negative for no limit. With 0 the client ends at the first failure.
	ReconnectAttempts *int
	// ReconnectDelay is the average wait before the first attempt to connect again;
	// default 250 ms. Each further wait is twice as long, up to ReconnectDelayMax;
	// default 2 s. After each loss of its connection the client draws a random number,
	// its place, so that clients that lost their connections at the same time spread
	// their attempts evenly: the first attempts over twice the first wait, the later
	// ones over the longest wait.
	ReconnectDelay    time.Duration
	ReconnectDelayMax time.Duration
	// Random returns numbers from 0 up to but not 1; default [rand.Float64].
	Random func() float64

	// MaxMessage bounds one incoming WebSocket message in bytes. A larger one ends the
	// client. The default of 16 MiB is high because the client has chosen the server.
	MaxMessage int64
	// SendBuffer bounds the bytes that wait to be sent, separately while disconnected
	// and while connected; default 16 MiB. Beyond it, Emit returns [ErrBufferFull].
	// The buffers of the system or the browser are not included; in a page they are
	// 1 MiB and one message.
	SendBuffer int

	// HTTPClient opens the WebSocket of a native program; no redirect is followed. Nil means
	// a connection of its own for each attempt.
	HTTPClient httpclient.Client

	dial dialFunc // replaces the WebSocket
}

func (o ClientOptions) withDefaults() ClientOptions {
	o.Path = cmp.Or(o.Path, "/socket.io")
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 20*time.Second)
	o.ReconnectTimeout = cmp.Or(o.ReconnectTimeout, o.ConnectTimeout)
	o.ReconnectAttempts = cmp.Or(o.ReconnectAttempts, new(5))
	o.ReconnectDelay = cmp.Or(o.ReconnectDelay, 250*time.Millisecond)
	o.ReconnectDelayMax = cmp.Or(o.ReconnectDelayMax, 2*time.Second)
	o.MaxMessage = cmp.Or(o.MaxMessage, 16<<20)
	o.SendBuffer = cmp.Or(o.SendBuffer, 16<<20)
	if o.dial == nil {
		o.dial = dialWebSocket
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

// backoff returns the wait before attempt n, counted from 0, for a place in [0, 1). One place for
// all attempts after a loss spreads clients more evenly than a random number for each attempt: the
// longest wait is the same for all clients, so that their attempts are spread over the whole of it
// when the service can be reached again (docs/scaling.md compares both).
func (o *ClientOptions) backoff(n int, place float64) time.Duration {
	wait, limit := float64(o.ReconnectDelay), float64(o.ReconnectDelayMax)
	if n == 0 {
		return time.Duration(min(2*wait, limit) * place)
	}
	for ; n > 0 && wait < limit; n-- {
		wait *= 2
	}
	if wait >= limit {
		return o.ReconnectDelayMax
	}
	return time.Duration(min(wait*(0.5+place), limit))
}

// AttemptsWithin returns how many attempts to connect again can begin within window, each of
// which fails at once, for the place with the shortest waits. No client begins more by itself.
func (o ClientOptions) AttemptsWithin(window time.Duration) int {
	o = o.withDefaults()
	attempts := 0
	for at := o.backoff(0, 0); at < window; at += max(o.backoff(attempts, 0), time.Millisecond) {
		attempts++
	}
	return attempts
}

// socketURL returns the address of the WebSocket (protocol §1.6, §1.7).
func socketURL(base string, o *ClientOptions) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(base, "/"))
	if err != nil {
		// The text of a url.Error contains the address, which may contain a secret.
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return "", fmt.Errorf("socketio: parse address: %w", err)
	}
	switch u.Scheme {
	case "http", "ws":
		u.Scheme = "ws"
	case "https", "wss":
		u.Scheme = "wss"
	default:
		return "", fmt.Errorf("socketio: address with scheme %q, want http, https, ws or wss", u.Scheme)
	}
	if u.Host == "" {
		return "", errors.New("socketio: address without a host")
	}
	// In the official client, a path in the address is a namespace.
	if u.Path != "" {
		return "", errors.New("socketio: address with a path; only the default namespace is supported")
	}
	query := url.Values{}
	for name, value := range o.Query {
		query.Set(name, value)
	}
	query.Del("EIO")
	query.Del("transport")
	u.RawQuery = strings.TrimPrefix(query.Encode()+"&EIO=4&transport=websocket", "&")
	u.Fragment = ""
	u.Path = strings.TrimSuffix(o.Path, "/") + "/"
	return u.String(), nil
}

// encodeAuth marshals the auth object of the handshake.
func encodeAuth(auth any) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(auth)
	if err != nil {
		return nil, fmt.Errorf("socketio: encode auth: %w", err)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, errors.New("socketio: auth must be a JSON object") // err could quote it
	}
	return object, nil
}

// phase is the state of a client.
type phase int

const (
	phaseIdle    phase = iota // before Open
	phaseWaiting              // for the next attempt
	phaseDialing              // for the WebSocket
	phaseOpening              // for the Engine.IO open packet
	phaseJoining              // for the response to the connect packet
	phaseConnected
	phaseEnded // events may still wait to be taken
)

// dialFunc opens a WebSocket. Ending ctx abandons it.
type dialFunc func(ctx context.Context, url string, o *ClientOptions) (transport, error)

// maxBuffered bounds the number of events that are kept until a handshake is complete, in
// each direction, because each event needs more memory than its bytes.
const maxBuffered = 4096

var errConnectTimeout = errors.New("socketio: connect: timeout")

// Client is a Socket.IO connection that reconnects by itself. Its methods may be
// called from any goroutine.
type Client struct {
	endpoint
	opts      ClientOptions
	url       string
	wg        sync.WaitGroup
	closing   chan struct{}
	closeOnce sync.Once
	id        atomic.Value // string

	// The following fields are used by the goroutine of run only.

	phase   phase
	auth    map[string]json.RawMessage
	attempt int                // attempts since the last connection, or since Reconnect
	place   float64            // see ReconnectDelay
	number  int                // attempts since the last connection, as in events
	timer   *time.Timer        // of the current phase
	abandon context.CancelFunc // cancels the current dial

	heartbeat time.Duration // ping interval and time-out together
	deadline  time.Time     // when the next ping is overdue
	pid       string        // for recovery: the session's secret id
	offset    string        // for recovery: that of the last received event
	early     []packet      // received before the response to the handshake
	earlySize int           // bytes of early
	buffer    [][]message   // the encoded events emitted while not connected
	bufferLen int           // bytes of buffer
	acks      map[int64]func(Args)
	lastID    int64
}

// NewClient prepares a connection to the server at address, an http, https, ws
// or wss URL without a path; one trailing slash is removed. Nothing is sent
// before Open. A client uses a goroutine until Close, or until its last event
// has been received.
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
		endpoint: newEndpoint(maxPendingBytes),
		opts:     o,
		url:      target,
		closing:  make(chan struct{}),
		auth:     auth,
		timer:    stoppedTimer(),
		acks:     map[int64]func(Args){},
		place:    o.Random(),
	}
	c.id.Store("")
	go c.run()
	return c, nil
}

// Open starts connecting; the result is reported on Events. Calling it again does nothing.
func (c *Client) Open() {
	c.do(func() {
		if c.phase == phaseIdle {
			c.connect()
		}
	})
}

// Events returns the channel of all events, in order. It is closed after the event that
// ends the client: a Disconnected that is not followed by reconnection,
// ReconnectFailed, or a ConnectError with a [RefusedError]. Close ends it with a
// Disconnected when a connection was up, and drops events not yet received.
//
// When the caller stops receiving, the connection is not read; after 10 s it is aborted
// (TransportError with [ErrSlowConsumer]), and the next attempt to connect waits
// until there is room for events again.
func (c *Client) Events() <-chan Event { return c.events.ch }

// Emit sends an event. While there is no connection, the event is kept and sent as soon
// as the next connection is up, before its Connected event. Emit never waits for the
// network: [ErrBufferFull] means that SendBuffer is used up.
func (c *Client) Emit(name string, args ...any) error {
	p, err := newEvent(name, args)
	if err != nil {
		return err
	}
	return c.doErr(func() error { return c.send(p) })
}

// EmitWithAck sends an event that asks for an acknowledgement, and does not wait for it:
// acknowledged is called when it arrives, on the client's goroutine, where it must neither
// block nor call the client.
//
// Unlike with Emit, the event is sent on the current connection or not at all: without a
// connection the error is [ErrDisconnected]. If the connection is lost before the
// acknowledgement, acknowledged is never called, and the server may or may not have
// received the event; only the caller decides whether it is sent again.
func (c *Client) EmitWithAck(name string, acknowledged func(Args), args ...any) error {
	p, err := newEvent(name, args)
	if err != nil {
		return err
	}
	return c.doErr(func() error {
		c.checkPing()
		if c.phase != phaseConnected && c.phase != phaseEnded {
			return ErrDisconnected
		}
		p.id = c.lastID
		c.lastID++
		if err := c.send(p); err != nil {
			return err
		}
		c.acks[p.id] = acknowledged
		return nil
	})
}

// ID returns the session id that the server assigned (protocol §1.9.3), or ""
// when not connected.
func (c *Client) ID() string { return c.id.Load().(string) }

// SetAuth replaces the auth object of the next handshake. It must marshal to a JSON
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

// Reconnect connects now instead of after the current wait, and starts ReconnectAttempts and
// the waits again. An existing connection is dropped (ForcedClose) without a disconnect packet,
// so that the server may recover it. Before Open and after the end it does nothing.
func (c *Client) Reconnect() {
	c.do(func() {
		switch c.phase {
		case phaseIdle, phaseEnded:
			return
		case phaseConnected:
			c.disconnected(ForcedClose, nil)
		default:
			c.dropConnection()
		}
		c.attempt = 1
		c.reconnect()
	})
}

// Close disconnects and waits until the socket is closed and the goroutines have
// ended, which takes 3 s for a peer that doesn't read. Calling it again does nothing.
func (c *Client) Close() error {
	c.closeOnce.Do(func() { close(c.closing) })
	<-c.done
	c.wg.Wait()
	return nil
}

// run is the client's owner goroutine.
func (c *Client) run() {
	defer close(c.done)
	for c.phase != phaseEnded || len(c.events.pending) > 0 {
		in, resumed := c.input()
		if resumed && c.phase == phaseConnected {
			c.expectPing()
		}
		events, head := c.events.head()
		select {
		case f := <-c.calls:
			f()
		case events <- head:
			c.events.sent()
		case r := <-in:
			c.onReceived(r)
		case <-c.timer.C:
			c.onTimer()
		case <-c.stall.C:
			c.lost(TransportError, ErrSlowConsumer)
		case <-c.closing:
			c.shutDown()
			return
		}
	}
	c.events.finish(nil)
}

// shutDown ends the client for Close.
func (c *Client) shutDown() {
	var last *Event
	if c.phase == phaseConnected {
		disconnect := packet{typ: typeDisconnect, id: noID}
		c.conn.out.push(disconnect.encode()...)
		c.conn.close()
		last = &Event{Kind: Disconnected, Reason: ClientDisconnect}
	}
	c.end()
	c.events.finish(last)
}

// end releases everything but the events that have not been received.
func (c *Client) end() {
	c.dropConnection()
	c.phase = phaseEnded
	c.timer.Stop()
	c.stall.Stop()
	c.buffer = nil
	clear(c.acks)
}

// dropConnection aborts the connection unless it is being closed, or abandons the current
// dial. There is no closing handshake, because the peer may be unreachable.
func (c *Client) dropConnection() {
	if c.abandon != nil {
		c.abandon()
		c.abandon = nil
	}
	if c.conn != nil {
		c.conn.abort()
		c.conn = nil
	}
	c.id.Store("")
}

// connect begins one attempt.
func (c *Client) connect() {
	ctx, cancel := context.WithCancel(context.Background())
	c.abandon = cancel
	c.phase = phaseDialing
	limit := c.opts.ConnectTimeout
	if c.number > 0 {
		limit = c.opts.ReconnectTimeout
	}
	c.timer.Reset(limit)
	c.wg.Go(func() {
		defer cancel()
		t, err := c.opts.dial(ctx, c.url, &c.opts)
		c.do(func() {
			if ctx.Err() != nil {
				return // abandoned
			}
			c.abandon = nil
			if err != nil {
				c.failed(fmt.Errorf("socketio: connect: %w", err))
				return
			}
			c.conn = newConnection(t, c.opts.SendBuffer, &c.wg, nil)
			c.early, c.earlySize = nil, 0
			c.phase = phaseOpening
			t = nil
		})
		if t != nil {
			t.Abort()
		}
	})
}

func (c *Client) reconnect() {
	c.number++
	c.events.push(Event{Kind: Reconnecting, Attempt: c.number})
	c.connect()
}

func (c *Client) onTimer() {
	switch c.phase {
	case phaseWaiting:
		if c.events.full() {
			// Without this, the events of further attempts would use unbounded memory.
			c.timer.Reset(c.opts.ReconnectDelay)
			return
		}
		c.reconnect()
	case phaseDialing, phaseOpening, phaseJoining:
		c.failed(errConnectTimeout)
	case phaseConnected:
		if c.paused {
			c.expectPing() // the ping may be among the unread packets
			return
		}
		c.lost(PingTimeout, nil)
	}
}

// expectPing starts the wait for the server's next ping (protocol §1.9.1).
func (c *Client) expectPing() {
	c.deadline = time.Now().Add(c.heartbeat)
	c.timer.Reset(c.heartbeat)
}

// onReceived handles one packet of the current connection.
func (c *Client) onReceived(r received) {
	if r.err != nil {
		c.lost(disconnectReason(r.err))
		return
	}
	switch r.engine {
	case engineOpen:
		c.onOpen(r.data)
	case enginePing:
		c.conn.out.push(enginePacket(enginePong, r.data))
		if c.phase == phaseConnected {
			c.expectPing()
		}
	case engineClose:
		c.lost(TransportClose, nil)
	case engineMessage:
		// This client uses no other namespace.
		if r.packet.namespace == rootNamespace {
			c.onPacket(r.packet)
		}
	}
}

func (c *Client) onOpen(data []byte) {
	if c.phase != phaseOpening {
		c.violated("second open packet")
		return
	}
	open, err := decodeOpen(data)
	if err != nil {
		c.lost(ParseError, err)
		return
	}
	c.heartbeat = time.Duration(open.PingInterval+open.PingTimeout) * time.Millisecond
	connect := packet{typ: typeConnect, id: noID}
	if connect.data, err = c.connectPayload(); err != nil {
		c.lost(TransportError, err)
		return
	}
	c.phase = phaseJoining
	c.conn.out.push(connect.encode()...)
}

// connectPayload returns the payload of the connect packet: auth and, to recover
// the session, its pid and offset.
func (c *Client) connectPayload() (json.RawMessage, error) {
	payload := map[string]json.RawMessage{}
	if c.pid != "" {
		payload["pid"] = marshal(c.pid)
	}
	if c.offset != "" {
		payload["offset"] = marshal(c.offset)
	}
	maps.Copy(payload, c.auth)
	if len(payload) == 0 {
		return nil, nil
	}
	return json.Marshal(payload)
}

func (c *Client) onPacket(p packet) {
	switch p.typ {
	case typeConnect:
		c.onConnect(p.data)
	case typeConnectError:
		c.onRefused(p.data)
	case typeDisconnect:
		c.lost(ServerDisconnect, nil)
	case typeEvent, typeAck:
		switch c.phase {
		case phaseJoining:
			c.keepEarly(p)
		case phaseConnected:
			c.deliver(p)
		default:
			c.violated("event before the handshake")
		}
	}
}

// deliver handles an event or acknowledgement after the handshake.
func (c *Client) deliver(p packet) {
	if p.typ == typeAck {
		if acknowledged, ok := c.acks[p.id]; ok { // an id that nothing waits for is ignored
			delete(c.acks, p.id)
			acknowledged(p.args)
		}
		return
	}
	c.receive(p)
	// An event that asks for an acknowledgement has no offset.
	if last := len(p.args) - 1; c.pid != "" && p.id == noID && last >= 0 {
		var offset string
		if json.Unmarshal(p.args[last], &offset) == nil {
			c.offset = offset
		}
	}
}

// keepEarly keeps an event that arrives before the response to the handshake: the official
// server replays missed events before it reports the recovery.
func (c *Client) keepEarly(p packet) {
	c.early = append(c.early, p)
	c.earlySize += p.args.Size()
	if len(c.early) > maxBuffered || int64(c.earlySize) > c.opts.MaxMessage {
		c.violated("too much before the handshake is complete")
	}
}

// onConnect completes the handshake. Events that were emitted before are sent before the
// Connected event (protocol §8.2).
func (c *Client) onConnect(data json.RawMessage) {
	if c.phase != phaseJoining {
		c.violated("unexpected connect packet")
		return
	}
	var answer struct {
		SID string `json:"sid"`
		PID string `json:"pid"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.SID == "" {
		c.violated("connect packet without a session id")
		return
	}
	recovered := answer.PID != "" && answer.PID == c.pid
	if !recovered {
		c.offset = ""
	}
	c.pid = answer.PID
	c.phase = phaseConnected
	c.attempt, c.number = 0, 0
	c.expectPing()
	c.id.Store(answer.SID)

	buffer := c.buffer
	c.buffer, c.bufferLen = nil, 0
	for _, b := range buffer {
		c.conn.out.push(b...)
	}
	c.events.push(Event{Kind: Connected, Recovered: recovered})
	early := c.early
	c.early = nil
	for _, p := range early {
		c.deliver(p)
	}
}

// onRefused ends the client: a refusal of the handshake is final.
func (c *Client) onRefused(data json.RawMessage) {
	if c.phase != phaseJoining {
		c.violated("refusal outside the handshake")
		return
	}
	refused := &RefusedError{}
	if json.Unmarshal(data, &refused.Message) != nil {
		var object struct {
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		}
		_ = json.Unmarshal(data, &object) // a message of another type is left out
		refused.Message, refused.Data = object.Message, object.Data
	}
	c.events.push(Event{Kind: ConnectError, Err: refused})
	c.conn.close()
	c.end()
}

func (c *Client) violated(what string) { c.lost(ParseError, violation("%s", what)) }

// lost handles the end of the current connection or attempt.
func (c *Client) lost(reason Reason, err error) {
	if c.phase != phaseConnected {
		if err == nil {
			err = fmt.Errorf("socketio: connect: %s", reason)
		}
		c.failed(err)
		return
	}
	if reason == ServerDisconnect {
		c.conn.close()
	}
	c.disconnected(reason, err)
	if reason == ServerDisconnect || reason == ParseError {
		c.end()
		return
	}
	c.retry()
}

// disconnected ends everything that depends on the connection.
func (c *Client) disconnected(reason Reason, err error) {
	c.dropConnection()
	clear(c.acks)
	c.place = c.opts.Random()
	c.events.push(Event{Kind: Disconnected, Reason: reason, Err: err})
}

// failed handles the end of an attempt that did not succeed.
func (c *Client) failed(err error) {
	c.dropConnection()
	c.events.push(Event{Kind: ConnectError, Err: err})
	c.retry()
}

// retry schedules the next attempt, or ends the client after the last one.
func (c *Client) retry() {
	if limit := *c.opts.ReconnectAttempts; limit >= 0 && c.attempt >= limit {
		if limit > 0 {
			c.events.push(Event{Kind: ReconnectFailed})
		}
		c.end()
		return
	}
	c.phase = phaseWaiting
	c.timer.Reset(c.opts.backoff(c.attempt, c.place))
	c.attempt++
}

// checkPing ends a connection whose ping is overdue, because after a computer's sleep the
// timer may not have fired yet.
func (c *Client) checkPing() {
	if c.phase == phaseConnected && !c.paused && time.Now().After(c.deadline) {
		c.lost(PingTimeout, nil)
	}
}

// send transmits an event now, or keeps it for the next connection.
func (c *Client) send(p packet) error {
	c.checkPing()
	if c.phase == phaseEnded {
		return ErrClosed
	}
	messages := p.encode()
	if c.phase == phaseConnected {
		if !c.conn.out.offer(messages...) {
			return ErrBufferFull
		}
		return nil
	}
	size := bytesOf(messages)
	if c.bufferLen > 0 && c.bufferLen+size > c.opts.SendBuffer || len(c.buffer) >= maxBuffered {
		return ErrBufferFull
	}
	c.buffer = append(c.buffer, messages)
	c.bufferLen += size
	return nil
}
