//go:build !js

package socketio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/coder/websocket"
)

// socket is a WebSocket of github.com/coder/websocket.
type socket struct {
	ws *websocket.Conn
}

var _ transport = (*socket)(nil)

// newSocket sets the read limit, which is 32 KiB otherwise.
func newSocket(ws *websocket.Conn, limit int64) *socket {
	ws.SetReadLimit(limit)
	return &socket{ws: ws}
}

func (s *socket) Read() (frame, error) {
	typ, data, err := s.ws.Read(context.Background())
	switch {
	case err == nil:
		return frame{binary: typ == websocket.MessageBinary, data: data}, nil
	case errors.Is(err, websocket.ErrMessageTooBig):
		return frame{}, errTooBig
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), websocket.CloseStatus(err) != -1:
		return frame{}, io.EOF
	}
	return frame{}, fmt.Errorf("socketio: read: %w", err)
}

func (s *socket) Write(f frame) error {
	typ := websocket.MessageText
	if f.binary {
		typ = websocket.MessageBinary
	}
	if err := s.ws.Write(context.Background(), typ, f.data); err != nil {
		return fmt.Errorf("socketio: write: %w", err)
	}
	return nil
}

// Close says goodbye.
func (s *socket) Close() error {
	if err := s.ws.Close(websocket.StatusNormalClosure, ""); err != nil {
		return fmt.Errorf("socketio: close: %w", err)
	}
	return nil
}

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
