// Package eventtest records the events of a session for tests in a bubble of virtual time (testing/synctest). It must not
// depend on a kind of session.
package eventtest

import (
	"slices"
	"sync"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/runtime/event"
)

// Log has the events of a session in their order.
type Log struct {
	mu     sync.Mutex
	events []event.Event
	listen func(event.Event)
}

// Record is the session's option OnEvent.
func (l *Log) Record(e event.Event) {
	l.mu.Lock()
	l.events = append(l.events, e)
	listen := l.listen
	l.mu.Unlock()
	if listen != nil {
		listen(e)
	}
}

// Listen calls f with each event from now on, on the goroutine that calls Record; nil ends that.
func (l *Log) Listen(f func(event.Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listen = f
}

// Recorded returns the events so far, without waiting for those that are on their way.
func (l *Log) Recorded() []event.Event {
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
	for _, e := range l.Recorded() {
		if v, ok := e.(T); ok {
			found = append(found, v)
		}
	}
	return found
}
