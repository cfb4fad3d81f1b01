//go:build js && wasm

package socketio

import (
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"
)

// errHandshake is all there is to say: a browser hides the cause from the page.
var errHandshake = errors.New("the WebSocket handshake failed")

// abandonedDial bounds the wait for a dial that nobody wants any more. The
// library shows the socket only when it is open; one whose server never answers
// is closed by the browser in its own time.
const abandonedDial = 5 * time.Second

// Abort closes with code 1000: a browser refuses the others, which would leave
// the socket open, and has no way to cut.
func (s *socket) Abort() { _ = s.Close() }

// dialSocket opens a WebSocket. The library must not see ctx: it would try to
// close with code 1008, which a browser refuses, and lose the socket while the
// browser goes on opening it.
func dialSocket(ctx context.Context, address string, o *ClientOptions) (transport, error) {
	opened := make(chan *websocket.Conn, 1)
	go func() {
		ws, _, err := websocket.Dial(context.Background(), address, nil)
		if err != nil {
			ws = nil
		}
		if ctx.Err() != nil && ws != nil {
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}
		opened <- ws
	}()
	select {
	case ws := <-opened:
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case ws == nil:
			return nil, errHandshake
		}
		return newSocket(ws, o.MaxMessage), nil
	case <-ctx.Done():
	}
	limit := time.NewTimer(abandonedDial)
	defer limit.Stop()
	select {
	case ws := <-opened:
		// Opened and sent just before ctx ended; closing twice does no harm.
		if ws != nil {
			_ = ws.Close(websocket.StatusNormalClosure, "")
		}
	case <-limit.C:
	}
	return nil, ctx.Err()
}
