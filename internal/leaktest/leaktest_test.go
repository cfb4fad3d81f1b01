package leaktest

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestMain(m *testing.M) { Main(m) }

func wait(c <-chan struct{}) { <-c }

func TestAGoroutineIsFoundUntilItEnds(t *testing.T) {
	end := make(chan struct{})
	go wait(end)
	err := Find()
	if err == nil || !strings.Contains(err.Error(), "goroutines left: 1") || !strings.Contains(err.Error(), "leaktest.wait(") {
		t.Errorf("found %v", err)
	}
	expect.Equal(t, find(goroutines()), nil, "it was there before")
	close(end)
	expect.Equal(t, Find(), nil, "after its end")
}

// failures is a test whose errors are counted.
type failures struct {
	testing.TB
	cleanup func()
	count   int
}

func (f *failures) Helper()          {}
func (f *failures) Cleanup(c func()) { f.cleanup = c }
func (f *failures) Error(...any)     { f.count++ }

func TestCheckLooksAtWhatTheTestHasStarted(t *testing.T) {
	before, during := make(chan struct{}), make(chan struct{})
	defer close(before)
	go wait(before)
	f := failures{TB: t}
	Check(&f)
	f.cleanup()
	expect.Equal(t, f.count, 0, "a goroutine of before is an error")
	go wait(during)
	f.cleanup()
	expect.Equal(t, f.count, 1, "a goroutine that is left is no error")
	close(during)
	f.cleanup()
	expect.Equal(t, f.count, 1, "a goroutine that has ended is an error")
}
