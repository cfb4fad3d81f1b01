//go:build !js

package socketio

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// heart is the server's heartbeat on one link. It moves with the link from the
// greeter to the session.
type heart struct {
	timer    *time.Timer
	interval time.Duration
	timeout  time.Duration
	waiting  bool   // for a pong
	mark     uint64 // the last event sent before the ping
}

// beat runs when the timer has fired: it sends a ping, or returns false when the
// pong is overdue.
func (h *heart) beat(l *link, mark uint64) bool {
	if h.waiting {
		return false
	}
	h.waiting, h.mark = true, mark
	l.out.force(engineFrame(enginePing, nil))
	h.timer.Reset(h.timeout)
	return true
}

// alive notes that something has come in: the peer may be busy sending what is
// in front of its pong.
func (h *heart) alive() {
	if h.waiting {
		h.timer.Reset(h.timeout)
	}
}

// pong ends the wait; the next ping is due an interval later.
func (h *heart) pong() {
	h.waiting = false
	h.timer.Reset(h.interval)
}

// serverLink is a link from the server's side.
type serverLink struct {
	*link
	heart heart
}

// hello is the payload of a client's connect packet, as far as it concerns
// recovery.
type hello struct {
	PID    string `json:"pid"`
	Offset string `json:"offset"`
}

// greeter is a socket before its handshake is complete.
type greeter struct {
	s       *Server
	l       *serverLink
	h       Handshake
	hello   hello
	verdict chan error // Authorize's; nil before it was asked
}

// greet runs the handshake on a new socket (wire-protocol §1.9.2) and ends when
// a session has taken the socket over or it is closed.
func (s *Server) greet(t transport, h Handshake) {
	o := &s.opts
	g := &greeter{s: s, h: h, l: &serverLink{
		link:  newLink(t, o.SendBuffer, &s.wg),
		heart: heart{timer: time.NewTimer(o.PingInterval), interval: o.PingInterval, timeout: o.PingTimeout},
	}}
	open, err := json.Marshal(openPacket{
		SID: newID(), Upgrades: []string{}, MaxPayload: o.MaxPayload,
		PingInterval: o.PingInterval.Milliseconds(), PingTimeout: o.PingTimeout.Milliseconds(),
	})
	if err != nil {
		panic(err) // a struct of strings and numbers always marshals
	}
	g.l.out.force(engineFrame(engineOpen, open))

	ctx, cancel := context.WithTimeout(context.Background(), o.ConnectTimeout)
	defer cancel()
	for {
		select {
		case m := <-g.l.in:
			if !g.onInbound(ctx, m) {
				g.close()
				return
			}
		case <-g.l.heart.timer.C:
			if !g.l.heart.beat(g.l.link, 0) {
				g.close()
				return
			}
		case err := <-g.verdict:
			if err == nil && s.admit(g.l, g.h, g.hello) {
				return
			}
			if err != nil {
				g.refuse(err)
			}
			g.l.finish()
			g.l.heart.timer.Stop()
			return
		case <-ctx.Done():
			g.close()
			return
		case <-s.quit:
			g.close()
			return
		}
	}
}

func (g *greeter) close() {
	g.l.cut()
	g.l.heart.timer.Stop()
}

// onInbound takes one packet; false closes the socket.
func (g *greeter) onInbound(ctx context.Context, m inbound) bool {
	if m.err != nil {
		return false
	}
	g.l.heart.alive()
	switch m.engine {
	case enginePong:
		g.l.heart.pong()
		return true
	case engineUpgrade, engineNoop:
		return true
	case engineMessage:
	default:
		return false
	}
	if m.packet.typ != typeConnect {
		return false
	}
	if m.packet.namespace != rootNamespace {
		no := packet{typ: typeConnectError, id: noID, namespace: m.packet.namespace}
		no.data = json.RawMessage(`{"message":"Invalid namespace"}`)
		return g.l.out.put(no.frames()...)
	}
	if g.verdict != nil {
		return false
	}
	g.h.Auth = m.packet.data
	// A field of another type makes no recovery; the rest is Authorize's.
	_ = json.Unmarshal(m.packet.data, &g.hello)
	g.h.Recovering = g.s.lookUp(g.hello.PID) != nil
	g.verdict = make(chan error, 1)
	verdict, authorize := g.verdict, g.s.opts.Authorize
	if authorize == nil {
		verdict <- nil
		return true
	}
	h := g.h
	return g.s.spawn(func() { verdict <- authorize(ctx, h) })
}

// refuse tells the client why (wire-protocol §1.9.2).
func (g *greeter) refuse(err error) {
	answer := struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{Message: err.Error()}
	var refused *RefusedError
	if errors.As(err, &refused) {
		answer.Message, answer.Data = refused.Message, refused.Data
	}
	data, err := json.Marshal(answer)
	if err != nil { // Data is no JSON
		data, _ = json.Marshal(map[string]string{"message": answer.Message})
	}
	no := packet{typ: typeConnectError, id: noID, data: data}
	g.l.out.force(no.frames()...)
}

// admit gives the socket to the session it belongs to, or to a new one. False
// means that the server is closing.
func (s *Server) admit(l *serverLink, h Handshake, hi hello) bool {
	if old := s.lookUp(hi.PID); old != nil {
		recovered := false
		if old.do(func() { recovered = old.resume(l, h, hi.Offset) }) && recovered {
			return true
		}
	}
	return s.begin(l, h)
}
