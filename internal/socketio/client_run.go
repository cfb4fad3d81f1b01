package socketio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// phase is where a client is in its life.
type phase int

const (
	phaseIdle    phase = iota // before Open
	phaseWaiting              // for the next attempt
	phaseDialing              // for the socket
	phaseOpening              // for the Engine.IO open packet
	phaseJoining              // for the answer to the connect packet
	phaseConnected
	phaseOver // events may still wait to be taken
)

// dialFunc opens a WebSocket. Ending ctx abandons it.
type dialFunc func(ctx context.Context, url string, o *ClientOptions) (transport, error)

// dialed is what became of a dial.
type dialed struct {
	round int
	t     transport
	err   error
}

// maxBuffered bounds the number of events kept for or before a handshake: each
// has a cost beyond its bytes.
const maxBuffered = 4096

var (
	errConnectTimeout = errors.New("socketio: connect: timeout")
	errStateless      = errors.New("socketio: connect: the server's answer has no session id")
)

// run is the client's owner goroutine.
func (c *Client) run() {
	defer close(c.done)
	for c.phase != phaseOver || len(c.events.pending) > 0 {
		in, resumed := c.pace()
		if resumed && c.phase == phaseConnected {
			c.expectPing()
		}
		events, head := c.events.head()
		select {
		case f := <-c.calls:
			f()
		case events <- head:
			c.events.sent()
		case d := <-c.dialed:
			c.onDialed(d)
		case m := <-in:
			c.onInbound(m)
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

// shutDown is the end by Close.
func (c *Client) shutDown() {
	var last *Event
	if c.phase == phaseConnected {
		bye := packet{typ: typeDisconnect, id: noID}
		c.link.out.force(bye.frames()...)
		last = &Event{Kind: Disconnected, Reason: ClientDisconnect}
		c.leave()
	}
	c.end()
	c.events.finish(last)
}

// end leaves nothing behind but events to be taken.
func (c *Client) end() {
	c.dropLink()
	c.phase = phaseOver
	c.timer.Stop()
	c.stall.Stop()
	c.buffer = nil
	c.failAcks(ErrClosed, func(int64) bool { return true })
}

// leave says goodbye to the socket after what is still to be sent.
func (c *Client) leave() {
	if c.link != nil {
		c.link.finish()
		c.link = nil
	}
}

// dropLink cuts the socket, or gives up the dial that may bring one. A goodbye
// to a peer that may be unreachable would only take time.
func (c *Client) dropLink() {
	if c.abandon != nil {
		c.abandon()
		c.abandon = nil
	}
	if c.link != nil {
		c.link.cut()
		c.link = nil
	}
	c.state.Store(&clientState{})
}

// connect begins one attempt.
func (c *Client) connect() {
	ctx, cancel := context.WithCancel(context.Background())
	c.abandon = cancel
	c.round++
	c.phase = phaseDialing
	c.timer.Reset(c.opts.ConnectTimeout)
	round := c.round
	c.wg.Go(func() {
		defer cancel()
		t, err := c.opts.dial(ctx, c.url, &c.opts)
		select {
		case c.dialed <- dialed{round, t, err}:
		case <-ctx.Done():
			if t != nil {
				t.Abort()
			}
		}
	})
}

func (c *Client) onDialed(d dialed) {
	if d.round != c.round || c.phase != phaseDialing {
		if d.t != nil {
			c.wg.Go(d.t.Abort)
		}
		return
	}
	c.abandon = nil
	if d.err != nil {
		c.failed(fmt.Errorf("socketio: connect: %w", d.err))
		return
	}
	c.link = newLink(d.t, c.opts.SendBuffer, &c.wg)
	c.early, c.earlySize = nil, 0
	c.phase = phaseOpening
}

func (c *Client) onTimer() {
	switch c.phase {
	case phaseWaiting:
		if c.events.full() {
			// Events of attempts that nobody takes would pile up.
			c.timer.Reset(c.opts.ReconnectDelay)
			return
		}
		c.events.push(Event{Kind: Reconnecting, Attempt: c.attempt})
		c.connect()
	case phaseDialing, phaseOpening, phaseJoining:
		c.failed(errConnectTimeout)
	case phaseConnected:
		if c.paused {
			c.expectPing() // the ping may be behind what is not read
			return
		}
		c.lost(PingTimeout, nil)
	}
}

// expectPing starts the wait for the server's next ping (wire-protocol §1.9.1).
func (c *Client) expectPing() {
	c.deadline = time.Now().Add(c.heartbeat)
	c.timer.Reset(c.heartbeat)
}

// onInbound takes one packet of the present link.
func (c *Client) onInbound(m inbound) {
	if m.err != nil {
		c.lost(disconnectReason(m.err))
		return
	}
	switch m.engine {
	case engineOpen:
		c.onOpen(m.data)
	case enginePing:
		c.link.out.force(engineFrame(enginePong, m.data))
		if c.phase == phaseConnected {
			c.expectPing()
		}
	case engineClose:
		c.lost(TransportClose, nil)
	case engineMessage:
		// Other namespaces are nothing this client has asked for.
		if m.packet.namespace == rootNamespace {
			c.onPacket(m.packet)
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
	hello := packet{typ: typeConnect, id: noID}
	if hello.data, err = handshake(c.auth, c.pid, c.offset); err != nil {
		c.lost(TransportError, err)
		return
	}
	c.phase = phaseJoining
	c.link.out.force(hello.frames()...)
}

func (c *Client) onPacket(pkt packet) {
	switch pkt.typ {
	case typeConnect:
		c.onConnect(pkt.data)
	case typeConnectError:
		c.onRefused(pkt.data)
	case typeDisconnect:
		c.lost(ServerDisconnect, nil)
	case typeEvent, typeAck:
		switch c.phase {
		case phaseJoining:
			c.keepEarly(pkt)
		case phaseConnected:
			c.take(pkt)
		default:
			c.violated("event before the handshake")
		}
	}
}

// take takes an event or acknowledgement on a connection that is up.
func (c *Client) take(pkt packet) {
	c.receive(pkt)
	// An event that asks for an acknowledgement has no offset.
	if last := pkt.args.Len() - 1; c.pid != "" && pkt.typ == typeEvent && pkt.id == noID && last >= 0 {
		var offset string
		if json.Unmarshal(pkt.args.Raw(last), &offset) == nil {
			c.offset = offset
		}
	}
}

// keepEarly keeps an event that comes before the answer to the handshake: the
// official server replays what was missed before it says that it has recovered.
func (c *Client) keepEarly(pkt packet) {
	c.early = append(c.early, pkt)
	c.earlySize += pkt.args.size()
	if len(c.early) > maxBuffered || int64(c.earlySize) > c.opts.MaxMessage {
		c.violated("too much before the handshake is complete")
	}
}

// onConnect completes the handshake. What was emitted meanwhile goes out before
// anybody hears of the connection (wire-protocol §8.2).
func (c *Client) onConnect(data json.RawMessage) {
	if c.phase != phaseJoining {
		c.violated("connect packet that was not asked for")
		return
	}
	var answer struct {
		SID string `json:"sid"`
		PID string `json:"pid"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.SID == "" {
		c.lost(ParseError, errors.Join(errProtocol, errStateless))
		return
	}
	recovered := answer.PID != "" && answer.PID == c.pid
	if !recovered {
		c.offset = ""
	}
	c.pid = answer.PID
	if c.opts.NoRecovery {
		c.pid = ""
	}
	c.phase = phaseConnected
	c.attempt = 0
	c.expectPing()
	c.state.Store(&clientState{id: answer.SID, connected: true, recovered: recovered})

	buffer := c.buffer
	c.buffer, c.buffered = nil, 0
	for _, pkt := range buffer {
		c.link.out.force(pkt.frames()...)
		c.tap(Outgoing, pkt.name, pkt.args)
	}
	c.events.push(Event{Kind: Connected, Recovered: recovered})
	early := c.early
	c.early = nil
	for _, pkt := range early {
		c.take(pkt)
	}
}

// onRefused is the server's no to the handshake, which is final.
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
		_ = json.Unmarshal(data, &object) // a message of another type is no message
		refused.Message, refused.Data = object.Message, object.Data
	}
	c.events.push(Event{Kind: ConnectError, Err: refused})
	c.leave()
	c.end()
}

func (c *Client) violated(what string) { c.lost(ParseError, violation("%s", what)) }

// lost is the end of the present link, whoever ended it.
func (c *Client) lost(reason Reason, err error) {
	if c.phase != phaseConnected {
		if err == nil {
			err = fmt.Errorf("socketio: connect: %s", reason)
		}
		c.failed(err)
		return
	}
	if reason == ServerDisconnect {
		c.leave()
	}
	c.disconnected(reason, err)
	switch {
	case reason == ServerDisconnect, reason == ParseError, c.opts.NoReconnect:
		c.end()
	default:
		c.retry()
	}
}

// disconnected ends what depends on the link and says so.
func (c *Client) disconnected(reason Reason, err error) {
	c.dropLink()
	c.failAcks(ErrDisconnected, func(id int64) bool { return !c.isBuffered(id) })
	c.events.push(Event{Kind: Disconnected, Reason: reason, Err: err})
}

// failed is the end of an attempt that did not reach a connection.
func (c *Client) failed(err error) {
	c.dropLink()
	c.events.push(Event{Kind: ConnectError, Err: err})
	if c.opts.NoReconnect {
		c.end()
		return
	}
	c.retry()
}

// retry waits for the next attempt, or gives up.
func (c *Client) retry() {
	if limit := c.opts.ReconnectAttempts; limit >= 0 && c.attempt >= limit {
		c.events.push(Event{Kind: ReconnectFailed})
		c.end()
		return
	}
	c.phase = phaseWaiting
	c.timer.Reset(c.opts.backoff(c.attempt))
	c.attempt++
}

func (c *Client) reconnectNow() {
	switch c.phase {
	case phaseIdle, phaseOver:
		return
	case phaseConnected:
		c.disconnected(ForcedClose, nil)
	default:
		c.dropLink()
	}
	c.attempt = 1
	c.events.push(Event{Kind: Reconnecting, Attempt: c.attempt})
	c.connect()
}

// send transmits an event now, or keeps it for the next connection.
func (c *Client) send(pkt packet) error {
	if c.phase == phaseOver {
		return ErrClosed
	}
	if c.phase == phaseConnected && !c.paused && time.Now().After(c.deadline) {
		// After a computer's sleep the timer may not have run yet.
		c.lost(PingTimeout, nil)
		if c.phase == phaseOver {
			return ErrClosed
		}
	}
	if c.phase == phaseConnected {
		if !c.link.out.put(pkt.frames()...) {
			return ErrBufferFull
		}
		c.tap(Outgoing, pkt.name, pkt.args)
		return nil
	}
	size := len(pkt.name) + pkt.args.size()
	if c.buffered > 0 && c.buffered+size > c.opts.SendBuffer || len(c.buffer) >= maxBuffered {
		return ErrBufferFull
	}
	c.buffer = append(c.buffer, pkt)
	c.buffered += size
	return nil
}

func (c *Client) isBuffered(id int64) bool {
	return slices.ContainsFunc(c.buffer, func(p packet) bool { return p.id == id })
}

// unbuffer drops a call that nobody waits for any more.
func (c *Client) unbuffer(id int64) {
	c.buffer = slices.DeleteFunc(c.buffer, func(p packet) bool {
		if p.id != id {
			return false
		}
		c.buffered -= len(p.name) + p.args.size()
		return true
	})
}
