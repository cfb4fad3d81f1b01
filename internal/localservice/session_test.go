package localservice_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
)

// The tests in this file drive the service with the official Socket.IO client.

// TestTypedTurn: a turn of the script arrives, with captions and a widget; their order is that
// of live.TestTypedTurn.
func TestTypedTurn(t *testing.T) {
	t.Parallel()
	c := converse(t, localservice.Options{Script: script(
		`  - when: {exact: "What is new today?"}`,
		`    steps: [{say: "Two things changed. Both are good."}, {widget: {runtime: followups-tool, body: 'questions: ["More?"]'}}]`,
	)}, "silent")
	c.say("What is new today?")
	got := c.until("stvFinishedTalking")
	c.quiet(100 * time.Millisecond)
	if turn := got[index(t, got, "agentTurnToTalk")]; turn.text("userTranscription") != "What is new today?" {
		t.Errorf("turn %s", turn.Args)
	}
	at := []int{segment(t, got, "think"), segment(t, got, "avatar"), index(t, got, "stvStartedTalking"), segment(t, got, "unisphere-tool"), segment(t, got, "share")}
	if !slices.IsSorted(at) {
		t.Errorf("events at %v in %q", at, names(got))
	}
	var captions []string
	for _, h := range got {
		if h.Event == "stvSpeechChunk" {
			captions = append(captions, h.text("text"))
		}
	}
	spoken := got[len(got)-1].text("agentContent")
	if spoken != "Two things changed. Both are good." || strings.Join(captions, " ") != spoken {
		t.Errorf("spoken %q, captions %q", spoken, captions)
	}
}

// segment returns the place of the first brain segment of a type.
func segment(t *testing.T, all []happening, kind string) int {
	t.Helper()
	for i, h := range all {
		var delta struct{ Type string }
		if h.Event == "agent_raw_text" && json.Unmarshal([]byte(h.text("delta")), &delta) == nil && delta.Type == kind {
			return i
		}
	}
	t.Fatalf("no %s in %q", kind, names(all))
	return 0
}

const longAnswer = `  - when: {contains: long}
    steps: [{say: "One two three four five six seven eight nine ten. And on we go, for quite a while, until somebody stops us."}]`

func TestRefusals(t *testing.T) {
	t.Parallel()
	service := servicetest.Start(t, localservice.Options{})
	info := service.Info()
	sockets := startNode(t, "widget token", "full")
	init := initialise(t, info, "receptionist")

	raw := sockets["widget token"]
	raw.open(appInit{ConversationManagerURL: init.ConversationManagerURL, KS: widgetToken(t, info, "receptionist")}, nil)
	raw.expect("connect_error unauthorized")

	control(t, info, "/capacity", map[string]any{"exhausted": true})
	full := sockets["full"]
	full.open(init, nil)
	full.expect("connect", "onServerConnected")
	full.join(init, nil)
	full.emit("checkAvailability", map[string]any{})
	if got := full.expect("availabilityResult"); got[0].field("available") != false {
		t.Errorf("got %s", got[0].Args)
	}
	full.emit("stvNewSession", map[string]any{"room_id": "a1b2c3d4e5f6"})
	full.expect("throwToNoAgent", "disconnect io server disconnect")
}

func jsonNumber(n int64) string {
	text, _ := json.Marshal(n) // a number always marshals
	return string(text)
}

func TestRecovery(t *testing.T) {
	t.Parallel()
	c := converse(t, localservice.Options{}, "silent")
	c.control("drop", nil)
	c.expect("disconnect transport close")
	if h := c.next(); h.What != "connect" || !h.Recovered {
		t.Fatalf("got %+v", h)
	}
	c.say("Hello")
	c.until("stvFinishedTalking") // the same session, without a join

	control(t, c.info, "/recovery", map[string]any{"refuseNext": true})
	c.control("drop", nil)
	c.expect("disconnect transport close")
	if h := c.next(); h.What != "connect" || h.Recovered {
		t.Fatalf("got %+v", h)
	}
	c.expect("onServerConnected") // choice A3
	if thread := c.join(c.init, map[string]any{"threadId": c.thread}); thread != c.thread {
		t.Errorf("joined thread %s, want %s", thread, c.thread)
	}
}

func TestEndOfAConversation(t *testing.T) {
	t.Parallel()
	c := converse(t, localservice.Options{}, "silent")
	c.control("send", map[string]any{"event": "conversationTimeWarning", "payload": map[string]any{"remainingTime": 30}})
	if got := c.expect("conversationTimeWarning"); got[0].field("remainingTime") != 30.0 {
		t.Errorf("got %s", got[0].Args)
	}
	c.control("end", nil)
	c.expect("conversationEnded", "disconnect io server disconnect")
	expect.Equal(t, post(t, c.url, "v=0"), 404, "the address of a session that is over answers")
}
