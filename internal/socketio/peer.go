package socketio

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxStall bounds how long a reader of Events that doesn't read may hold back
// the socket. It is below the usual ping time-out (20 s), so that the other
// side does not lose the connection first.
const maxStall = 10 * time.Second

// peer is what the client and the server's end of a connection have in common.
// All of it but the channels belongs to the owner goroutine.
type peer struct {
	calls chan func()   // run on the owner goroutine
	done  chan struct{} // closed when the owner has returned
	wg    sync.WaitGroup

	events eventQueue
	link   *link // nil while there is no socket
	acks   map[int64]chan<- ackResult
	lastID int64
	tap    Tap
	paused bool        // the link is not read, because events is full
	stall  *time.Timer // runs while paused
}

type ackResult struct {
	args Args
	err  error
}

func newPeer(tap Tap) peer {
	if tap == nil {
		tap = func(Direction, string, Args) {}
	}
	return peer{
		calls:  make(chan func()),
		done:   make(chan struct{}),
		events: newEventQueue(),
		acks:   map[int64]chan<- ackResult{},
		tap:    tap,
		stall:  stoppedTimer(),
	}
}

// stoppedTimer returns a timer that runs after Reset.
func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// do runs f on the owner goroutine and waits for it; false means that the
// connection is over and f has not run.
func (p *peer) do(f func()) bool {
	ran := make(chan struct{})
	select {
	case p.calls <- func() { f(); close(ran) }:
		<-ran
		return true
	case <-p.done:
		return false
	}
}

// doErr is do for what may fail.
func (p *peer) doErr(f func() error) error {
	err := ErrClosed
	p.do(func() { err = f() })
	return err
}

// newEvent encodes an event on the goroutine of whoever emits it.
func newEvent(name string, args []any) (packet, error) {
	pkt := packet{typ: typeEvent, id: noID, name: name}
	if slices.Contains(reservedNames, name) {
		return pkt, fmt.Errorf("socketio: %q is a reserved event name", name)
	}
	var err error
	pkt.args, err = encodeArgs(args)
	return pkt, err
}

// call sends an event that asks for an acknowledgement and waits for it. send
// and forget run on the owner goroutine.
func (p *peer) call(ctx context.Context, name string, args []any, send func(packet) error, forget func(id int64)) (Args, error) {
	pkt, err := newEvent(name, args)
	if err != nil {
		return Args{}, err
	}
	answer := make(chan ackResult, 1)
	err = p.doErr(func() error {
		pkt.id = p.lastID
		p.lastID++
		if err := send(pkt); err != nil {
			return err
		}
		p.acks[pkt.id] = answer
		return nil
	})
	if err != nil {
		return Args{}, err
	}
	select {
	case r := <-answer:
		return r.args, r.err
	case <-ctx.Done():
		p.do(func() {
			delete(p.acks, pkt.id)
			forget(pkt.id)
		})
		return Args{}, fmt.Errorf("socketio: call %q: %w", name, ctx.Err())
	case <-p.done:
		return Args{}, ErrClosed
	}
}

// failAcks ends the calls for which lost is true.
func (p *peer) failAcks(err error, lost func(id int64) bool) {
	for id, answer := range p.acks {
		if lost(id) {
			answer <- ackResult{err: err}
			delete(p.acks, id)
		}
	}
}

// receive takes an event or acknowledgement that has come in.
func (p *peer) receive(pkt packet) {
	if pkt.typ == typeAck {
		// An id that nobody waits for is late or made up; both don't matter.
		if answer, ok := p.acks[pkt.id]; ok {
			delete(p.acks, pkt.id)
			answer <- ackResult{args: pkt.args}
		}
		return
	}
	ev := Event{Kind: Message, Name: pkt.name, Args: pkt.args}
	if pkt.id != noID {
		ev.Reply = p.replier(p.link, pkt.id)
	}
	p.tap(Incoming, ev.Name, ev.Args)
	p.events.push(ev)
}

// replier returns the function that acknowledges one event. The id means
// something only to the socket it came from.
func (p *peer) replier(l *link, id int64) func(...any) error {
	replied := false // the owner's
	return func(values ...any) error {
		args, err := encodeArgs(values)
		if err != nil {
			return err
		}
		return p.doErr(func() error {
			switch {
			case replied:
				return ErrReplied
			case p.link != l:
				return ErrDisconnected
			}
			pkt := packet{typ: typeAck, id: id, args: args}
			if !l.out.put(pkt.frames()...) {
				return ErrBufferFull
			}
			replied = true
			return nil
		})
	}
}

// pace returns the channel to receive packets from: none while there is no
// socket or while events is full. resumed is true when reading begins again
// after a pause, in which a heartbeat may have gone unseen.
func (p *peer) pace() (in <-chan inbound, resumed bool) {
	paused := p.link != nil && p.events.full()
	switch {
	case paused && !p.paused:
		p.stall.Reset(maxStall)
	case !paused && p.paused:
		p.stall.Stop()
		resumed = p.link != nil
	}
	p.paused = paused
	if p.link == nil || paused {
		return nil, resumed
	}
	return p.link.in, resumed
}
