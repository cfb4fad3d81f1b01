//go:build !js

package av

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// Microphone is a microphone for which a program chooses what it says next, also while it is live. Between the sounds it
// sends silence, as a browser's does. Its method Open is the OpenMicrophone of a [media.Platform]. The zero value is
// ready to use; its methods may be called concurrently.
type Microphone struct {
	mu    sync.Mutex
	queue []*utterance
}

// utterance is a sound that is said, or waits for its turn.
type utterance struct {
	ctx    context.Context
	source media.Source
	done   chan error // receives the outcome once
}

// Open returns the microphone as a source. It is the only device, whatever its id.
func (m *Microphone) Open(string) (media.Source, error) { return m, nil }

// Say sends a sound after those that wait, and returns when it was sent to its end. The end of ctx interrupts it. Say
// closes source if it is an [io.Closer]. The session's microphone must be started: until then, and while it is stopped, Say waits.
// Errors: validation_error for a nil source; the error of source; the cause of the end of ctx.
func (m *Microphone) Say(ctx context.Context, source media.Source) error {
	if source == nil {
		return fault.New(fault.ValidationError, "the sound must be a source, such as FromFile returns")
	}
	if closer, ok := source.(io.Closer); ok {
		defer closer.Close()
	}
	u := &utterance{ctx: ctx, source: source, done: make(chan error, 1)}
	m.mu.Lock()
	m.queue = append(m.queue, u)
	m.mu.Unlock()
	select {
	case err := <-u.done:
		return err
	case <-ctx.Done():
		m.remove(u)
		return context.Cause(ctx)
	}
}

// Next implements [media.Source].
func (m *Microphone) Next(ctx context.Context) (media.Sample, error) {
	for {
		u := m.present()
		if u == nil {
			return media.Silence(), nil
		}
		// The read must end with ctx too: after StopMic nothing may read the sound, and Close waits for this call.
		both, cancel := context.WithCancel(u.ctx)
		unhook := context.AfterFunc(ctx, cancel)
		sample, err := u.source.Next(both)
		unhook()
		cancel()
		switch {
		case err == nil:
			return sample, nil
		case ctx.Err() != nil:
			return media.Sample{}, ctx.Err()
		case errors.Is(err, io.EOF):
			err = nil
		}
		m.remove(u)
		u.done <- err
	}
}

func (m *Microphone) present() *utterance {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		return nil
	}
	return m.queue[0]
}

func (m *Microphone) remove(u *utterance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = slices.DeleteFunc(m.queue, func(q *utterance) bool { return q == u })
}
