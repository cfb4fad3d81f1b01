//go:build !js

package socketio

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// announced is a packet that waits for two attachments.
const announced = `452-["x",{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}]`

// TestAttachmentsCountWithTheirPacket: MaxPayload bounds all of it together.
func TestAttachmentsCountWithTheirPacket(t *testing.T) {
	hosted(t, ServerOptions{MaxPayload: 1000}, func(t *testing.T, h *host) {
		send := func(size int) (*Session, wire) {
			w := h.raw(8)
			w.enter("")
			w.send(announced)
			for range 2 {
				_ = w.Write(message{binary: true, data: make([]byte, size)}) // fails when the server has disconnected
			}
			return <-h.sessions, w
		}
		fits, _ := send(400)
		expectKind(t, fits.Events(), Message)
		beyond, w := send(500)
		if ev := expectKind(t, beyond.Events(), Disconnected); ev.Reason != ParseError {
			t.Errorf("got %s, %v", describe(ev), ev.Err)
		}
		<-w.down
	})
}

// TestPacketsMustArriveInTime, whatever else arrives meanwhile.
func TestPacketsMustArriveInTime(t *testing.T) {
	hosted(t, ServerOptions{PacketTimeout: 30 * time.Second}, func(t *testing.T, h *host) {
		w := h.raw(8)
		w.enter("")
		w.send(announced)
		began := time.Now()
		go func(w wire) {
			for w.Write(message{data: []byte("3")}) == nil {
				time.Sleep(time.Second)
			}
		}(w)
		<-w.down
		expect.Equal(t, time.Since(began), 30*time.Second, "disconnected after")

		w = h.raw(8) // one whose packets are complete is not
		w.enter("")
		for range 100 {
			w.send(`42["x"]`)
			w.send("3")
			time.Sleep(time.Second)
		}
		select {
		case <-w.down:
			t.Error("disconnected")
		default:
		}
	})
}

// TestPacketRate: a client that sends too much waits, and loses nothing.
func TestPacketRate(t *testing.T) {
	hosted(t, ServerOptions{PacketRate: 10}, func(t *testing.T, h *host) {
		w := h.raw(0)
		w.enter("")
		s := <-h.sessions
		began := time.Now()
		go func() {
			for range 200 {
				_ = w.Write(message{data: []byte(`42["x"]`)}) // what does not arrive is missed below
			}
		}()
		for n := range 200 {
			expectKind(t, s.Events(), Message)
			if n == 99 && time.Since(began) > 0 {
				t.Errorf("the first hundred took %v", time.Since(began))
			}
		}
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("200 packets took %v, want 10 s", took)
		}
		began = time.Now()
		w.send(`42["x","` + strings.Repeat("x", 10*packetUnit) + `"]`)
		expectKind(t, s.Events(), Message)
		go func() { _ = w.Write(message{data: []byte(`42["x"]`)}) }()
		expectKind(t, s.Events(), Message)
		if took := time.Since(began); took < time.Second {
			t.Errorf("a large packet counts as one of %v", took)
		}
	})
}

// TestMemoryOfMessagesIsReserved before it is used, and given back.
func TestMemoryOfMessagesIsReserved(t *testing.T) {
	var reserved, most atomic.Int64
	received := make(chan int, 10)
	_, address := startServer(t, ServerOptions{
		Reserve: func(_ Handshake, n int) bool {
			now := reserved.Add(int64(n))
			most.Store(max(most.Load(), now))
			if now > 600_000 {
				reserved.Add(int64(-n))
				return false
			}
			return true
		},
		Serve: func(_ context.Context, c *Session) {
			for ev := range c.Events() {
				if ev.Kind == Message {
					received <- ev.Args.Size()
				}
			}
			received <- -1
		},
	})
	dial := func() *websocket.Conn {
		ws, _, err := websocket.Dial(t.Context(), strings.Replace(address, "http", "ws", 1)+"/socket.io/?EIO=4&transport=websocket", nil)
		must.Do(t, err)
		t.Cleanup(func() { _ = ws.CloseNow() })
		must.Do(t, ws.Write(t.Context(), websocket.MessageText, []byte("40")))
		for range 2 { // before the answer to its connect packet, a client may send nothing else
			if _, _, err := ws.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return ws
	}
	write := func(ws *websocket.Conn, text string) {
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Log(err)
		}
	}
	ws := dial()
	write(ws, `42["small","`+strings.Repeat("x", 1000)+`"]`)
	if n := <-received; n < 1000 || most.Load() != 0 {
		t.Errorf("a message of %d bytes: reserved were %d", n, most.Load())
	}
	write(ws, `42["large","`+strings.Repeat("x", 400_000)+`"]`)
	if n := <-received; n < 400_000 || most.Load() < 400_000 {
		t.Errorf("a message of %d bytes: reserved were %d", n, most.Load())
	}
	write(ws, `42["too large","`+strings.Repeat("x", 700_000)+`"]`)
	expect.Equal(t, <-received, -1, "a message of bytes was read")
	ws = dial()
	write(ws, announced)
	must.Do(t, ws.Write(t.Context(), websocket.MessageBinary, make([]byte, 100_000)))
	must.Wait(t, "a reservation for the attachment", func() bool { return reserved.Load() >= 100_000 })
	_ = ws.CloseNow()
	<-received
	must.Wait(t, "the return of all that was reserved", func() bool { return reserved.Load() == 0 })
}

// TestTextWithAttachmentsIsBounded: all of it is decoded to find the placeholders.
func TestTextWithAttachmentsIsBounded(t *testing.T) {
	if _, err := decodePacket([]byte(`51-["x",{"_placeholder":true,"num":0},"` + strings.Repeat("x", maxBinaryText) + `"]`)); err == nil {
		t.Error("no error")
	}
}
