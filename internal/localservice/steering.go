package localservice

import (
	"context"
	"sync"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/localservice/recognizer"
)

// The methods of this file change a running service from the same process; package
// controlapi is for other processes.

// SetScript replaces the script for later turns; an empty text removes it. The error has
// the line that is not allowed.
func (s *Service) SetScript(text []byte) error { return s.scripted.SetScript(text) }

// Hear sets the words of the next spoken turns, whichever microphone they come from.
func (s *Service) Hear(texts ...string) { s.told.Add(texts...) }

// Cut breaks the control sockets, and cuts all links until mend is called, which restores
// their conditions. Without broken sockets a session would notice only at its next heartbeat.
func (s *Service) Cut() (mend func()) {
	for _, info := range s.hub.Sessions(context.Background()) {
		if x, err := s.hub.Session(info.ID); err == nil { // it may have ended
			x.DropSocket()
		}
	}
	before := map[*netem.Link]netem.Conditions{}
	for _, l := range s.links {
		before[l] = l.Conditions()
		l.Set(netem.Conditions{Cut: true})
	}
	return sync.OnceFunc(func() {
		for l, c := range before {
			l.Set(c)
		}
	})
}

// Turns returns the questions that came to the brain, oldest first.
func (s *Service) Turns() []brain.Turn { return s.journal.Turns() }

// Completed returns the threads whose end was reported, oldest first.
func (s *Service) Completed(ctx context.Context) ([]string, error) {
	ended, err := s.store.Completed(ctx)
	var ids []string
	for _, c := range ended {
		ids = append(ids, c.ThreadID)
	}
	return ids, err
}

// toldFirst transcribes with the words of Hear while there are any.
type toldFirst struct {
	recognizer.Transcriber
	told *recognizer.Script
}

// Transcribe implements [recognizer.Transcriber].
func (t toldFirst) Transcribe(ctx context.Context, pcm []int16, rate int) (string, error) {
	if text, err := t.told.Transcribe(ctx, pcm, rate); err == nil {
		return text, nil
	}
	return t.Transcriber.Transcribe(ctx, pcm, rate)
}
