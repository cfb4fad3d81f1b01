package avatar

import (
	"math"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/control"
)

// captions times the words of the utterance now playing and drops those of
// others (wire-protocol §7.3 and §7.4).
type captions struct {
	speechID string
	cut      string  // the utterance that was interrupted last: what is late of it is not shown
	elapsed  float64 // milliseconds of the utterance that its chunks cover so far
}

const (
	// sentinelMs marks a chunk that is no caption (wire-protocol §4.6).
	sentinelMs = 1
	// unknownMs stands in for a duration that is missing (wire-protocol §7.4).
	unknownMs = 100
)

// adopt makes id the current utterance.
func (c *captions) adopt(id string) {
	if id != c.speechID {
		c.speechID, c.elapsed = id, 0
	}
}

// interrupt ends the current utterance for good.
func (c *captions) interrupt() {
	c.cut = c.speechID
	c.finish()
}

// newTurn makes id the current utterance from its start.
func (c *captions) newTurn(id string) { *c = captions{speechID: id} }

// finish ends the current utterance; late chunks of it are still dropped by
// their id once another begins.
func (c *captions) finish() { c.elapsed = 0 }

// take returns the words of p with their times, or false if p is stale or a
// sentinel.
func (c *captions) take(p control.SpeechChunk) ([]Word, bool) {
	if c.speechID == "" {
		c.adopt(p.SpeechID)
	}
	if p.SpeechID != c.speechID || p.SpeechID != "" && p.SpeechID == c.cut || p.Text == "" || p.DurationMs == sentinelMs {
		return nil, false
	}
	duration := p.DurationMs
	if !(duration > 0) || math.IsInf(duration, 0) { // also not a number
		duration = unknownMs
	}
	tokens := strings.Fields(p.Text)
	words := make([]Word, len(tokens))
	for i, token := range tokens {
		start := c.elapsed + float64(i)*duration/float64(len(tokens))
		words[i] = Word{Word: token, StartMs: int64(math.Round(start))}
	}
	c.elapsed += duration
	return words, true
}
