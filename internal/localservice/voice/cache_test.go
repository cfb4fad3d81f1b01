package voice

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
		if n := from.made.Load(); n != 1 {
			t.Errorf("made %d times", n)
		}
		for _, how := range []Manner{{Name: "Deep"}, {Speed: 2}} { // each is another sound
			if _, err := c.Speak(t.Context(), "Hello.", how); err != nil {
				t.Error(err)
			}
		}
		if n := from.made.Load(); n != 3 {
			t.Errorf("made %d times in three manners", n)
		}
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
			if _, err := c.Speak(ctx, "Hello.", Manner{}); !errors.Is(err, context.Canceled) {
				t.Errorf("the first: %v", err)
			}
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
		if n := from.made.Load(); n != 1 {
			t.Errorf("made %d times", n)
		}
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
		if took := time.Since(began); took != 10*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
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
		if n := from.made.Load(); n != 2 {
			t.Errorf("made %d times", n)
		}
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
