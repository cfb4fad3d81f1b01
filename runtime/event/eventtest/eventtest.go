// Package eventtest records the events of a session for tests in a bubble of virtual time (testing/synctest). It must not
// depend on a kind of session.
package eventtest

import (
	"slices"
	"sync"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/runtime/event"
)

// Log is what the listener of a session has heard.
type Log struct {
	mu     sync.Mutex
	events []event.Event
	listen func(event.Event)
}

// Hear is the session's option OnEvent.
func (l *Log) Hear(e event.Event) {
	l.mu.Lock()
	l.events = append(l.events, e)
	listen := l.listen
	l.mu.Unlock()
	if listen != nil {
		listen(e)
	}
}

// HearWith has f called with each event from now on, on the goroutine of the listener.
func (l *Log) HearWith(f func(event.Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listen = f
}

// Heard returns the events so far, without waiting for those that are on their way.
func (l *Log) Heard() []event.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// Forget drops the events so far.
func (l *Log) Forget() {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = nil
}

// All returns the events of type T so far.
func All[T event.Event](l *Log) []T {
	synctest.Wait()
	var found []T
	for _, e := range l.Heard() {
		if v, ok := e.(T); ok {
			found = append(found, v)
		}
	}
	return found
}
