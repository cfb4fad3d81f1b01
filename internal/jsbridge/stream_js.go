//go:build js && wasm

package jsbridge

import (
	"context"
	"iter"
	"syscall/js"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// stream passes the items of a sequence to JavaScript, one for each call of next; the
// sequence blocks between calls.
type stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	items  chan any // closed when the sequence has ended
	err    error    // of the sequence, until next has returned it; written before items is closed
	begin  func()   // starts the sequence; nil once called or no longer needed
}

// Stream returns an object through which JavaScript takes the items of the
// sequence that open returns:
//
//   - next() returns a promise of {value}, and of {done: true} at the end. An
//     error of the sequence rejects one promise, and ends the sequence.
//   - return() ends the sequence early and releases everything. Its promise
//     resolves when the sequence has ended. It must be the last call, also after the
//     last item.
//
// The first next starts a goroutine that ranges over the sequence. The context passed to
// open ends with return(), with ctx and with the scope, whose End waits for the goroutine.
// A sequence that was cut short ends with the error aborted, so that it does not look
// complete. A panic is passed to the scope's onPanic. The returned error is that of open.
func (s *Scope) Stream(ctx context.Context, open func(context.Context) (iter.Seq2[any, error], error)) (js.Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	sequence, err := open(ctx)
	if err != nil {
		cancel()
		return js.Undefined(), err
	}
	st := &stream{ctx: ctx, cancel: cancel, items: make(chan any)}
	st.begin = func() { go st.run(sequence, s.onPanic) }
	own := s.child()
	own.OnEnd(st.end)
	object := objectCtor.New()
	reflectSet.Invoke(object, "next", own.Func(func(js.Value, []js.Value) any { return Promise(st.next) }))
	reflectSet.Invoke(object, "return", own.Func(func(js.Value, []js.Value) any {
		return Promise(func() (any, error) {
			own.End()
			return nil, nil
		})
	}))
	return object, nil
}

// run ranges over the sequence.
func (st *stream) run(sequence iter.Seq2[any, error], onPanic func(error)) {
	defer close(st.items)
	defer func() {
		if st.err == nil && st.ctx.Err() != nil {
			st.err = fault.From(context.Cause(st.ctx))
		}
	}()
	defer guard(func(err error) {
		st.err = err
		if onPanic != nil {
			onPanic(err)
		}
	})
	for item, err := range sequence {
		if err != nil {
			st.err = err
			return
		}
		select {
		case st.items <- item:
		case <-st.ctx.Done():
			return
		}
	}
}

// result is an IteratorResult.
type result struct {
	Done  bool `json:"done"`
	Value any  `json:"value,omitempty"`
}

// next waits for the next item. Calls get items in their order.
func (st *stream) next() (any, error) {
	if st.begin != nil {
		st.begin()
		st.begin = nil
	}
	if item, ok := <-st.items; ok {
		return result{Value: item}, nil
	}
	if err := st.err; err != nil {
		st.err = nil
		return nil, err
	}
	return result{Done: true}, nil
}

// end ends the sequence and returns when it has ended.
func (st *stream) end() {
	st.cancel()
	if st.begin != nil {
		st.begin = nil
		close(st.items)
	}
	for range st.items { // until it is closed
	}
}
