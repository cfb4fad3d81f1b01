package media

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// serverVariable tells a test in a page where the native half of the test is.
const serverVariable = "AGENTRUNTIME_MEDIA_TEST_SERVER"

// testMic is one offer of a microphone.
type testMic struct {
	Offer   string `json:"offer,omitempty"`
	Restart bool   `json:"restart,omitempty"`
}

// limit is how long anything in these tests may take on a busy machine.
const limit = time.Minute

// journal records events and lets tests wait for them.
type journal struct {
	mu      sync.Mutex
	lines   []string
	events  []Event
	changed chan struct{}
}

func newJournal() *journal { return &journal{changed: make(chan struct{})} }

func (j *journal) notify(ev Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, ev)
	j.lines = append(j.lines, describe(ev))
	close(j.changed)
	j.changed = make(chan struct{})
}

// describe is an event in a line, "" for those whose number varies.
func describe(ev Event) string {
	switch ev.Kind {
	case ICEState:
		return fmt.Sprintf("%s ice %s", ev.Channel, ev.State)
	case PeerState:
		return fmt.Sprintf("%s peer %s", ev.Channel, ev.State)
	case TrackAdded:
		return fmt.Sprintf("%s track %s", ev.Channel, ev.Track.Kind)
	case VideoSize:
		return fmt.Sprintf("%s size %dx%d", ev.Channel, ev.Picture.Width, ev.Picture.Height)
	case Milestone:
		return fmt.Sprintf("%s mark %s", ev.Channel, ev.Phase)
	case Candidate:
		return fmt.Sprintf("%s candidate", ev.Channel)
	default:
		return fmt.Sprintf("%s kind %d %v %v", ev.Channel, ev.Kind, ev.Muted, ev.Err)
	}
}

// await waits until line was reported.
func (j *journal) await(t *testing.T, line string) {
	t.Helper()
	timeout := time.After(limit)
	for {
		j.mu.Lock()
		found, changed := j.countLocked(line) > 0, j.changed
		j.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("%q was not reported, but:\n%s", line, strings.Join(j.lines, "\n"))
		}
	}
}

func (j *journal) count(line string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.countLocked(line)
}

func (j *journal) countLocked(line string) int {
	n := 0
	for _, l := range j.lines {
		if l == line {
			n++
		}
	}
	return n
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// credentials are the ICE user of a session description.
func credentials(sdp string) string {
	for line := range strings.Lines(sdp) {
		if user, ok := strings.CutPrefix(line, "a=ice-ufrag:"); ok {
			return strings.TrimSpace(user)
		}
	}
	return ""
}
