package native

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// stopLimit is how soon after an abort the service must have stopped the turn, not counting
// the time for which other processes had the processor.
const stopLimit = 200 * time.Millisecond

// TestAnAbortedTurnStopsAtTheService: an aborted turn is stopped in every state, and the next
// one works. It is not parallel, because it measures time.
func TestAnAbortedTurnStopsAtTheService(t *testing.T) {
	h := startChat(t, localservice.Options{})
	delays := watchDelays(t)
	var slowest time.Duration
	for _, text := range []string{"a long pause", "a silent pause", "an endless answer", "half a line", "ask the page", "Tell me a long story"} {
		t.Run(text, func(t *testing.T) {
			c := h.connect(t, "tools")
			thread := c.say("My name is Ivy").ThreadID
			for n, abort := range []func(string) (time.Time, error){c.cancel, c.leaveLoop} {
				at, err := abort(text)
				if !errors.Is(err, fault.Aborted) {
					t.Errorf("ended with %v", err)
				}
				line := h.journal.await(t, n, "turn stopped", "thread", store.ThreadLabel(thread))
				took, brain, late := line.at.Sub(at), line.values["stopped_after"].Duration(), delays.between(at, line.at)
				if took-late > stopLimit || brain-late > stopLimit || line.values["reason"].String() != "client gone" {
					t.Errorf("stopped %v after the abort, in which the machine was %v late; the service says %v", took, late, line.values)
				}
				slowest = max(slowest, took)
				if turn := c.say("What is my name?"); !strings.Contains(turn.Text, "Ivy") {
					t.Errorf("the next turn: %q", turn.Text)
				}
			}
		})
	}
	t.Logf("measured: chat: the service has stopped an aborted turn %v after the abort at the latest", slowest.Round(100*time.Microsecond))
}

// cancel starts a turn, ends its context at the first segment, and returns the time of that.
func (c *talk) cancel(text string) (at time.Time, err error) {
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	c.heedWith(func(e event.Event) {
		if _, ok := e.(event.BrainSegment); ok && at.IsZero() {
			at = time.Now()
			cancel()
		}
	})
	defer c.heedWith(nil)
	_, err = c.SendText(ctx, text, chat.TurnOptions{})
	return at, err
}

// leaveLoop iterates over a turn, leaves the loop at the first segment, and returns the time
// of that.
func (c *talk) leaveLoop(text string) (at time.Time, err error) {
	c.heedWith(func(e event.Event) {
		if failed, ok := e.(event.Failed); ok {
			err = failed.Error
		}
	})
	defer c.heedWith(nil)
	for range c.Stream(c.t.Context(), text, chat.TurnOptions{}) {
		at = time.Now()
		break
	}
	return at, err
}
