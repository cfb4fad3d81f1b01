package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// stopLimit is how long after a client's abort a turn may go on.
const stopLimit = 200 * time.Millisecond

// logLines receives the lines of a log that are about stopped turns.
type logLines chan []byte

func (l logLines) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"turn stopped"`)) {
		l <- bytes.Clone(line)
	}
	return len(line), nil
}

// logLimit is how long a line may take on a machine that is busy.
const logLimit = 30 * time.Second

// stopped is the log's entry about a stopped turn.
type stopped struct {
	Reason       string
	EndedAt      time.Time     `json:"ended_at"`
	StoppedAfter time.Duration `json:"stopped_after"`
}

// next returns the next line about a stopped turn.
func (l logLines) next(t *testing.T) stopped {
	t.Helper()
	var s stopped
	select {
	case line := <-l:
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
	case <-time.After(logLimit):
		t.Fatal("no turn was stopped")
	}
	return s
}

func TestLogTellsHowSoonAnAbortedTurnStopped(t *testing.T) {
	lines := make(logLines, 100)
	v := serve(t, nil, func(c *Config) {
		c.Dialogue = dialogue.New(dialogue.Config{
			Store: c.Store, Brain: &brain.Demo{Pace: brain.DefaultPace}, Logger: slog.New(slog.NewJSONHandler(lines, nil)),
		})
	})
	ks := v.conversation(store.Receptionist, "ann")
	for _, tt := range []struct {
		name, reason string
		abort        func(leave context.CancelFunc, threadID string)
	}{
		{"the client goes", "client gone", func(leave context.CancelFunc, _ string) { leave() }},
		{"the client says so", "aborted", func(_ context.CancelFunc, threadID string) {
			wantStatus(t, "abort", v.post("/assistant/abort", ks, fmt.Sprintf(`{"threadId":%q}`, threadID)), 200, "{}")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// A machine that is busy may be late once.
			for attempt := 1; ; attempt++ {
				ctx, leave := context.WithCancel(t.Context())
				response, threadID := v.streamText(ctx, ks, "Tell me a long story.", "lighthouse ")
				aborted := time.Now()
				tt.abort(leave, threadID)
				got := lines.next(t)
				leave()
				response.Body.Close()
				if got.Reason != tt.reason || got.EndedAt.Before(aborted) {
					t.Fatalf("logged %+v, aborted at %v", got, aborted)
				}
				took := got.EndedAt.Add(got.StoppedAfter).Sub(aborted)
				t.Logf("stopped %v after the abort, %v after it was seen", took, got.StoppedAfter)
				if took <= stopLimit {
					return
				}
				if attempt == 3 {
					t.Fatalf("stopped %v after the abort, want at most %v", took, stopLimit)
				}
			}
		})
	}
}
