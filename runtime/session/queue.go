package session

import "sync"

// Queue runs functions one after another, in the order they were posted, on a
// goroutine that lives only while there is something to run: an idle session
// has none.
//
// Posting never blocks, so it is allowed in a callback from JavaScript, where
// blocking would stop the program.
type Queue struct {
	mu      sync.Mutex
	waiting []func()
	running bool

	after  func()    // runs after each function, before the next
	caught func(any) // receives the value of a panic; the queue continues
}

// Post runs f after everything that was posted before. It does not block.
func (q *Queue) Post(f func()) {
	q.mu.Lock()
	q.waiting = append(q.waiting, f)
	start := !q.running
	q.running = true
	q.mu.Unlock()
	if start {
		go q.drain()
	}
}

// Do runs f before it returns if nothing else is running or waiting, and posts it
// otherwise. A page that calls a method and then reads a property thus finds the
// property changed, because nothing else runs while a page calls.
func (q *Queue) Do(f func()) {
	if !q.try(f) {
		q.Post(f)
	}
}

// Call runs f after everything that was posted before, and blocks until f and the
// function after have run. It must not be called from the queue.
func (q *Queue) Call(f func()) {
	if q.try(f) {
		return
	}
	done := make(chan struct{})
	q.Post(f)
	q.Post(func() { close(done) })
	<-done
}

// try runs f at once and returns true, unless something else is running or waiting.
func (q *Queue) try(f func()) bool {
	q.mu.Lock()
	if q.running {
		q.mu.Unlock()
		return false
	}
	q.running = true
	q.mu.Unlock()
	q.run(f)
	q.mu.Lock()
	q.running = len(q.waiting) > 0
	more := q.running
	q.mu.Unlock()
	if more {
		go q.drain()
	}
	return true
}

func (q *Queue) drain() {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.waiting = nil
			q.running = false
			q.mu.Unlock()
			return
		}
		f := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.run(f)
	}
}

func (q *Queue) run(f func()) {
	defer func() {
		if p := recover(); p != nil && q.caught != nil {
			q.caught(p)
		}
		if q.after != nil {
			q.after()
		}
	}()
	f()
}
