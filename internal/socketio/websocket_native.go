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

// webSocket is a WebSocket of github.com/coder/websocket.
type webSocket struct {
	ws *websocket.Conn
}

var _ transport = (*webSocket)(nil)

// newWebSocket sets the read limit, whose default is 32 KiB.
func newWebSocket(ws *websocket.Conn, limit int64) *webSocket {
	ws.SetReadLimit(limit)
	return &webSocket{ws: ws}
}

func (s *webSocket) Read() (message, error) {
	typ, data, err := s.ws.Read(context.Background())
	if err != nil {
		return message{}, readError(err)
	}
	return message{binary: typ == websocket.MessageBinary, data: data}, nil
}

// readError returns the error of Read for one of the package websocket.
func readError(err error) error {
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		return errTooBig
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), websocket.CloseStatus(err) != -1:
		return io.EOF
	}
	return fmt.Errorf("socketio: read: %w", err)
}

// readTo is Read for a server, whose door bounds the time and the memory.
func (s *webSocket) readTo(d *door) (message, error) {
	typ, r, err := s.ws.Reader(context.Background())
	if err != nil {
		return message{}, readError(err)
	}
	d.begin()
	var data []byte
	for {
		if len(data) == cap(data) {
			size := max(512, 2*cap(data))
			if err := d.grow(cap(data), size); err != nil {
				return message{}, err
			}
			data = append(make([]byte, 0, size), data...)
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			return message{binary: typ == websocket.MessageBinary, data: data}, nil
		}
		if err != nil {
			return message{}, readError(err)
		}
	}
}

func (s *webSocket) Write(m message) error {
	typ := websocket.MessageText
	if m.binary {
		typ = websocket.MessageBinary
	}
	if err := s.ws.Write(context.Background(), typ, m.data); err != nil {
		return fmt.Errorf("socketio: write: %w", err)
	}
	return nil
}

// Close does the closing handshake.
func (s *webSocket) Close() error {
	if err := s.ws.Close(websocket.StatusNormalClosure, ""); err != nil {
		return fmt.Errorf("socketio: close: %w", err)
	}
	return nil
}

// Abort closes the TCP connection.
func (s *webSocket) Abort() {
	_ = s.ws.CloseNow() // after an error nothing else can be done
}

// errRedirect is why a redirected handshake failed.
var errRedirect = errors.New("the server redirects the connection, and redirects are not followed")

// dialWebSocket opens a WebSocket.
func dialWebSocket(ctx context.Context, address string, o *ClientOptions) (transport, error) {
	// Each dial has its own HTTP transport, because a refused handshake would leave an
	// idle connection in a shared one.
	client := http.Client{}
	if o.HTTPClient != nil {
		client = *o.HTTPClient
	} else if rt, ok := http.DefaultTransport.(*http.Transport); ok { // else the application has replaced it
		rt = rt.Clone()
		rt.DisableKeepAlives = true
		client.Transport = rt
	}
	// As in browsers. The target would receive the query and the first packet.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	ws, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: &client})
	if err != nil {
		// The text of a url.Error contains the address with its query.
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, err
	}
	return newWebSocket(ws, o.MaxMessage), nil
}
