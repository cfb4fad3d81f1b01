//go:build !js

package record

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// chunkLead is how long before its sound a speechChunk is emitted (session §A.1.5).
const chunkLead = 400 * time.Millisecond

// readingTime is how long the visitor's words are shown.
const readingTime = 3 * time.Second

// captions are the cues of a WebVTT file, whose time is that of the agent's first file.
type captions struct {
	begin time.Duration // of that file
	cues  []cue
}

type cue struct {
	from, to time.Duration
	by, text string
}

func (c *captions) add(at time.Duration, e event.Event) {
	switch e := e.(type) {
	case event.SpeechChunk:
		from := at + chunkLead
		c.cues = append(c.cues, cue{from, from + time.Duration(e.DurationMs*float64(time.Millisecond)), "Agent", e.Text})
	case event.Transcript:
		if e.Type == "user" {
			c.cues = append(c.cues, cue{at, at + readingTime, "Visitor", e.Text})
		}
	case event.Interrupted: // what was not spoken is not shown
		for i := len(c.cues) - 1; i >= 0 && c.cues[i].to > at; i-- {
			if c.cues[i].by == "Agent" {
				c.cues[i].to = max(at, c.cues[i].from)
			}
		}
	}
}

var cueText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ")

func (c *captions) write(path string, keepSecrets bool) error {
	var b strings.Builder
	b.WriteString("WEBVTT\n")
	for _, cue := range c.cues {
		if !keepSecrets {
			cue.text = fault.Redact(cue.text)
		}
		if from := max(0, cue.from-c.begin); cue.to-c.begin > from && strings.TrimSpace(cue.text) != "" {
			fmt.Fprintf(&b, "\n%s --> %s\n<v %s>%s\n", stamp(from), stamp(cue.to-c.begin), cue.by, cueText.Replace(cue.text))
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

func stamp(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3600000, ms/60000%60, ms/1000%60, ms%1000)
}
