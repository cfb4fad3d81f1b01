package avatar

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// The defaults of WaitForCapacity (protocol §2.7).
const (
	CapacityWait = 300 * time.Second
	CapacityPoll = 5 * time.Second
)

// WaitForCapacity asks on a socket of its own whether an avatar is free, every poll and
// for at most wait, until one is; zero means the default. It returns the service's
// details. The error is capacity_timeout, or why the service could not be asked.
//
// The first interval of each client differs, so that clients whose sockets were connected
// at the same moment ask evenly spread over a poll.
func (s *Session) WaitForCapacity(ctx context.Context, wait, poll time.Duration) (json.RawMessage, error) {
	wait = cmp.Or(wait, CapacityWait)
	poll = cmp.Or(poll, CapacityPoll)
	token, err := session.Ask(ctx, &s.core, func(reply chan<- string) { reply <- s.core.Token })
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, fault.New(fault.InvalidState, "the session has no token")
	}
	socket, err := s.dial(s.opts.ConversationURL, socketio.ClientOptions{Query: s.query(), Auth: auth(token), Random: s.spread.socket.Next})
	if err != nil {
		return nil, fault.From(err)
	}
	defer socket.Close()
	socket.Open()
	expired := time.NewTimer(wait)
	defer expired.Stop()
	again := time.NewTimer(poll)
	again.Stop()
	defer again.Stop()
	first := true     // the next reply is the first on this connection
	var lastErr error // of the last attempt to connect
	for {
		select {
		case ev, ok := <-socket.Events():
			switch {
			case !ok:
				return nil, fault.New(fault.SocketError, "the capacity connection was lost").Wrap(lastErr)
			case ev.Kind == socketio.ConnectError:
				lastErr = ev.Err
				continue
			case ev.Kind == socketio.Connected: // also after a drop, which may have cost the reply
				first = true
				again.Reset(0)
				continue
			case ev.Kind != socketio.Message:
				continue
			}
			if e := fatal(ev); e != nil {
				return nil, e
			}
			if ev.Name != signaling.AvailabilityResult {
				continue
			}
			a := decode[signaling.Availability](ev)
			s.core.Work.Post(func() { s.core.Emit(event.CapacityChanged{Available: a.Available, Details: a.Details}) })
			if a.Available {
				return a.Details, nil
			}
			next := poll
			if first {
				next = s.spread.capacity.Around(poll, 0.5)
			}
			first = false
			again.Reset(next)
		case <-again.C:
			if err := socket.Emit(signaling.CheckAvailability, signaling.Empty{}); err != nil {
				return nil, fault.From(err)
			}
		case <-expired.C:
			return nil, fault.New(fault.CapacityTimeout, "no avatar became free in time")
		case <-ctx.Done():
			return nil, session.EndOf(ctx)
		}
	}
}

// capacityBackoff are the waits after negative replies during a connect; the last one
// repeats (protocol §2.6).
var capacityBackoff = [...]time.Duration{
	30 * time.Second, 45 * time.Second, 60 * time.Second, 90 * time.Second, 120 * time.Second,
	180 * time.Second, 240 * time.Second, 300 * time.Second, 360 * time.Second,
}

// capacityJitter is the fraction by which they vary in both directions.
const capacityJitter = 0.15

// askCapacityAgain asks again later while a connect waits for a free avatar.
func (s *Session) askCapacityAgain(l *connection, available bool) {
	if available || s.phase != connecting {
		return
	}
	wait := capacityBackoff[min(l.refusals, len(capacityBackoff)-1)]
	l.refusals++
	wait = s.spread.capacity.Around(wait, capacityJitter)
	l.capacity.Stop()
	l.capacity = s.core.After(wait, func() {
		if s.conn == l && s.phase == connecting {
			s.emit(signaling.CheckAvailability, signaling.Empty{})
		}
	})
}
