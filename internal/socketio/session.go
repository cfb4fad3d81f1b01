//go:build !js

package socketio

import (
	"context"
	"crypto/rand"
	"strconv"
	"sync/atomic"
	"time"
)

// Session is a client's session on the server. With recovery it outlives its
// connection: Serve keeps running in a gap, the time without a connection, and Events
// reports Disconnected and then Connected with Recovered. Its methods may be called from
// any goroutine.
type Session struct {
	endpoint
	s         *Server
	id        string
	handshake atomic.Pointer[Handshake]
	cancel    context.CancelFunc
	served    chan struct{} // closed when Serve has returned

	// The following fields are used by the goroutine of run only.

	heartbeat *heartbeat  // of conn
	pid       string      // the session's secret id; "" without recovery
	window    *time.Timer // runs in a gap, between two connections
	packets   *bucket     // nil without a bound for their rate
	calm      *time.Timer // runs while the connection is not read because of that bound
	calming   bool
	inGap     bool
	ended     bool
	sent      recoveryBuffer
}

// startSession starts a new session on conn; false means that the server is
// closed.
func (s *Server) startSession(conn *serverConnection, h Handshake) bool {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Session{
		endpoint: newEndpoint(maxServerPending), s: s, id: rand.Text(), cancel: cancel,
		served: make(chan struct{}), window: stoppedTimer(), calm: stoppedTimer(),
	}
	if s.opts.PacketRate > 0 {
		c.packets = newBucket(s.opts.PacketRate, burst*s.opts.PacketRate)
	}
	c.handshake.Store(&h)
	if s.recovery.Load() > 0 {
		c.pid = rand.Text()
	}
	started := s.spawn(func() {
		if c.pid != "" {
			s.mu.Lock()
			s.sessions[c.pid] = c
			s.mu.Unlock()
		}
		c.join(conn)
		s.wg.Go(func() {
			defer close(c.served)
			s.opts.Serve(ctx, c)
		})
		c.run()
	})
	if !started {
		cancel()
	}
	return started
}

// ID returns the session id, the client's socket.id.
func (c *Session) ID() string { return c.id }

// Handshake returns the handshake of the client's latest connection.
func (c *Session) Handshake() Handshake { return *c.handshake.Load() }

// Events returns the channel of the session's events, in order: Message, Disconnected
// and, after a recovery, Connected. It is closed when the session is over. When Serve
// stops receiving, the connection is not read, and it is aborted after 10 s.
func (c *Session) Events() <-chan Event { return c.events.ch }

// Emit sends an event. In a gap the event is kept until the client reconnects. Emit never
// waits for the network; a client that reads too slowly is disconnected.
func (c *Session) Emit(name string, args ...any) error {
	p, err := newEvent(name, args)
	if err != nil {
		return err
	}
	return c.doErr(func() error { return c.send(p) })
}

// Close disconnects the client permanently: the client receives a disconnect packet and
// does not reconnect by itself. Events that were emitted before are still sent.
func (c *Session) Close() error {
	c.do(func() { c.disconnect(ServerNamespaceDisconnect) })
	return nil
}

// Drop aborts the connection without a disconnect packet, as a broken network
// would.
func (c *Session) Drop() {
	c.do(func() { c.lost(TransportClose, nil) })
}

// run is the session's owner goroutine.
func (c *Session) run() {
	defer close(c.done)
	defer c.cancel()
	served := false
	for !c.ended || len(c.events.pending) > 0 && !served {
		in, resumed := c.input()
		if c.calming {
			in = nil
		}
		var ping <-chan time.Time
		if c.conn != nil {
			ping = c.heartbeat.timer.C
			if resumed {
				c.heartbeat.received()
			}
		}
		events, head := c.events.head()
		select {
		case f := <-c.calls:
			f()
		case events <- head:
			c.events.sent()
		case r := <-in:
			c.onReceived(r)
		case <-ping:
			c.onHeartbeat()
		case <-c.stall.C:
			c.lost(TransportError, ErrSlowConsumer)
		case <-c.calm.C:
			c.calming = false
		case <-c.window.C:
			c.end()
		case <-c.served:
			served = true
			c.disconnect(ServerNamespaceDisconnect)
		case <-c.s.quit:
			c.shutDown()
			return
		}
	}
	c.events.finish(nil)
}

// join makes conn the session's connection and responds to the client's handshake.
func (c *Session) join(conn *serverConnection) {
	c.conn, c.heartbeat = conn.connection, &conn.heartbeat
	conn.answer(typeConnect, struct {
		SID string `json:"sid"`
		PID string `json:"pid,omitempty"`
	}{c.id, c.pid})
}

// resume continues the session on a new connection and replays the missed events
// (protocol §1.9.5). When that is not possible the session ends, because its client
// now uses another one.
func (c *Session) resume(conn *serverConnection, h Handshake, offset string) bool {
	if c.ended {
		return false
	}
	missed, ok := c.sent.since(offset)
	if c.s.refuse.CompareAndSwap(true, false) || c.s.recovery.Load() <= 0 {
		ok = false
	}
	if c.conn != nil { // the client detected the loss before the server
		c.disconnected(TransportClose, nil)
	}
	if !ok {
		c.end()
		return false
	}
	c.closeGap()
	c.handshake.Store(&h)
	c.join(conn)
	for _, messages := range missed {
		conn.out.push(messages...)
	}
	c.events.push(Event{Kind: Connected, Recovered: true})
	return true
}

// onReceived handles one packet of the current connection.
func (c *Session) onReceived(r received) {
	if r.err != nil {
		c.lost(disconnectReason(r.err))
		return
	}
	if c.packets != nil {
		if wait := c.packets.take(1 + (len(r.data)+r.packet.args.Size())/packetUnit); wait > 0 {
			c.calming = true
			c.calm.Reset(wait)
		}
	}
	heartbeat := c.heartbeat
	heartbeat.received()
	switch r.engine {
	case enginePong:
		// The client has everything that was sent before the ping.
		if heartbeat.waiting {
			c.sent.discard(heartbeat.offset)
		}
		heartbeat.pong()
	case engineClose:
		c.lost(TransportClose, nil)
	case enginePing, engineOpen:
		c.lost(ParseError, violation("Engine.IO packet %q from a client", r.engine))
	case engineMessage:
		c.onPacket(r.packet)
	}
}

func (c *Session) onPacket(p packet) {
	switch {
	case p.namespace != rootNamespace && p.typ == typeConnect:
		c.conn.refuseNamespace(p.namespace)
	case p.namespace != rootNamespace:
		c.lost(ParseError, violation("packet for a namespace that was refused"))
	case p.typ == typeEvent:
		c.receive(p)
	case p.typ == typeAck: // ignored: a session never asks for one
	case p.typ == typeDisconnect:
		c.disconnect(ClientNamespaceDisconnect)
	default:
		c.lost(ParseError, violation("handshake packet inside a session"))
	}
}

func (c *Session) onHeartbeat() {
	heartbeat := c.heartbeat
	if c.paused && heartbeat.waiting {
		heartbeat.received() // the pong may be among the unread packets
		return
	}
	if !heartbeat.ping(c.conn.out, c.sent.last) {
		c.lost(PingTimeout, nil)
	}
}

// send sends an event, with its offset when the session can be recovered.
func (c *Session) send(p packet) error {
	if c.ended {
		return ErrClosed
	}
	if c.pid != "" {
		p.args = append(p.args, marshal(formatOffset(c.sent.last+1)))
	}
	messages := p.encode()
	if c.pid != "" {
		c.sent.add(messages)
	}
	if c.conn == nil || c.conn.out.offer(messages...) {
		return nil // without a connection it is kept for the replay
	}
	c.lost(TransportError, ErrBufferFull)
	if c.ended {
		return ErrBufferFull
	}
	return nil // kept for the replay
}

// lost handles the end of the connection. The session continues if it may be recovered.
func (c *Session) lost(reason Reason, err error) {
	if c.conn == nil || c.ended {
		return
	}
	c.disconnected(reason, err)
	window := time.Duration(c.s.recovery.Load())
	if c.pid == "" || window <= 0 || reason == ParseError {
		c.end()
		return
	}
	if c.s.inGap.Add(1) > c.s.maxInGap {
		c.s.inGap.Add(-1)
		c.end()
		return
	}
	c.inGap = true
	c.window.Reset(window)
}

// disconnected aborts the connection and reports it.
func (c *Session) disconnected(reason Reason, err error) {
	c.conn.abort()
	c.conn = nil
	c.events.push(Event{Kind: Disconnected, Reason: reason, Err: err})
}

// disconnect ends the session after the queued messages were sent.
func (c *Session) disconnect(reason Reason) {
	if c.ended {
		return
	}
	if c.conn != nil {
		if reason == ServerNamespaceDisconnect {
			disconnect := packet{typ: typeDisconnect, id: noID}
			c.conn.out.push(disconnect.encode()...)
		}
		c.conn.close()
		c.disconnected(reason, nil)
	}
	c.end()
}

// shutDown ends the session for Server.Close. It does not wait for a reader of
// Events.
func (c *Session) shutDown() {
	var last *Event
	if c.conn != nil {
		c.conn.abort()
		c.conn = nil
		last = &Event{Kind: Disconnected, Reason: ServerShuttingDown}
	}
	c.end()
	c.events.finish(last)
}

// end releases everything but the events that have not been received.
func (c *Session) end() {
	if c.ended {
		return
	}
	c.ended = true
	c.closeGap()
	c.stall.Stop()
	c.calm.Stop()
	c.sent = recoveryBuffer{}
	c.s.mu.Lock()
	delete(c.s.sessions, c.pid)
	c.s.mu.Unlock()
	c.cancel()
}

// closeGap ends the wait for the client to reconnect.
func (c *Session) closeGap() {
	if c.inGap {
		c.inGap = false
		c.window.Stop()
		c.s.inGap.Add(-1)
	}
}

const (
	// maxRecoveryEvents and maxRecoveryBytes bound the events that are kept for one
	// session's recovery. Beyond them the oldest events are discarded, and a client that
	// missed one of those can't recover its session.
	maxRecoveryEvents = 1024
	maxRecoveryBytes  = 1 << 20
	// maxServerPending bounds the bytes of events that were not yet received from Events.
	maxServerPending = 256 << 10
)

// recoveryBuffer contains the sent events that the client may have missed
// (protocol §1.9.5). Events are numbered from 1; the number is the offset.
type recoveryBuffer struct {
	events [][]message // the events base+1 … last
	base   uint64
	last   uint64
	bytes  int
}

// add keeps the next event.
func (b *recoveryBuffer) add(messages []message) {
	b.events = append(b.events, messages)
	b.bytes += bytesOf(messages)
	b.last++
	for len(b.events) > maxRecoveryEvents || b.bytes > maxRecoveryBytes {
		b.discard(b.base + 1)
	}
}

// discard removes the events up to offset, which are no longer needed.
func (b *recoveryBuffer) discard(offset uint64) {
	for b.base < offset && len(b.events) > 0 {
		b.bytes -= bytesOf(b.events[0])
		b.events[0] = nil
		b.events = b.events[1:]
		b.base++
	}
}

// since returns the events after the client's last offset, in order; "" means that
// the client has received none. It fails for an offset that was never sent, or if events
// after it were discarded.
func (b *recoveryBuffer) since(offset string) ([][]message, bool) {
	var seen uint64
	if offset != "" {
		var err error
		if seen, err = strconv.ParseUint(offset, 10, 64); err != nil {
			return nil, false
		}
	}
	if seen < b.base || seen > b.last {
		return nil, false
	}
	return b.events[seen-b.base:], true
}

// formatOffset returns an offset as it is sent.
func formatOffset(offset uint64) string { return strconv.FormatUint(offset, 10) }
