// Package leaktest fails tests after which goroutines are left: of a session, a service or a
// connection that has not ended with them. It also measures the memory in use. It must not depend on the packages under test.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A goroutine may end after the call that ends it has returned, and nothing reports when. So
// Find looks again after a pause, which doubles up to longest, until the pauses add up to patience.
// That is not the time that has passed: a process that was given no processor meanwhile has ended
// nothing either.
const (
	shortest = 10 * time.Microsecond
	longest  = 100 * time.Millisecond
	patience = time.Second
)

// expected are functions of goroutines that Go starts and does not end: of signals, of
// tests that wait for others, of the execution trace, and of callbacks in a page.
var expected = []string{
	"os/signal.loop", "runtime.ensureSigM", "runtime.ReadTrace", "runtime.handleEvent",
	"testing.(*T).Run", "testing.(*T).Parallel", "testing.runFuzzing", "testing.runFuzzTests",
}

// Heap returns how many bytes are in use after a garbage collection.
func Heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Main runs the tests of a package, and exits: with 1 if they pass but goroutines are left.
func Main(m *testing.M) {
	code := m.Run()
	if err := Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Check fails t unless the goroutines that are started from now on have ended when t has
// ended, with the cleanups registered after this call. No other test may run beside t.
func Check(t testing.TB) {
	t.Helper()
	before := goroutines()
	t.Cleanup(func() {
		if err := find(before); err != nil {
			t.Error(err)
		}
	})
}

// Find returns an error with the stacks of all goroutines besides the caller's and those
// of Go itself, if there still are any after pauses of one second in all.
func Find() error { return find(nil) }

func find(before map[string]string) error {
	waited := time.Duration(0)
	for pause := shortest; ; pause = min(2*pause, longest) {
		var left []string
		for id, stack := range goroutines() {
			if _, ok := before[id]; !ok {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return nil
		}
		if waited > patience {
			return fmt.Errorf("goroutines left: %d\n\n%s", len(left), strings.Join(left, "\n\n"))
		}
		time.Sleep(pause)
		waited += pause
	}
}

// goroutines returns the stacks of all goroutines but the caller's and the expected ones, by
// their numbers.
func goroutines() map[string]string {
	text := make([]byte, 64<<10)
	for {
		n := runtime.Stack(text, true)
		if n < len(text) {
			text = text[:n]
			break
		}
		text = make([]byte, 2*len(text))
	}
	stacks := map[string]string{}
	// The first is the caller's. The others begin with "goroutine 7 [select]:".
	for _, stack := range strings.Split(strings.TrimSpace(string(text)), "\n\n")[1:] {
		head, frames, _ := strings.Cut(stack, "\n")
		if !isExpected(frames) {
			stacks[strings.Fields(head)[1]] = stack
		}
	}
	return stacks
}

// isExpected reports whether an expected function is in the frames, which are lines like
// "os/signal.loop()", each with the place in the source in another line. A function that has
// only created the goroutine is not one of them.
func isExpected(frames string) bool {
	for line := range strings.Lines(frames) {
		for _, name := range expected {
			if strings.HasPrefix(line, name+"(") {
				return true
			}
		}
	}
	return false
}
