//go:build js && wasm

package socketio

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/must"
)

// This file has no _js_test.go name, because it can't run alone: the native
// TestClientInChromium starts the server and then these tests.

// addressVar names the environment variable with the official server's address.
const addressVar = "AGENTRUNTIME_SIO_URL"

func npmAddress(t *testing.T) string {
	t.Helper()
	address := os.Getenv(addressVar)
	if address == "" {
		t.Skipf("needs %s; go test -run TestClientInChromium sets it", addressVar)
	}
	return address
}

func TestClientAgainstNPMServer(t *testing.T) {
	before := jsbridge.LiveFuncs()
	againstNPM(t, npmAddress(t))
	if after := jsbridge.LiveFuncs(); after != before {
		t.Errorf("%d callbacks are left", after-before)
	}
}

// socketAddress returns the address of the official server's WebSockets for a path.
func socketAddress(t *testing.T, path string) string {
	return strings.Replace(npmAddress(t), "http", "ws", 1) + path + "/?EIO=4&transport=websocket"
}

// dialPage opens a socket of the page's own.
func dialPage(t *testing.T, path string, limit int64) *webSocket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := must.Get(dialWebSocket(ctx, socketAddress(t, path), &ClientOptions{MaxMessage: limit}))(t)
	return s.(*webSocket)
}

func writeText(t *testing.T, s *webSocket, texts ...string) {
	t.Helper()
	for _, text := range texts {
		must.Do(t, s.Write(message{data: []byte(text)}))
	}
}

// readUntil reads messages until one begins like this.
func readUntil(t *testing.T, s *webSocket, prefix string) {
	t.Helper()
	for {
		f := must.Get(s.Read())(t)
		if strings.HasPrefix(string(f.data), prefix) {
			return
		}
	}
}

// joinPage opens a socket and completes the handshake on it.
func joinPage(t *testing.T, limit int64) *webSocket {
	t.Helper()
	s := dialPage(t, "/plain", limit)
	writeText(t, s, "40")
	readUntil(t, s, "42") // the greeting
	return s
}

// stopReading makes the server read nothing more from the socket.
func stopReading(t *testing.T, s *webSocket) {
	t.Helper()
	writeText(t, s, `420["stop reading"]`)
	readUntil(t, s, "430")
}

// readEnd reads until nothing more comes.
func readEnd(s *webSocket) (messages int, err error) {
	for ; ; messages++ {
		if _, err := s.Read(); err != nil {
			return messages, err
		}
	}
}

// TestPageSocketLetsGo ends a socket in every state: no call stays blocked, no callback
// is left, and the server's side is closed.
func TestPageSocketLetsGo(t *testing.T) {
	const limit = 1 << 20
	for _, tc := range []struct {
		name string
		life func(t *testing.T)
	}{
		{"dial with an ended context", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := dialWebSocket(ctx, socketAddress(t, "/slow"), &ClientOptions{MaxMessage: limit}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}},
		{"address that is none", func(t *testing.T) {
			if _, err := dialWebSocket(t.Context(), "ws://[secret", &ClientOptions{MaxMessage: limit}); !errors.Is(err, errHandshake) {
				t.Errorf("got %v", err)
			}
		}},
		{"abort at once, twice", func(t *testing.T) {
			s := dialPage(t, "/plain", limit)
			s.Abort()
			s.Abort()
			expect.Error(t, s.Write(message{data: []byte("40")}), errAborted, "Write")
		}},
		{"abort while reading", func(t *testing.T) {
			s := dialPage(t, "/plain", limit)
			readUntil(t, s, "0")
			time.AfterFunc(10*time.Millisecond, s.Abort)
			expect.Fail(s.Read())(t, errAborted, "Read")
		}},
		{"close", func(t *testing.T) {
			s := dialPage(t, "/plain", limit)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			expect.Fail(readEnd(s))(t, io.EOF, "Read")
		}},
		{"closed by the server", func(t *testing.T) {
			s := joinPage(t, limit)
			writeText(t, s, `42["kill me"]`)
			_, _ = readEnd(s)
			if err := s.Write(message{data: []byte("2")}); err == nil {
				t.Error("Write after the end")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}},
		{"write before the close event", func(t *testing.T) {
			s := joinPage(t, limit)
			must.Get(jsbridge.Call(s.ws, "close", normalClosure))(t)
			expect.Error(t, s.Write(message{data: []byte("2")}), io.EOF, "Write")
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}},
		{"abort while closing", func(t *testing.T) {
			s := joinPage(t, limit)
			stopReading(t, s)
			defer readAgain(t, npmAddress(t))
			time.AfterFunc(50*time.Millisecond, s.Abort)
			start := time.Now()
			_ = s.Close()
			if took := time.Since(start); took > patience { // the page's own limit is 60 s
				t.Errorf("Close went on for %v", took)
			}
		}},
		{"abort while writing", func(t *testing.T) {
			s := joinPage(t, limit)
			defer s.Abort()
			stopReading(t, s)
			defer readAgain(t, npmAddress(t))
			time.AfterFunc(500*time.Millisecond, s.Abort)
			data := message{binary: true, data: make([]byte, 900_000)}
			var err error
			for range 200 {
				if err = s.Write(data); err != nil {
					break
				}
			}
			expect.Error(t, err, errAborted, "Write")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address, before := npmAddress(t), jsbridge.LiveFuncs()
			tc.life(t)
			if after := jsbridge.LiveFuncs(); after != before {
				// A socket without an owner; after Abort there must be none.
				t.Errorf("%d callbacks are left", after-before)
			}
			awaitOpenSockets(t, address, 0)
		})
	}
}

// TestPageSocketBoundsWhatIsNotRead floods a socket that is not read.
func TestPageSocketBoundsWhatIsNotRead(t *testing.T) {
	const limit = 1000
	s := joinPage(t, limit)
	defer s.Abort()
	writeText(t, s, `42["flood",5000]`)
	select {
	case <-s.ended:
	case <-time.After(patience):
		t.Fatal("everything was kept")
	}
	const most = unreadFactor * limit / messageCost
	n, err := readEnd(s)
	if n == 0 || n > most {
		t.Errorf("%d messages were kept, allowed are %d", n, most)
	}
	if reason, _ := disconnectReason(err); reason != TransportError || !errors.Is(err, ErrSlowConsumer) {
		t.Errorf("ended by %v, %q; a flood is nothing to give up for", err, reason)
	}
}

func TestPageSocketRefusesALongMessage(t *testing.T) {
	const limit = 1000
	for name, asks := range map[string][]message{
		"text": {{data: []byte(`42["large",2000]`)}},
		"binary": {
			{data: []byte(`451-["echo",{"_placeholder":true,"num":0}]`)},
			{binary: true, data: make([]byte, limit+1)},
		},
	} {
		s := joinPage(t, limit)
		defer s.Abort()
		for _, f := range asks {
			must.Do(t, s.Write(f))
		}
		expect.Fail(readEnd(s))(t, errTooBig, "%s", name)
	}
}
