//go:build js && wasm

package page

import (
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// Inner gives the page a session that another one holds, and that ends with it:
// take, a function of the page, gets the session's kind and its methods, and
// returns an object with the functions dispatch, which takes events, and gone,
// which is told when the methods must not be called any more.
//
// open makes the session; release frees what the page has of it, once it is
// closed.
func (h *Handle) Inner(kind string, take js.Value, open func(*Handle) (Session, error)) (release func(), err error) {
	inner := &Handle{program: h.program, handlers: map[int]func(){}}
	inner.owner = newOwner(h.ctx, inner.Failed)
	if inner.session, err = open(inner); err != nil {
		inner.end()
		return nil, err
	}
	end, err := inner.give(kind, take)
	if err != nil {
		inner.session.Close()
		inner.end()
		return nil, err
	}
	return func() {
		if _, err := jsbridge.Invoke(end); err != nil {
			jsbridge.Log("error", "agentruntime: "+err.Error())
		}
		inner.end()
	}, nil
}

// give hands the methods to the page and returns the function gone.
func (h *Handle) give(kind string, take js.Value) (gone js.Value, err error) {
	facade, err := invoke(take, kind, h.methods())
	if err != nil {
		return gone, err
	}
	dispatch, err := jsbridge.Get(facade, "dispatch")
	if err != nil {
		return gone, err
	}
	h.events = jsbridge.NewEmitter(dispatch)
	return jsbridge.Get(facade, "gone")
}
