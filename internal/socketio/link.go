package socketio

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// transport is one WebSocket, or a test's stand-in for one.
type transport interface {
	// Read waits for the next message. io.EOF means that the peer has closed.
	Read() (frame, error)
	Write(frame) error
	// Close says goodbye; it may wait for the peer, a bounded time.
	Close() error
	// Abort cuts, and unblocks Read and Write.
	Abort()
}

// frame is one WebSocket message.
type frame struct {
	binary bool
	data   []byte
}

// errTooBig is returned by a transport's Read for a message beyond the limit.
var errTooBig = fmt.Errorf("%w: message too big", errProtocol)

// flushTimeout bounds how long a link that was told to finish may go on
// writing to a peer that doesn't read.
const flushTimeout = 3 * time.Second

// inbound is what a link's reader hands to its owner: an Engine.IO packet, or
// the error that ended the reading.
type inbound struct {
	engine byte // engineOpen …
	data   []byte
	packet packet // engineMessage
	err    error
}

// link is a transport with the two goroutines that serve it. It belongs to one
// owner at a time, who receives from in.
type link struct {
	t       transport
	in      chan inbound
	out     *outbox
	quit    chan struct{} // closed by finish and cut: nobody receives from in any more
	written chan struct{} // closed when the writer has nothing left to write
	over    bool          // finish or cut was called; the owner's
	wg      *sync.WaitGroup
}

// newLink starts serving t. Its goroutines, counted in wg, end after finish or
// cut; then t is closed. At most queue bytes wait to be written.
func newLink(t transport, queue int, wg *sync.WaitGroup) *link {
	l := &link{
		t: t, in: make(chan inbound), out: newOutbox(queue),
		quit: make(chan struct{}), written: make(chan struct{}), wg: wg,
	}
	wg.Go(l.read)
	wg.Go(l.write)
	return l
}

// finish says goodbye: what waits is written, then the socket is closed.
func (l *link) finish() {
	if !l.end(false) {
		return
	}
	l.wg.Go(func() {
		limit := time.NewTimer(flushTimeout)
		defer limit.Stop()
		select {
		case <-l.written:
		case <-limit.C:
			l.t.Abort()
		}
	})
}

// cut ends the link without a word.
func (l *link) cut() {
	if l.end(true) {
		l.wg.Go(l.t.Abort) // natively it may wait for the goroutines of the socket
	}
}

func (l *link) end(discard bool) bool {
	if l.over {
		return false
	}
	l.over = true
	close(l.quit)
	l.out.close(discard)
	return true
}

// read decodes messages until the transport fails, the peer breaks the protocol
// or the link ends.
func (l *link) read() {
	var d decoder
	for {
		var in inbound
		f, err := l.t.Read()
		if err == nil {
			in, err = d.decode(f)
		}
		if err == nil && in.engine == 0 {
			continue // more attachments have to come
		}
		in.err = err
		select {
		case l.in <- in:
		case <-l.quit:
			return
		}
		if err != nil {
			return
		}
	}
}

// write sends what is in the outbox and closes the transport at the end.
func (l *link) write() {
	defer close(l.written)
	for {
		frames, state := l.out.take()
		for _, f := range frames {
			if err := l.t.Write(f); err != nil {
				l.t.Abort() // the reader reports it
				return
			}
		}
		switch state {
		case outboxDiscarded:
			return
		case outboxClosed:
			// The peer may be gone already; there is nobody left to tell.
			_ = l.t.Close()
			return
		}
	}
}

// decoder turns messages into packets; it holds the one that waits for its
// attachments.
type decoder struct {
	pending *packet
}

// decode reads one message. The result has no engine type while attachments are
// missing. Heartbeats may come between a packet and its attachments, other text
// messages may not.
func (d *decoder) decode(f frame) (inbound, error) {
	if f.binary {
		if d.pending == nil {
			return inbound{}, violation("binary message that no packet announced")
		}
		if err := d.pending.attach(f.data); err != nil {
			return inbound{}, err
		}
		return d.complete(*d.pending), nil
	}
	if len(f.data) == 0 {
		return inbound{}, violation("empty message")
	}
	in := inbound{engine: f.data[0], data: f.data[1:]}
	if in.engine < engineOpen || in.engine > engineNoop {
		return inbound{}, violation("unknown Engine.IO packet type %q", in.engine)
	}
	if in.engine != engineMessage {
		return in, nil
	}
	if d.pending != nil {
		return inbound{}, violation("text where an attachment belongs")
	}
	p, err := decodePacket(in.data)
	if err != nil {
		return inbound{}, err
	}
	return d.complete(p), nil
}

// complete passes p on, or keeps it until its attachments are there.
func (d *decoder) complete(p packet) inbound {
	if p.missing > 0 {
		d.pending = &p
		return inbound{}
	}
	d.pending = nil
	return inbound{engine: engineMessage, packet: p}
}

// disconnectReason says what the end of a transport is called, and what there is
// to say beyond that.
func disconnectReason(err error) (Reason, error) {
	switch {
	case errors.Is(err, errProtocol):
		return ParseError, err
	case errors.Is(err, io.EOF):
		return TransportClose, nil
	}
	return TransportError, err
}

// openPacket is the payload of the Engine.IO open packet; times are
// milliseconds.
type openPacket struct {
	SID          string   `json:"sid"`
	Upgrades     []string `json:"upgrades"`
	PingInterval int64    `json:"pingInterval"`
	PingTimeout  int64    `json:"pingTimeout"`
	MaxPayload   int64    `json:"maxPayload"`
}

// maxHeartbeat bounds what a server may ask for, so that the sum fits any timer.
const maxHeartbeat = 24 * time.Hour

func decodeOpen(data []byte) (openPacket, error) {
	var open openPacket
	if err := json.Unmarshal(data, &open); err != nil {
		return open, violation("open packet: %v", err)
	}
	for _, ms := range []int64{open.PingInterval, open.PingTimeout} {
		if ms <= 0 || ms > maxHeartbeat.Milliseconds() {
			return open, violation("open packet: heartbeat of %d ms", ms)
		}
	}
	return open, nil
}

// engineFrame is an Engine.IO packet as a text message.
func engineFrame(typ byte, data []byte) frame {
	return frame{data: append([]byte{typ}, data...)}
}

// frames encodes a packet as one text message and its attachments.
func (p *packet) frames(extra ...json.RawMessage) []frame {
	out := []frame{{data: p.appendText([]byte{engineMessage}, extra...)}}
	for _, data := range p.args.attachments {
		out = append(out, frame{binary: true, data: data})
	}
	return out
}
