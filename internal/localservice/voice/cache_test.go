package voice

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// slow is a voice that takes a second for a text, and fails for "fail".
type slow struct{ made atomic.Int32 }

func (s *slow) Speak(ctx context.Context, text string, _ Manner) (*Speech, error) {
	s.made.Add(1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if text == "fail" {
		return nil, errors.New("no voice")
	}
	return &Speech{PCM: make([]int16, 1000), Rate: 1000}, nil
}

func TestASentenceIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &slow{}
		c := cached(from)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := c.Speak(t.Context(), "Hello.", Manner{}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if _, err := c.Speak(t.Context(), "Hello.", Manner{}); err != nil {
			t.Error(err)
		}
		expect.Equal(t, from.made.Load(), 1, "how often made")
		for _, how := range []Manner{{Name: "Deep"}, {Speed: 2}} { // each is another sound
			if _, err := c.Speak(t.Context(), "Hello.", how); err != nil {
				t.Error(err)
			}
		}
		expect.Equal(t, from.made.Load(), 3, "made times in three manners")
	})
}

// TestALeaverTakesNoSoundAway from others that wait for the same one.
func TestALeaverTakesNoSoundAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &slow{}
		c := cached(from)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			expect.Fail(c.Speak(ctx, "Hello.", Manner{}))(t, context.Canceled, "the first")
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := c.Speak(t.Context(), "Hello.", Manner{}); err != nil {
				t.Errorf("the second: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		all.Wait()
		expect.Equal(t, from.made.Load(), 1, "how often made")
	})
}

// TestASoundThatNoCallWaitsForEnds before it is complete.
func TestASoundThatNoCallWaitsForEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &slow{}
		c := cached(from)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := c.Speak(ctx, "Hello.", Manner{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		expect.Equal(t, time.Since(began), 10*time.Millisecond, "ended after")
		if _, err := c.Speak(t.Context(), "Hello.", Manner{}); err != nil || from.made.Load() != 2 {
			t.Errorf("again: %v, made %d times", err, from.made.Load())
		}
	})
}

func TestAFailureIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &slow{}
		c := cached(from)
		for range 2 {
			if _, err := c.Speak(t.Context(), "fail", Manner{}); err == nil {
				t.Error("no error")
			}
		}
		expect.Equal(t, from.made.Load(), 2, "how often made")
	})
}

func TestKeptSoundIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &slow{}
		c := cached(from)
		c.limit = 5000 // two sounds
		for _, text := range []string{"one", "two", "one", "three", "one", "two"} {
			must.Get(c.Speak(t.Context(), text, Manner{}))(t)
		}
		if n := from.made.Load(); n != 4 { // only "two" was dropped, when "three" came
			t.Errorf("made %d times, want 4", n)
		}
		if c.size > c.limit || c.latest.Len() != len(c.kept) {
			t.Errorf("keeps %d bytes, %d and %d sounds", c.size, c.latest.Len(), len(c.kept))
		}
	})
}
