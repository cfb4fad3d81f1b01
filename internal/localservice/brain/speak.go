package brain

import (
	"context"
	"strings"
	"time"
)

// DefaultPace is the pause between two pieces of a built-in answer. It is short
// enough not to be felt, and long enough that an answer is seen to stream.
const DefaultPace = 8 * time.Millisecond

// wordsPerPiece is how much of an answer is sent at a time, as models do.
const wordsPerPiece = 2

// speaker says prepared text piece by piece.
type speaker struct {
	ctx  context.Context
	out  Sink
	pace time.Duration
}

func (s speaker) say(text string) error {
	words := strings.SplitAfter(text, " ")
	for len(words) > 0 {
		n := min(wordsPerPiece, len(words))
		if err := s.out.Say(strings.Join(words[:n], "")); err != nil {
			return err
		}
		words = words[n:]
		if err := pause(s.ctx, s.pace); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, or returns the context's error as soon as it ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// followups shows questions to go on with, in the line form of widgets and in
// fragments (wire-protocol §4.4.3).
func followups(out Sink, questions []string) error {
	fragments := []string{"questions:"}
	for _, q := range questions {
		fragments = append(fragments, "\n- \""+strings.ReplaceAll(q, `"`, "'")+"\"")
	}
	return out.Widget("followups-tool", fragments...)
}
