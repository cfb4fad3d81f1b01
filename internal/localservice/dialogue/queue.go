package dialogue

import (
	"context"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// maxWaiting is how many turns may wait for one thread: enough for two sessions
// of one user that talk at once, too few to use much memory.
const maxWaiting = 8

// turnQueue lets one turn at a time run on a thread. It exists while a turn runs or
// waits, so there are at most as many queues as open requests.
type turnQueue struct {
	free    chan struct{} // holds a token while no turn runs; turns get it in order
	users   int           // running and waiting
	running *running
}

// running is the turn that runs on the thread.
type running struct {
	owner  store.Scope
	cancel context.CancelCauseFunc
}

// enter waits for the thread, and makes the turn abortable. The context that it
// returns ends with ctx, and by [Service.Abort]; leave must be called.
func (s *Service) enter(ctx context.Context, owner store.Scope, threadID string) (turnCtx context.Context, leave func(), err error) {
	s.mu.Lock()
	l := s.queues[threadID]
	if l == nil {
		l = &turnQueue{free: make(chan struct{}, 1)}
		l.free <- struct{}{}
		s.queues[threadID] = l
	}
	if l.users > maxWaiting {
		s.mu.Unlock()
		return nil, nil, ErrBusy
	}
	l.users++
	s.mu.Unlock()

	quit := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(s.queues, threadID)
		}
	}
	select {
	case <-l.free:
	case <-ctx.Done():
		quit()
		return nil, nil, ctx.Err()
	}
	turnCtx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	l.running = &running{owner, cancel}
	s.mu.Unlock()
	return turnCtx, func() {
		cancel(nil)
		s.mu.Lock()
		l.running = nil
		s.mu.Unlock()
		l.free <- struct{}{}
		quit()
	}, nil
}

// Abort ends the turn that runs on a thread; the words it has said stay in the
// history. It does nothing when no turn runs, or when the thread is not the
// caller's.
func (s *Service) Abort(scope store.Scope, threadID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.queues[threadID]
	if l == nil || l.running == nil {
		return
	}
	if scope.Reaches(l.running.owner) {
		l.running.cancel(ErrAborted)
	}
}
