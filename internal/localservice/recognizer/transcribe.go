package recognizer

import (
	"context"
	"errors"
	"sync"
)

// ErrNoTranscriber means that speech was detected and nothing knows its words.
var ErrNoTranscriber = errors.New("recognizer: no transcriber")

// Transcriber turns speech into text.
type Transcriber interface {
	// Transcribe returns the words in pcm, which is mono with rate samples per second. No words are "".
	Transcribe(ctx context.Context, pcm []int16, rate int) (text string, err error)
}

var (
	_ Transcriber = (*Script)(nil)
	_ Transcriber = (*Endpoint)(nil)
)

// Script returns fixed lines, one for each call, and after the last one [ErrNoTranscriber]. It is for tests and demos. Its methods may
// be called concurrently.
type Script struct {
	mu    sync.Mutex
	lines []string
}

// NewScript returns a Script of lines.
func NewScript(lines ...string) *Script {
	return &Script{lines: lines}
}

// Add adds lines after the others.
func (s *Script) Add(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, lines...)
}

// Transcribe implements [Transcriber].
func (s *Script) Transcribe(context.Context, []int16, int) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) == 0 {
		return "", ErrNoTranscriber
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	return line, nil
}
