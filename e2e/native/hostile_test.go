package native

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const (
	// hostileClients attack at once, each with a token and an address of its own.
	hostileClients = 20
	// newcomerLimit is how soon a newcomer among them must have a picture, on a machine that
	// has nothing else to do.
	newcomerLimit = 2 * time.Second
	// maxOthers is which part of the processors other processes may have.
	maxOthers = 0.3
	// again is how long a client that was refused waits until it tries again: they run in the
	// process of the service, whose processor they would take with their own work otherwise.
	again = 200 * time.Millisecond
)

var alone = flag.Bool("alone", false, "run TestANewcomerAmongHostileClients; nothing else may run, and no race detector")

// TestANewcomerAmongHostileClients gets a picture in 2 s, while 20 clients take as much as they
// can get. They use the processor of the service too, so the test is skipped where
// other work leaves little of that.
func TestANewcomerAmongHostileClients(t *testing.T) {
	if !*alone {
		t.Skip("measures time for half a minute; make newcomer runs it with -alone")
	}
	service := start(t, localservice.Options{})
	load := watchLoad(t)
	busy := func() {
		t.Helper()
		if others := load.others(); others > maxOthers {
			t.Skipf("other processes have %.0f %% of the processors", 100*others)
		}
	}
	alone := newcomers(t, service, busy)

	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var clients []*hostile
	defer func() { // before the service closes
		end()
		running.Wait()
		for _, h := range clients {
			h.http.CloseIdleConnections()
		}
	}()
	for i := range hostileClients {
		init := arrive(t, service, "receptionist")
		h := &hostile{ctx: ctx, info: service.Info(), init: init, offer: viewerOffer(t), http: clientAt(fmt.Sprintf("127.0.0.%d", 10+i))}
		clients = append(clients, h)
	}
	busy()
	await := func(what string, count func(*hostile) *atomic.Int64) {
		t.Helper()
		for _, h := range clients {
			for began := time.Now(); count(h).Load() == 0; time.Sleep(10 * time.Millisecond) {
				if time.Since(began) > patience {
					busy()
					t.Fatalf("it did not come to that: %s", what)
				}
			}
		}
	}
	for _, h := range clients {
		h.attack(&running, h.callAndOffer, 8) // more calls than one token gets
	}
	await("a call was refused", func(h *hostile) *atomic.Int64 { return &h.noCall })
	await("an offer was answered", func(h *hostile) *atomic.Int64 { return &h.answered })
	for _, h := range clients {
		h.attack(&running, h.fillSockets, 30)
		h.attack(&running, h.ask, 4)
		h.attack(&running, h.sendSlowly, 20)
	}
	await("a socket was refused", func(h *hostile) *atomic.Int64 { return &h.noSocket })
	await("a question was answered", func(h *hostile) *atomic.Int64 { return &h.asked })
	await("a request is slow", func(h *hostile) *atomic.Int64 { return &h.slow })
	among := newcomers(t, service, busy)
	t.Logf("measured: a newcomer has a picture after %v alone, and after %v to %v among %d hostile clients; other processes had %.0f %% of the processors",
		slices.Max(alone).Round(time.Millisecond), slices.Min(among).Round(time.Millisecond), slices.Max(among).Round(time.Millisecond),
		hostileClients, 100*load.others())
	if slices.Max(among) > newcomerLimit {
		busy()
		t.Errorf("a newcomer has a picture after %v, want %v at most", slices.Max(among), newcomerLimit)
	}
}

// newcomers returns how long each of some new visitors waits for a picture. busy skips the
// test if the machine is too busy.
func newcomers(t *testing.T, service *localservice.Service, busy func()) (waits []time.Duration) {
	t.Helper()
	for range 4 {
		began := time.Now()
		init, err := tryArrive(t, service, "receptionist")
		if err != nil {
			busy()
			t.Fatalf("a newcomer gets no token: %v", err)
		}
		b := botOf(t, init)
		defer b.Close()
		if err := b.Connect(t.Context()); err != nil {
			busy()
			t.Fatalf("a newcomer can't connect: %v", err)
		}
		ready, _ := await(b.recorder, 0, anyOf[event.MediaReady])
		waits = append(waits, time.Since(began))
		if ready.Mode != event.Video || ready.Degraded {
			busy()
			t.Errorf("a newcomer has no picture: %+v", ready)
		}
		b.Disconnect(session.DisconnectOptions{})
		await(b.recorder, 0, anyOf[event.Ended])
	}
	return waits
}

// viewerOffer is the offer of a viewer that never connects.
func viewerOffer(t *testing.T) string {
	t.Helper()
	pc := must.Get(webrtc.NewPeerConnection(webrtc.Configuration{}))(t)
	defer pc.Close()
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeVideo, webrtc.RTPCodecTypeAudio} {
		must.Get(pc.AddTransceiverFromKind(kind, webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}))(t)
	}
	offer := must.Get(pc.CreateOffer(nil))(t)
	return offer.SDP
}

// clientAt sends from one of the addresses of loopback.
func clientAt(address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 8}}
}

// hostile is a client that takes all that it can get, until its context ends.
type hostile struct {
	ctx   context.Context
	info  localservice.Info
	init  *appinit.Result
	http  *http.Client
	offer string

	noCall, answered, noSocket, asked, slow atomic.Int64
}

// attack does something on so many goroutines, again and again.
func (h *hostile) attack(running *sync.WaitGroup, do func(), count int) {
	for range count {
		running.Go(func() {
			for h.ctx.Err() == nil {
				do()
			}
		})
	}
}

// dial opens a control socket, up to the service's first packet.
func (h *hostile) dial() *websocket.Conn {
	address := "ws" + strings.TrimPrefix(h.info.ConversationManagerURL, "http") + "/socket.io/?EIO=4&transport=websocket"
	ws, _, err := websocket.Dial(h.ctx, address, &websocket.DialOptions{HTTPClient: h.http})
	if err != nil {
		return nil
	}
	ws.SetReadLimit(-1)
	h.write(ws, `40{"token":"`+h.init.KS+`"}`)
	return ws
}

func (h *hostile) write(ws *websocket.Conn, frame string) bool {
	return ws.Write(h.ctx, websocket.MessageText, []byte(frame)) == nil
}

// callAndOffer takes a call, and offers viewers and microphones that never connect.
func (h *hostile) callAndOffer() {
	ws := h.dial()
	if ws == nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	offer, err := json.Marshal(map[string]any{"offer": map[string]string{"type": "offer", "sdp": h.offer}, "is_reconnect": true})
	if err != nil {
		return
	}
	joined := false
	for {
		_, frame, err := ws.Read(h.ctx)
		if err != nil {
			return
		}
		switch text := string(frame); {
		case text == "2":
			h.write(ws, "3")
		case strings.HasPrefix(text, `42["onServerConnected"`):
			h.write(ws, `42["join",{"channel":"room","kaltura":{"ks":"`+h.init.KS+`"}}]`)
		case strings.HasPrefix(text, `42["joinComplete"`):
			joined = true
			h.write(ws, `42["stvNewSession",{"room_id":"room"}]`)
			h.write(ws, `42["asr-webrtc-init",{}]`)
		case strings.HasPrefix(text, `42["throwToNoAgent"`):
			if joined {
				h.noCall.Add(1)
			}
			time.Sleep(again)
			return
		case strings.HasPrefix(text, `42["stvNewSession"`):
			var event []json.RawMessage
			var video struct {
				URL string `json:"webrtc_url"`
			}
			if json.Unmarshal(frame[2:], &event) != nil || json.Unmarshal(event[1], &video) != nil {
				return
			}
			for n := 0; n < 20 && h.ctx.Err() == nil; n++ {
				reply, err := h.http.Post(video.URL, "application/sdp", strings.NewReader(h.offer))
				if err != nil {
					return
				}
				_ = reply.Body.Close()
				if reply.StatusCode == http.StatusCreated {
					h.answered.Add(1)
				}
				h.write(ws, `42["asr-webrtc-offer",`+string(offer)+`]`)
				time.Sleep(100 * time.Millisecond) // more than the limit of offers
			}
		}
	}
}

// fillSockets holds a socket with half a packet.
func (h *hostile) fillSockets() {
	ws := h.dial()
	if ws == nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	for {
		_, frame, err := ws.Read(h.ctx)
		if err != nil {
			time.Sleep(again)
			return
		}
		switch text := string(frame); {
		case text == "2":
			h.write(ws, "3")
		case strings.HasPrefix(text, `42["throwToNoAgent"`):
			h.noSocket.Add(1)
			time.Sleep(again)
			return
		case strings.HasPrefix(text, `42["onServerConnected"`):
			h.write(ws, `452-["userScreenShareShot",{"data":{"_placeholder":true,"num":0}},{"_placeholder":true,"num":1}]`)
			_ = ws.Write(h.ctx, websocket.MessageBinary, make([]byte, 400_000)) // the read says whether it was accepted
		}
	}
}

// ask begins a thread with one question after the other.
func (h *hostile) ask() {
	body := `{"userMessage":"What is a thread? ` + strings.Repeat("x", 500) + `","request_vars":{"a":"` + strings.Repeat("x", 10_000) + `"}}`
	request, err := http.NewRequestWithContext(h.ctx, http.MethodPost, h.info.GenieURL+"/assistant/converse", strings.NewReader(body))
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "KS "+h.init.KS)
	request.Header.Set("Content-Type", "application/json")
	reply, err := h.http.Do(request)
	if err != nil {
		return
	}
	defer reply.Body.Close()
	_, _ = io.Copy(io.Discard, reply.Body)
	if reply.StatusCode == http.StatusOK {
		h.asked.Add(1)
	} else {
		time.Sleep(again)
	}
}

// sendSlowly sends a large body that does not end.
func (h *hostile) sendSlowly() {
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(h.ctx, http.MethodPost, h.info.GenieURL+"/assistant/converse", reader)
	if err != nil {
		return
	}
	request.ContentLength = 1 << 20
	request.Header.Set("Authorization", "KS "+h.init.KS)
	go func() {
		defer writer.Close()
		_, _ = writer.Write(bytes.Repeat([]byte(" "), 900_000))
		h.slow.Add(1)
		for h.ctx.Err() == nil {
			select {
			case <-h.ctx.Done():
			case <-time.After(time.Second):
				if _, err := writer.Write([]byte(" ")); err != nil {
					return
				}
			}
		}
	}()
	reply, err := h.http.Do(request)
	if err != nil {
		return
	}
	_ = reply.Body.Close()
	time.Sleep(again)
}
