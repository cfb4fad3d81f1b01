//go:build !js

package socketio

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/coder/websocket"
)

// Abort cuts the connection.
func (s *socket) Abort() {
	_ = s.ws.CloseNow() // it is of no use any more, whatever the error
}

// dialSocket opens a WebSocket.
func dialSocket(ctx context.Context, address string, o *ClientOptions) (transport, error) {
	// A transport of its own for each dial, because a refused handshake would
	// leave an idle connection behind.
	rt := http.DefaultTransport.(*http.Transport).Clone()
	rt.DisableKeepAlives = true
	ws, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: rt},
		HTTPHeader: o.Header,
	})
	if err != nil {
		// The text of a url.Error repeats the address with its query.
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, err
	}
	return newSocket(ws, o.MaxMessage), nil
}
