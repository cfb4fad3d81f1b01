// Package must ends a test when a call fails that has to work, or when something that has to happen does not, so that what
// a test prepares is one line for each call. It must not know what a test is about.
package must

import (
	"testing"
	"time"
)

// Do ends the test if err is not nil.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns the value of a call that has an error too: must.Get(f())(t).
func Get[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// patience is how long something may take on a busy machine.
const patience = time.Minute

// Wait returns when done reports true, and ends the test if that takes too long. It is for what reports itself in no other
// way.
func Wait(t testing.TB, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}
