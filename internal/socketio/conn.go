//go:build !js

package socketio

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync/atomic"
	"time"
)

// Conn is one session on the server. With recovery on it outlives its socket:
// Serve keeps running through a gap, and sees Disconnected and then Connected
// with Recovered on Events. Its methods may be called from any goroutine but a
// Tap.
type Conn struct {
	peer
	s         *Server
	id        string
	handshake atomic.Pointer[Handshake]
	recovered atomic.Bool
	cancel    context.CancelFunc
	served    chan struct{} // closed when Serve has returned

	// What follows belongs to the goroutine of run.

	pid     string      // the session's secret name; "" without recovery
	slink   *serverLink // the present socket, or nil
	window  *time.Timer // runs in a gap
	inGap   bool
	over    bool
	history history
}

// newID returns 26 random characters.
func newID() string { return rand.Text() }

// begin starts a new session on l.
func (s *Server) begin(l *serverLink, h Handshake) bool {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Conn{
		peer: newPeer(s.opts.Tap), s: s, id: newID(), cancel: cancel,
		served: make(chan struct{}), window: stoppedTimer(),
	}
	c.handshake.Store(&h)
	if s.recovery.Load() > 0 {
		c.pid = newID()
	}
	started := s.spawn(func() {
		if c.pid != "" {
			s.remember(c)
		}
		c.join(l)
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
func (c *Conn) ID() string { return c.id }

// Handshake returns what the client has said, the last time it connected.
func (c *Conn) Handshake() Handshake { return *c.handshake.Load() }

// Recovered reports whether the session has been through a recovery.
func (c *Conn) Recovered() bool { return c.recovered.Load() }

// Events returns the channel of what happens, in order: Message, Disconnected
// and, after a recovery, Connected. It is closed when the session is over. A
// Serve that stops reading holds back the socket, and loses it after 10 s.
func (c *Conn) Events() <-chan Event { return c.events.ch }

// Emit sends an event. In a gap it is kept for the client's return. It never
// waits for the network; a client that reads too slowly is disconnected.
func (c *Conn) Emit(name string, args ...any) error {
	pkt, err := newEvent(name, args)
	if err != nil {
		return err
	}
	return c.doErr(func() error { return c.send(pkt) })
}

// Call sends an event that asks for an acknowledgement and returns what the
// client answers with. It ends early with ctx and, because such events are not
// replayed, with [ErrDisconnected] when there is no socket or it goes away.
func (c *Conn) Call(ctx context.Context, name string, args ...any) (Args, error) {
	return c.call(ctx, name, args, c.ask, func(int64) {})
}

// Close disconnects the client for good: it gets a disconnect packet and does
// not come back by itself. What was emitted before is still sent.
func (c *Conn) Close() error {
	c.do(func() { c.leave(ServerNamespaceDisconnect) })
	return nil
}

// Drop cuts the socket without a goodbye, as a broken network would.
func (c *Conn) Drop() {
	c.do(func() { c.lost(TransportClose, nil) })
}

// run is the session's owner goroutine.
func (c *Conn) run() {
	defer close(c.done)
	defer c.cancel()
	served := false
	for !c.over || len(c.events.pending) > 0 && !served {
		in, resumed := c.pace()
		var beat <-chan time.Time
		if c.slink != nil {
			beat = c.slink.heart.timer.C
			if resumed {
				c.slink.heart.alive()
			}
		}
		events, head := c.events.head()
		select {
		case f := <-c.calls:
			f()
		case events <- head:
			c.events.sent()
		case m := <-in:
			c.onInbound(m)
		case <-beat:
			c.onBeat()
		case <-c.stall.C:
			c.lost(TransportError, ErrSlowConsumer)
		case <-c.window.C:
			c.end()
		case <-c.served:
			served = true
			c.leave(ServerNamespaceDisconnect)
		case <-c.s.quit:
			c.shutDown()
			return
		}
	}
	c.events.finish(nil)
}

// join makes l the session's socket and tells the client.
func (c *Conn) join(l *serverLink) {
	c.slink, c.link = l, l.link
	answer := struct {
		SID string `json:"sid"`
		PID string `json:"pid,omitempty"`
	}{c.id, c.pid}
	data, err := json.Marshal(answer)
	if err != nil {
		panic(err) // a struct of strings always marshals
	}
	pkt := packet{typ: typeConnect, id: noID, data: data}
	l.out.force(pkt.frames()...)
}

// resume continues the session on a new socket and replays what the client has
// missed (wire-protocol §1.9.5). When that can't be, the session ends: its
// client has given it up.
func (c *Conn) resume(l *serverLink, h Handshake, offset string) bool {
	if c.over {
		return false
	}
	missed, ok := c.history.since(offset)
	if c.s.refuse.CompareAndSwap(true, false) || c.s.recovery.Load() <= 0 {
		ok = false
	}
	if c.slink != nil { // the client has noticed the drop first
		c.disconnected(TransportClose, nil)
	}
	if !ok {
		c.end()
		return false
	}
	c.closeGap()
	c.handshake.Store(&h)
	c.recovered.Store(true)
	c.join(l)
	for _, k := range missed {
		l.out.force(k.frames...)
	}
	c.events.push(Event{Kind: Connected, Recovered: true})
	return true
}

// onInbound takes one packet of the present socket.
func (c *Conn) onInbound(m inbound) {
	if m.err != nil {
		c.lost(disconnectReason(m.err))
		return
	}
	c.slink.heart.alive()
	switch m.engine {
	case enginePong:
		// The client has all that was sent before the ping.
		if c.slink.heart.waiting {
			c.history.forget(c.slink.heart.mark)
		}
		c.slink.heart.pong()
	case engineClose:
		c.lost(TransportClose, nil)
	case enginePing, engineOpen:
		c.lost(ParseError, violation("Engine.IO packet %q from a client", m.engine))
	case engineMessage:
		c.onPacket(m.packet)
	}
}

func (c *Conn) onPacket(pkt packet) {
	switch {
	case pkt.namespace != rootNamespace && pkt.typ == typeConnect:
		no := packet{typ: typeConnectError, id: noID, namespace: pkt.namespace}
		no.data = json.RawMessage(`{"message":"Invalid namespace"}`)
		c.link.out.put(no.frames()...)
	case pkt.namespace != rootNamespace:
		c.lost(ParseError, violation("packet for a namespace that was refused"))
	case pkt.typ == typeEvent, pkt.typ == typeAck:
		c.receive(pkt)
	case pkt.typ == typeDisconnect:
		c.leave(ClientNamespaceDisconnect)
	default:
		c.lost(ParseError, violation("handshake packet inside a session"))
	}
}

func (c *Conn) onBeat() {
	if c.paused && c.slink.heart.waiting {
		c.slink.heart.alive() // the pong may be behind what is not read
		return
	}
	if !c.slink.heart.beat(c.link, c.history.last) {
		c.lost(PingTimeout, nil)
	}
}

// send transmits an event, with its offset when the session can be recovered.
func (c *Conn) send(pkt packet) error {
	if c.over {
		return ErrClosed
	}
	frames := pkt.frames()
	if c.pid != "" {
		frames = pkt.frames(quote(offsetText(c.history.next())))
		c.history.add(frames)
	}
	c.tap(Outgoing, pkt.name, pkt.args)
	if c.link == nil {
		return nil // kept for the replay: a gap exists only with recovery
	}
	if err := c.transmit(frames); err != nil && c.over {
		return err
	}
	return nil // or kept for the replay
}

// ask transmits an event that asks for an acknowledgement.
func (c *Conn) ask(pkt packet) error {
	switch {
	case c.over:
		return ErrClosed
	case c.link == nil:
		return ErrDisconnected
	}
	c.tap(Outgoing, pkt.name, pkt.args)
	return c.transmit(pkt.frames())
}

// transmit hands frames to the socket; a peer that does not read loses it.
func (c *Conn) transmit(frames []frame) error {
	if c.link.out.put(frames...) {
		return nil
	}
	c.lost(TransportError, ErrBufferFull)
	return ErrBufferFull
}

// lost is the end of the socket. The session lives on when it may be recovered.
func (c *Conn) lost(reason Reason, err error) {
	if c.slink == nil || c.over {
		return
	}
	c.disconnected(reason, err)
	window := time.Duration(c.s.recovery.Load())
	if c.pid == "" || window <= 0 || reason == ParseError {
		c.end()
		return
	}
	if c.s.kept.Add(1) > int64(c.s.opts.MaxKept) {
		c.s.kept.Add(-1)
		c.end()
		return
	}
	c.inGap = true
	c.window.Reset(window)
}

// disconnected cuts the socket and says so.
func (c *Conn) disconnected(reason Reason, err error) {
	c.dropLink((*link).cut)
	c.events.push(Event{Kind: Disconnected, Reason: reason, Err: err})
}

// leave ends the session in peace.
func (c *Conn) leave(reason Reason) {
	if c.over {
		return
	}
	if c.slink != nil {
		if reason == ServerNamespaceDisconnect {
			bye := packet{typ: typeDisconnect, id: noID}
			c.link.out.force(bye.frames()...)
		}
		c.dropLink((*link).finish)
		c.events.push(Event{Kind: Disconnected, Reason: reason})
	}
	c.end()
}

// shutDown is the end by Server.Close. It waits for no reader of events.
func (c *Conn) shutDown() {
	var last *Event
	if c.slink != nil {
		c.dropLink((*link).cut)
		last = &Event{Kind: Disconnected, Reason: ServerShuttingDown}
	}
	c.end()
	c.events.finish(last)
}

func (c *Conn) dropLink(part func(*link)) {
	part(c.link)
	c.slink.heart.timer.Stop()
	c.slink, c.link = nil, nil
	c.failAcks(ErrDisconnected, func(int64) bool { return true })
}

// end leaves nothing behind but events to be taken.
func (c *Conn) end() {
	if c.over {
		return
	}
	c.over = true
	c.closeGap()
	c.stall.Stop()
	c.history = history{}
	if c.pid != "" {
		c.s.forgetConn(c)
	}
	c.cancel()
}

// closeGap ends the wait for the client's return.
func (c *Conn) closeGap() {
	if c.inGap {
		c.inGap = false
		c.window.Stop()
		c.s.kept.Add(-1)
	}
}
