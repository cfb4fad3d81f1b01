package socketio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/coder/websocket"
)

// socket is a WebSocket. How it is dialled and closed is in the platform's file.
type socket struct {
	ws *websocket.Conn
}

var _ transport = (*socket)(nil)

// newSocket sets the read limit, which is 32 KiB otherwise.
func newSocket(ws *websocket.Conn, limit int64) *socket {
	ws.SetReadLimit(limit)
	return &socket{ws: ws}
}

// Read never uses a context: in a page an ended one leaves the socket open.
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

// Close says goodbye with code 1000, the only one of RFC 6455's own that a
// browser lets a page send.
func (s *socket) Close() error {
	if err := s.ws.Close(websocket.StatusNormalClosure, ""); err != nil {
		return fmt.Errorf("socketio: close: %w", err)
	}
	return nil
}
