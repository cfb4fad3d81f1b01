//go:build !js

package socketio

import (
	"sync/atomic"
	"time"
)

const (
	// freeBytes is how much of a packet is read before memory is reserved for it.
	freeBytes = 4 << 10
	// pingRate and pingBurst bound the pings of WebSocket that are answered, a second and
	// at once.
	pingRate, pingBurst = 1, 20
	// packetUnit is how many bytes of a packet count like a packet, because they take as
	// long to decode.
	packetUnit = 8 << 10
	// burst is how many seconds' worth of packets are handled at once.
	burst = 10
)

// door is the transport of one client of a server. It bounds what the client can make the
// server keep: until open is called, [maxStranger] bytes in all and no attachments; then a
// number of bytes for a packet and its attachments together. A packet that has begun must
// be complete in time.
//
// Except for isOpen and the timer, its fields are used by the reading goroutine only.
type door struct {
	transport
	reserve func(n int) bool
	timeout time.Duration
	late    *time.Timer // aborts the transport; runs while a packet is incomplete

	isOpen     atomic.Bool
	maxPayload atomic.Int64 // bytes
	left       int          // bytes that may still be read before the handshake
	begun      bool         // a packet is incomplete
	used       int          // bytes of that packet
	reserved   int          // bytes
}

func newDoor(t transport, timeout time.Duration, reserve func(n int) bool) *door {
	d := &door{transport: t, reserve: reserve, timeout: timeout, left: maxStranger, late: time.AfterFunc(timeout, t.Abort)}
	d.late.Stop()
	return d
}

// open ends the restrictions of a client that is not authorised; from now on maxPayload
// bounds each packet, in bytes.
func (d *door) open(maxPayload int) {
	d.maxPayload.Store(int64(maxPayload))
	if ws, ok := d.transport.(*webSocket); ok {
		ws.ws.SetReadLimit(int64(maxPayload))
	}
	d.isOpen.Store(true)
}

// Read waits for the next message.
func (d *door) Read() (message, error) {
	m, err := d.read()
	if err != nil {
		return message{}, err
	}
	d.used += len(m.data)
	if !d.isOpen.Load() {
		if m.binary {
			return message{}, violation("attachment before the handshake")
		}
		if d.left -= len(m.data); d.left < 0 {
			return message{}, errTooBig
		}
	} else if d.used > int(d.maxPayload.Load()) {
		return message{}, errTooBig
	}
	return m, nil
}

func (d *door) read() (message, error) {
	if ws, ok := d.transport.(*webSocket); ok {
		return ws.readTo(d)
	}
	m, err := d.transport.Read()
	d.begin()
	return m, err
}

// begin is called when a message has begun.
func (d *door) begin() {
	if !d.begun {
		d.begun = true
		d.late.Reset(d.timeout)
	}
}

// grow is called before the memory of a message grows from one number of bytes to another.
func (d *door) grow(from, to int) error {
	if d.isOpen.Load() && d.used+from >= int(d.maxPayload.Load()) {
		return errTooBig
	}
	if d.used == 0 && to <= freeBytes {
		return nil
	}
	if !d.reserve(to - from) {
		return errNoMemory
	}
	d.reserved += to - from
	return nil
}

// complete is called when a packet is complete, and when reading ends.
func (d *door) complete() {
	d.late.Stop()
	if d.reserved > 0 {
		d.reserve(-d.reserved)
	}
	d.begun, d.used, d.reserved = false, 0, 0
}

// bucket grants a number of units at once, and so many more each second.
type bucket struct {
	rate, size float64
	left       float64
	filled     time.Time
}

func newBucket(rate, size int) *bucket {
	return &bucket{rate: float64(rate), size: float64(size), left: float64(size), filled: time.Now()}
}

// take takes n units and returns how long to wait until there are some again: 0 if some
// are left.
func (b *bucket) take(n int) time.Duration {
	now := time.Now()
	b.left = min(b.size, b.left+now.Sub(b.filled).Seconds()*b.rate) - float64(n)
	b.filled = now
	if b.left >= 0 {
		return 0
	}
	return time.Duration(-b.left / b.rate * float64(time.Second))
}
