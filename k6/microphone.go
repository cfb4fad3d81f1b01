package agentruntime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// microphone is silent except while a recording is played. The session reads its samples in
// real time.
type microphone struct {
	mu     sync.Mutex
	queue  []media.Sample
	played chan struct{} // closed when the queue was read to its end
}

// Next implements [media.Source].
func (m *microphone) Next(context.Context) (media.Sample, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		if m.played != nil {
			close(m.played)
			m.played = nil
		}
		return media.Silence(), nil
	}
	next := m.queue[0]
	m.queue = m.queue[1:]
	return next, nil
}

// play plays Opus in Ogg, and returns at its end.
func (m *microphone) play(ctx context.Context, recording []byte) error {
	samples, err := read(ctx, recording)
	if err != nil {
		return fault.New(fault.BadRequest, "the recording must be Opus in Ogg").Wrap(err)
	}
	played := make(chan struct{})
	m.mu.Lock()
	m.queue, m.played = samples, played
	m.mu.Unlock()
	select {
	case <-played:
		return nil
	case <-ctx.Done():
		return fault.From(ctx.Err())
	}
}

// read returns the samples of a recording.
func read(ctx context.Context, recording []byte) (samples []media.Sample, err error) {
	source, err := media.Ogg(bytes.NewReader(recording))
	if err != nil {
		return nil, err
	}
	for {
		sample, err := source.Next(ctx)
		switch {
		case errors.Is(err, io.EOF) && len(samples) > 0:
			return samples, nil
		case err != nil:
			return nil, err
		}
		samples = append(samples, sample)
	}
}
