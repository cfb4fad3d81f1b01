package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// fakeLive is the live sessions of one thread.
type fakeLive struct {
	thread string
	said   []string
}

func (l *fakeLive) Push(_ context.Context, threadID, _, text string) bool {
	if threadID == l.thread {
		l.said = append(l.said, text)
	}
	return threadID == l.thread
}

func (l *fakeLive) Attached(_ context.Context, threadID string) bool { return threadID == l.thread }

// TestThreadPush: the message is saved and listed whether or not a socket is attached
// (service.md, Threads).
func TestThreadPush(t *testing.T) {
	live := &fakeLive{}
	var history []brain.Line
	v := serve(t, brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		history = q.History
		return out.Say("Fine.")
	}), func(c *Config) { c.Live = live })
	ks, admin := v.conversation(store.Receptionist, "ann"), v.admin()
	talk := v.ask(ks, "", "Hello")
	push := func(more string) pushReply {
		t.Helper()
		var got pushReply
		v.decode(v.post("/thread/push", admin, fmt.Sprintf(`{"id":%q,%s}`, talk.threadID, more)), &got)
		return got
	}
	first := push(`"content":"Your order {{ order }} for {{ sys__user_id }} is ready.","request_vars":{"order":"A7"}`)
	if first.Delivered {
		t.Error("delivered without a live socket")
	}
	live.thread = talk.threadID
	if got := push(`"content":"Still {{ order }}."`); !got.Delivered || fmt.Sprint(live.said) != "[Still A7.]" {
		t.Errorf("delivered %t, said %q", got.Delivered, live.said)
	}
	if got := push(`"content":"Be brief.","system_message":true`); !got.Delivered || len(live.said) != 1 {
		t.Errorf("a system message: delivered %t, said %q", got.Delivered, live.said)
	}
	var message messageView
	v.decode(v.post("/message/get", ks, fmt.Sprintf(`{"id":%q}`, first.MessageID)), &message)
	if message.Type != store.AI || string(message.Content[0].Content) != `"Your order A7 for ann is ready."` || message.ThreadID != talk.threadID {
		t.Errorf("saved as %+v", message)
	}
	want := `human: Hello\nai: Fine.\nai: Your order A7 for ann is ready.\nai: Still A7.\nsystem: Be brief.`
	wantStatus(t, "transcript", v.post("/v1/thread/get_transcripts", ks, fmt.Sprintf(`{"id":%q}`, talk.threadID)), 200,
		`{"data":"`+want+`","status":"success"}`)
	v.ask(ks, talk.threadID, "And now?")
	if got := fmt.Sprint(history[2:]); got != "[{true false Your order A7 for ann is ready.} {true false Still A7.} {false true Be brief.}]" {
		t.Errorf("the brain was shown %s", got)
	}
}

// TestThreadPushOfTheThreadsAgent: of the agents with the intellect of a thread, a push has the
// name of the one that the thread is with.
func TestThreadPushOfTheThreadsAgent(t *testing.T) {
	v := serve(t, twoThings, nil)
	m := v.manager()
	config := v.agents[store.Receptionist].ConfigID
	made := m.call("/v1/agent/create", fmt.Sprintf(`{"displayName":"Kim","intellect":{"id":%d},"avatarIds":[]}`, config), 200)["agentId"]
	talk := v.ask(v.mint(token.TypeUser, "ann", fmt.Sprintf("agentid:%v,geniegpcid:%d,setrole:PLAYBACK_BASE_ROLE", made, config)), "", "Hello")
	says := func(want string) {
		t.Helper()
		id := m.call("/thread/push", fmt.Sprintf(`{"id":%q,"content":"I am {{ agent_name }}."}`, talk.threadID), 200)["message_id"]
		var message messageView
		v.decode(v.post("/message/get", m.ks, fmt.Sprintf(`{"id":%q}`, id)), &message)
		expect.Equal(t, string(message.Content[0].Content), want, "pushed")
	}
	says(`"I am Kim."`)
	m.call("/v1/agent/delete", fmt.Sprintf(`{"agentId":%q}`, made), 200)
	says(`"I am Robin."`)
}

func TestThreadPushIsRefused(t *testing.T) {
	v := serve(t, twoThings, nil)
	ks, admin := v.conversation(store.Receptionist, "ann"), v.admin()
	talk := v.ask(ks, "", "Hello")
	closed := v.ask(v.conversation(store.NoVars, "ann"), "", "Hello")
	for _, tt := range []struct {
		name, ks, body string
		status         int
		text           string
	}{
		{"a user's token", ks, fmt.Sprintf(`{"id":%q,"content":"x"}`, talk.threadID), 403, "a token of this kind"},
		{"a widget's token", v.widget(store.Receptionist), fmt.Sprintf(`{"id":%q,"content":"x"}`, talk.threadID), 403, "a token of this kind"},
		{"no such thread", admin, `{"id":"x","content":"x"}`, 404, "not found"},
		{"no id", admin, `{"content":"x"}`, 422, `"missing"`},
		{"no content", admin, fmt.Sprintf(`{"id":%q}`, talk.threadID), 422, `"missing"`},
		{"empty content", admin, fmt.Sprintf(`{"id":%q,"content":" "}`, talk.threadID), 422, "string_too_short"},
		{"too long", admin, fmt.Sprintf(`{"id":%q,"content":%q}`, talk.threadID, strings.Repeat("x", 32_001)), 422, "string_too_long"},
		{"too long with its variable", admin, fmt.Sprintf(`{"id":%q,"content":"{{ big }}{{ big }}","request_vars":{"big":%q}}`, talk.threadID, strings.Repeat("x", 20_000)), 422, "string_too_long"},
		{"a reserved name", admin, fmt.Sprintf(`{"id":%q,"content":"x","request_vars":{"sys__user_id":"eve"}}`, talk.threadID), 422, `reserved`},
		{"a list as a value", admin, fmt.Sprintf(`{"id":%q,"content":"x","request_vars":{"a":[]}}`, talk.threadID), 422, "must be a string"},
		{"no client variables", admin, fmt.Sprintf(`{"id":%q,"content":"x","request_vars":{"a":1}}`, closed.threadID), 403, "client variables are disabled"},
	} {
		if got := v.post("/thread/push", tt.ks, tt.body); got.status != tt.status || !strings.Contains(got.body, tt.text) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, got.status, got.body, tt.status, tt.text)
		}
	}
	var all listReply[messageView]
	v.decode(v.post("/message/list", admin, "{}"), &all)
	expect.Equal(t, all.TotalCount, 4, "messages")
	thread, err := v.store.Thread(t.Context(), store.Scope{PartnerID: v.partner.ID, Admin: true}, talk.threadID)
	if err != nil || len(thread.Vars) > 0 {
		t.Errorf("pushes that were refused left %d variables, %v", len(thread.Vars), err)
	}
}
