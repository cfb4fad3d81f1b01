package localservice_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/must"
)

// intruder is a client that keeps to no rule, on a bare WebSocket.
type intruder struct {
	t  *testing.T
	ws *websocket.Conn
}

// intrude takes a bare socket through the handshake.
func intrude(t *testing.T, info localservice.Info, ks string) *intruder {
	t.Helper()
	i := dialSocket(t, info)
	i.send(`40{"token":"` + ks + `"}`)
	if !i.until(`42["onServerConnected"`) {
		t.Fatal("the intruder was not let in")
	}
	return i
}

// dialSocket opens a bare socket, up to the service's first packet.
func dialSocket(t *testing.T, info localservice.Info) *intruder {
	t.Helper()
	return dialSocketWith(t, info, http.DefaultClient)
}

func dialSocketWith(t *testing.T, info localservice.Info, client *http.Client) *intruder {
	t.Helper()
	address := "ws" + strings.TrimPrefix(info.ConversationManagerURL, "http") + "/socket.io/?EIO=4&transport=websocket&debugMode=true"
	ws, reply, err := websocket.Dial(t.Context(), address, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if reply.Body != nil {
		_ = reply.Body.Close()
	}
	ws.SetReadLimit(-1)
	i := &intruder{t, ws}
	i.until("0")
	return i
}

// send writes a frame, and reports whether the service still takes any.
func (i *intruder) send(frame string) bool {
	ctx, cancel := context.WithTimeout(i.t.Context(), patience)
	defer cancel()
	return i.ws.Write(ctx, websocket.MessageText, []byte(frame)) == nil
}

func (i *intruder) event(name, payload string) bool {
	return i.send(`42["` + name + `",` + payload + `]`)
}

// until reads up to a frame that begins like that, and reports whether it came.
func (i *intruder) until(prefix string) bool {
	_, ok := i.read(prefix)
	return ok
}

// read is like until, and returns the frame.
func (i *intruder) read(prefix string) (frame string, ok bool) {
	ctx, cancel := context.WithTimeout(i.t.Context(), patience)
	defer cancel()
	for {
		_, data, err := i.ws.Read(ctx)
		if err != nil {
			return "", false
		}
		if string(data) == "2" {
			i.send("3")
		}
		if strings.HasPrefix(string(data), prefix) {
			return string(data), true
		}
	}
}

// join joins a thread, or a new one if that is "", and reports whether the service lets it in.
func (i *intruder) join(ks, threadID string) bool {
	i.event("join", `{"channel":"room","kaltura":{"ks":"`+ks+`","threadId":"`+threadID+`"}}`)
	return i.until(`42["joinComplete"`)
}

// enter brings an intruder to a session that listens to the user.
func (i *intruder) enter(ks string) bool {
	if !i.join(ks, "") {
		return false
	}
	i.event("stvNewSession", `{}`)
	i.event("asr-webrtc-init", `{}`)
	i.event("approvedPermissions", `{}`)
	return i.until(`42["stvFinishedTalking"`)
}

// TestHostileSockets: whatever intruders send, the service still responds to others,
// and keeps no session or memory of the intruders.
func TestHostileSockets(t *testing.T) {
	// A session without a socket would still be kept when memory is measured, and the
	// picture is looked at after the attacks.
	c := converse(t, localservice.Options{
		Recovery: -1, Timing: live.Timing{Unwatched: time.Hour}, Quotas: localservice.Quotas{Calls: quotaOff, Work: quotaOff},
	}, "silent")
	ks := initialise(t, c.info, "silent").KS
	deep := strings.Repeat("[", 400_000) + strings.Repeat("]", 400_000)
	long := strings.Repeat("x", 900_000)
	join := `{"channel":"room","kaltura":{"ks":"` + ks + `"}}`
	pc := newPeer(t, c.init)
	must.Get(pc.AddTransceiverFromKind(webrtc.RTPCodecTypeAudio))(t)
	genuine := must.Get(json.Marshal(map[string]any{"offer": map[string]string{"type": "offer", "sdp": offer(t, pc)}}))(t)

	// Each attack reports whether it could begin; the service may disconnect it
	// later.
	flood := func(n int, events ...string) func(*intruder) bool { // names and payloads in turn
		return func(i *intruder) bool {
			entered := i.enter(ks)
			for range n {
				for e := 0; e < len(events); e += 2 {
					if !i.event(events[e], events[e+1]) {
						return entered
					}
				}
			}
			return entered
		}
	}
	attacks := map[string]func(*intruder) bool{
		"a frame beyond every bound": func(i *intruder) bool { i.send("42" + strings.Repeat("[", 4_000_000)); return true },
		"deep nesting":               func(i *intruder) bool { return i.event("join", deep) },
		"deep variables": func(i *intruder) bool {
			return i.event("join", `{"channel":"r","kaltura":{"ks":"`+ks+`","request_vars":{"a":`+deep+`}}}`)
		},
		"attachments that never come": func(i *intruder) bool {
			return i.send(`45999999999-["userScreenShareShot",{"data":{"_placeholder":true,"num":0}}]`)
		},
		"a long room":               func(i *intruder) bool { return i.event("join", `{"channel":"`+long+`","kaltura":{"ks":"`+ks+`"}}`) },
		"a flood of joins":          flood(200, "join", join),
		"a flood of video sessions": flood(200, "stvNewSession", `{}`),
		"a flood of microphones":    flood(60, "asr-webrtc-init", `{}`, "asr-webrtc-offer", string(genuine)),
		"a flood of text":           flood(100, "onTextEntered", `{"text":"`+long[:20_000]+`","isFinal":true}`),
		"a flood of contexts":       flood(100, "updateGenieContext", `{"request_vars":{"a":"`+long[:100_000]+`"}}`),
		"a flood of pauses":         flood(200, "pauseConversation", `{}`, "resumeConversation", `{}`),
		"a flood of forms":          flood(100, "setFormLeadInfo", `{"a":"`+long[:10_000]+`"}`),
		"a flood of clicks":         flood(100, "onHtmlElementClick", `{"htmlText":"`+long[:10_000]+`"}`),
		"replies that are not read": flood(5000, "checkAvailability", `{}`),
		"a flood of namespaces": func(i *intruder) bool {
			entered := i.enter(ks)
			for n := range 500 {
				if !i.send(fmt.Sprintf(`40/room%d,{"token":"%s"}`, n, ks)) || !i.send(fmt.Sprintf(`42/room%d,["join",%s]`, n, join)) {
					return entered
				}
			}
			return entered
		},
		"a flood of acknowledgements": func(i *intruder) bool {
			entered := i.enter(ks)
			for n := range 1000 {
				if !i.send(fmt.Sprintf(`43%d[]`, n)) || !i.send(fmt.Sprintf(`42%d["checkAvailability",{}]`, n)) {
					return entered
				}
			}
			return entered
		},
		"offers of garbage": flood(60, "asr-webrtc-offer", `{"offer":{"type":"offer","sdp":"v=0\r\nm=audio 9"},"is_reconnect":true}`,
			"asr-webrtc-ice-candidate", `{"candidate":{"candidate":"candidate:1 1 udp 1 256.1.1.1 x typ"}}`),
	}
	before := leaktest.Heap()
	var running sync.WaitGroup
	for name, attack := range attacks {
		i := intrude(t, c.info, ks)
		running.Go(func() {
			defer func() { _ = i.ws.CloseNow() }()
			if !attack(i) {
				t.Errorf("%s: it did not come to that", name)
			}
		})
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		running.Wait()
	}()
	for attacked := true; attacked; {
		select {
		case <-over:
			attacked = false
		default:
		}
		asked := time.Now()
		c.say("still there?")
		c.until("agent_end_turn")
		if took := time.Since(asked); took > answerTime {
			t.Errorf("another session waited %v for its turn", took)
		}
		c.until("stvFinishedTalking")
	}
	got := watch(t, c.init, c.url)
	got.wait(t, "picture after the attacks", func() bool { return got.frames > 0 })

	must.Wait(t, "the end of the intruders' sessions", func() bool { return len(c.service.Sessions(t.Context())) == 1 })
	if grown := leaktest.Heap() - before; grown > 32<<20 {
		t.Errorf("%d MB stay in use", grown>>20)
	}
}
