package session

import (
	"slices"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestCallReturnsAfterWhatFollows: a property that is read after a method has returned
// is changed.
func TestCallReturnsAfterWhatFollows(t *testing.T) {
	for range 1000 {
		var q Queue
		state, published := 0, 0
		q.after = func() {
			if published != state {
				published = state
			}
		}
		q.Call(func() { state = 1 })
		if published != 1 {
			t.Fatal("returned before the change was published")
		}
	}
}

func TestAPanicIsCaughtAndTheQueueGoesOn(t *testing.T) {
	var q Queue
	var got []any
	q.caught = func(p any) { got = append(got, p) }
	q.Call(func() { panic("a bug") })
	q.Call(func() { got = append(got, "next") })
	if !slices.Equal(got, []any{"a bug", "next"}) {
		t.Errorf("%v", got)
	}
}

// TestDoRunsAtOnceOrInOrder: at once when nothing runs; from within a function of
// the queue it comes after that one.
func TestDoRunsAtOnceOrInOrder(t *testing.T) {
	var q Queue
	var order []int
	q.Do(func() {
		order = append(order, 1)
		q.Do(func() { order = append(order, 3) })
		order = append(order, 2)
	})
	q.Call(func() {})
	if !slices.Equal(order, []int{1, 2, 3}) {
		t.Errorf("%v", order)
	}
}

// TestCallComesBehindWhatWasPosted, from whichever goroutine, and nothing runs
// beside it.
func TestCallComesBehindWhatWasPosted(t *testing.T) {
	var q Queue
	var wg sync.WaitGroup
	var ran [4]int
	running := 0
	for i := range ran {
		wg.Go(func() {
			for n := range 500 {
				q.Post(func() { ran[i] = 2*n + 1 })
				q.Call(func() {
					running++
					if ran[i] != 2*n+1 || running != 1 {
						t.Errorf("ran at %d, want behind %d; %d at once", ran[i], 2*n+1, running)
					}
					running--
				})
			}
		})
	}
	wg.Wait()
}
