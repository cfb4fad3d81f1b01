package replay

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/runtime/event"
)

// quiet is how long a conversation that differs from the recording is waited for: when nothing happens for so long, the
// next turn is said, and Diff reports what is missing.
const quiet = 20 * time.Second

// Run has the conversation of a recording once more, with another session: it says the same turns at the same points of the
// conversation. Its method Event is the OnEvent of the session's options.
type Run struct {
	recording *Recording
	started   time.Time

	mu      sync.Mutex
	entries []Entry
	changed chan struct{} // has a value after each event
}

// NewRun returns a run of r.
func NewRun(r *Recording) *Run {
	return &Run{recording: r, started: time.Now(), changed: make(chan struct{}, 1)}
}

// Event takes an event of the new session.
func (r *Run) Event(e event.Event) {
	data, err := json.Marshal(e)
	if err != nil {
		data = nil // a track, which has no form in JSON
	}
	r.mu.Lock()
	r.entries = append(r.entries, Entry{At: time.Since(r.started).Milliseconds(), Event: e.Name(), Data: data})
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Converse says the visitor's turns with speak, spoken ones as texts too, and returns what happened. The session must be
// connected. A turn that interrupted the agent is said when the agent has come as far as in the recording; the others when it
// has finished. Errors: that of speak; the cause of the end of ctx.
func (r *Run) Converse(ctx context.Context, speak func(ctx context.Context, text string) error) (*Recording, error) {
	first := 0 // entry after the turn before
	for i, e := range r.recording.Entries {
		text, ok := saidBy(e)
		if !ok {
			continue
		}
		point, events := i, finished
		for k := first; k < i; k++ {
			if r.recording.Entries[k].Event == "interrupted" {
				point, events = k, speaking
				break
			}
		}
		first = i + 1
		if err := r.wait(ctx, count(r.recording.Entries[:point], events)); err != nil {
			return nil, err
		}
		if err := speak(ctx, text); err != nil {
			return nil, err
		}
	}
	if err := r.wait(ctx, count(r.recording.Entries, finished)); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Recording{Header: Header{Version: Version, Started: r.started}, Entries: r.entries}, nil
}

// The events that show how far a conversation has come.
var (
	finished = []string{"avatarStopTalking", "turnEnd"}
	speaking = []string{"speechChunk"}
)

// saidBy returns the visitor's text of an entry.
func saidBy(e Entry) (string, bool) {
	var p payload
	ok := e.Event == "transcript" && json.Unmarshal(e.Data, &p) == nil && p.Type == "user"
	return p.Text, ok
}

func count(entries []Entry, names []string) map[string]int {
	n := map[string]int{}
	for _, name := range names {
		n[name] = 0
	}
	for _, e := range entries {
		if _, ok := n[e.Event]; ok {
			n[e.Event]++
		}
	}
	return n
}

// wait waits until the new conversation has that many of the events, or is quiet.
func (r *Run) wait(ctx context.Context, want map[string]int) error {
	for {
		if r.reached(want) {
			return nil
		}
		select {
		case <-r.changed:
		case <-time.After(quiet):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *Run) reached(want map[string]int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, n := range count(r.entries, slices.Collect(maps.Keys(want))) {
		if n < want[name] {
			return false
		}
	}
	return true
}
