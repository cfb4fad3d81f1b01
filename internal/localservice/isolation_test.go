package localservice_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/directory"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestEndedTokenClosesItsSockets (service.md, Authentication rule 7; choice A5):
// session/end closes the sockets of the token and of its group, also one that is
// away and could be recovered, and no others.
func TestEndedTokenClosesItsSockets(t *testing.T) {
	t.Parallel()
	service := servicetest.Start(t, localservice.Options{Script: script(fine)})
	info := service.Info()
	agent, _ := info.Agent("silent")
	configuration := "geniegpcid:" + jsonNumber(agent.ConfigID)
	tokens := map[string]string{
		"own":        mint(t, info, "sam", configuration+",sessionid:g1"),
		"same group": mint(t, info, "sam", configuration+",sessionid:g1"),
		"away":       mint(t, info, "sam", configuration+",sessionid:g1"),
		"in join":    mint(t, info, "sam", configuration+",sessionid:g2"),
		"other":      mint(t, info, "sam", configuration+",sessionid:g2"),
		"no group":   mint(t, info, "sam", configuration),
	}
	sockets := startNode(t, "own", "same group", "in join", "other", "no group")
	for name, s := range sockets {
		s.open(appInit{ConversationManagerURL: info.ConversationManagerURL, KS: tokens[name]}, nil)
		s.expect("connect", "onServerConnected")
		joined := tokens[name]
		if name == "in join" { // the token of the join counts as well as that of the handshake
			joined = tokens["own"]
		}
		s.join(appInit{KS: joined}, nil)
	}
	away := intrude(t, info, tokens["away"])
	must.Do(t, away.ws.CloseNow())
	sessions := func() int { return len(service.Sessions(t.Context())) }
	if n := sessions(); n != 6 {
		t.Fatalf("the service has %d sessions, want 6, one of which waits for its client", n)
	}

	ended := time.Now()
	call(t, "", info.OVPURL+"/service/session/action/end", url.Values{"ks": {tokens["own"]}}, nil)
	for _, name := range []string{"own", "same group", "in join"} {
		sockets[name].expect("disconnect io server disconnect")
		if took := time.Since(ended); took > answerTime {
			t.Errorf("the socket %q was closed after %v", name, took)
		}
	}
	for _, name := range []string{"other", "no group"} {
		sockets[name].emit("checkAvailability", map[string]any{})
		sockets[name].expect("availabilityResult")
	}
	expect.Equal(t, sessions(), 2, "the service has sessions")
}

// TestEndedTokenOfARecoveredSession: a session that was recovered with a new token
// ends with that one too, and another user's token does not recover it.
func TestEndedTokenOfARecoveredSession(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{}).Info()
	token := func(user string) string { return conversationToken(t, info, "silent", user) }
	recoverAs := func(ks string) *intruder {
		s := dialSocket(t, info)
		s.send(`40{"token":"` + token("sam") + `"}`)
		var opened struct{ PID string }
		frame, ok := s.read("40")
		if !ok || json.Unmarshal([]byte(frame[2:]), &opened) != nil || opened.PID == "" {
			t.Fatalf("connected with %q", frame)
		}
		must.Do(t, s.ws.CloseNow())
		s = dialSocket(t, info)
		s.send(`40{"token":"` + ks + `","pid":"` + opened.PID + `","offset":""}`)
		if !s.until(`42["onServerConnected"`) { // the event that was missed is sent again
			t.Fatal("not recovered")
		}
		return s
	}
	renewed := token("sam")
	s := recoverAs(renewed)
	call(t, "", info.OVPURL+"/service/session/action/end", url.Values{"ks": {renewed}}, nil)
	if !s.until("41") {
		t.Error("the session outlived the token that it was recovered with")
	}
	if s := recoverAs(token("eve")); !s.until(`42["throwToBadRequest"`) || !s.until("41") {
		t.Error("another user's token recovered the session")
	}
}

// TestThreadsOfVisitors: a thread that was begun with a widget token is joined with one that
// appInit makes of it, and with no other widget token; what HTTP allows is tested by
// api.TestIsolation. Its id, which is a key, is in no log.
func TestThreadsOfVisitors(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	info := servicetest.Start(t, localservice.Options{
		Script: script(fine), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}).Info()
	sam, eve := initialise(t, info, "silent"), initialise(t, info, "silent")
	threadID, _, _ := begin(t, info, sam.KS, `{"userMessage":"Hello"}`)
	var renewed appInit // what a page does after a reload
	call(t, "KS "+sam.KS, info.AgenticURL+"/application/appInit", nil, &renewed)
	for _, who := range []struct {
		ks   string
		want string
	}{{eve.KS, `42["throwToBadRequest"`}, {renewed.KS, `42["joinComplete"`}} {
		s := intrude(t, info, who.ks)
		s.event("join", `{"channel":"room","kaltura":{"ks":"`+who.ks+`","threadId":"`+threadID+`"}}`)
		if !s.until(who.want) {
			t.Errorf("a join did not end with %s", who.want)
		}
		_ = s.ws.CloseNow() // the rest of the session does not matter
	}
	text := log.String()
	if strings.Contains(text, threadID) {
		t.Error("the thread's id is in the log")
	}
	if label := "thread=" + store.ThreadLabel(threadID); !strings.Contains(text, label) {
		t.Errorf("the log has no %s", label)
	}
}

// TestSharedWidgetTokens: with the option, all visitors of a widget have the same token, also after a restart. A thread is
// continued with its id, over HTTP and on a socket, and the quotas of a token don't add up over the visitors.
func TestSharedWidgetTokens(t *testing.T) {
	t.Parallel()
	options := localservice.Options{
		Data: t.TempDir(), SharedWidgetTokens: true,
		Quotas: localservice.Quotas{Threads: quota.Limit{Token: 1}, Turns: quota.Limit{Token: 1}, Sockets: quota.Limit{Token: 1}, Calls: quota.Limit{Token: 1}},
	}
	service := servicetest.Start(t, options)
	info := service.Info()
	if one, other := widgetToken(t, info, "silent"), widgetToken(t, info, "silent"); one == "" || one != other {
		t.Error("two visitors have different tokens")
	}
	if widgetToken(t, info, "silent") == widgetToken(t, info, "tap") {
		t.Error("two widgets have the same token")
	}
	var threadID string
	say := func(info localservice.Info, ks, text, threadID string) (id, answer string) {
		t.Helper()
		body := fmt.Sprintf(`{"userMessage":%q}`, text)
		if threadID != "" {
			body = fmt.Sprintf(`{"userMessage":%q,"threadId":%q}`, text, threadID)
		}
		id, _, answer = begin(t, info, ks, body)
		return id, answer
	}
	for range 3 {
		threadID, _ = say(info, initialise(t, info, "silent").KS, "My name is Sam", "")
	}
	for range 2 { // at the same time
		ks := initialise(t, info, "silent").KS
		s := intrude(t, info, ks)
		if !s.join(ks, threadID) {
			t.Error("a thread was not continued on a socket")
		}
	}
	var failed struct{ Code, Message string }
	call(t, "", info.OVPURL+"/service/session/action/end", url.Values{"ks": {widgetToken(t, info, "silent")}}, &failed)
	if failed.Code == "" || !strings.Contains(failed.Message, "all visitors") {
		t.Errorf("one visitor ended the token of all: %+v", failed)
	}
	must.Do(t, service.Close())
	info = servicetest.Start(t, options).Info()
	if _, said := say(info, initialise(t, info, "silent").KS, "What is my name?", threadID); !strings.Contains(said, "Sam") {
		t.Errorf("after a restart: %s", said)
	}
}

// TestUsersOfADirectory: the attributes of users from the directory are in templates, and their names in reports.
func TestUsersOfADirectory(t *testing.T) {
	t.Parallel()
	users := must.Get(directory.Read("users.csv", []byte("user_id,first_name,last_name,company\nsam,Sam,Bell,ACME\n")))(t)
	info := servicetest.Start(t, localservice.Options{
		Users: users, Script: script(`  - {when: {any: true}, steps: [{say: "You are {{ sys__user_obj.first_name | default('nobody') }} of {{ sys__user_obj.company | default('nowhere') }}."}]}`, fine),
	}).Info()
	for user, want := range map[string]string{"sam": "You are Sam of ACME.", "eve": "You are nobody of nowhere."} {
		_, said := postJSON(t, info.GenieURL+"/assistant/converse", conversationToken(t, info, "silent", user), `{"userMessage":"Who am I?"}`)
		var text strings.Builder
		for line := range strings.Lines(said) {
			var segment struct{ Type, Content string }
			if json.Unmarshal([]byte(line), &segment) == nil && segment.Type == "text" {
				text.WriteString(segment.Content)
			}
		}
		expect.Equal(t, strings.TrimSpace(text.String()), want, "%s in %s", user, said)
	}
	if _, report := postJSON(t, info.GenieURL+"/message/report", adminToken(t, info), `{}`); !strings.Contains(report, ",sam,Sam Bell,") || !strings.Contains(report, ",eve,,") {
		t.Errorf("report %s", report)
	}
}

// TestAnAgentIsDeletedDuringATurn: the turn and the socket end or go on, the service goes on.
func TestAnAgentIsDeletedDuringATurn(t *testing.T) {
	t.Parallel()
	info := servicetest.Start(t, localservice.Options{Script: script(`  - {when: {any: true}, steps: [{say: "One. "}, {pause: 300}, {say: "Two."}]}`)}).Info()
	admin := adminToken(t, info)
	for range 4 {
		var intellect struct {
			ID int64 `json:"id"`
		}
		call(t, "KS "+admin, info.GenieURL+"/v1/intellect/add", map[string]any{"name": "x"}, &intellect)
		var agent struct{ AgentID string }
		call(t, "KS "+admin, info.AgenticURL+"/agent/create", map[string]any{"displayName": "x", "intellect": intellect, "avatarIds": []string{}}, &agent)
		ks := mint(t, info, "ann", fmt.Sprintf("agentid:%s,geniegpcid:%d", agent.AgentID, intellect.ID))
		socket := intrude(t, info, ks)
		if !socket.join(ks, "") {
			t.Fatal("not joined")
		}
		socket.event("stvNewSession", `{}`)
		asked := make(chan int)
		go func() {
			status, _ := postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"Hello"}`)
			asked <- status
		}()
		call(t, "KS "+admin, info.AgenticURL+"/agent/delete", map[string]string{"agentId": agent.AgentID}, nil)
		if status, reply := postJSON(t, info.GenieURL+"/v1/intellect/delete", admin, fmt.Sprintf(`{"id":%d}`, intellect.ID)); status >= 500 {
			t.Errorf("deleting the intellect: status %d: %s", status, reply)
		}
		if status := <-asked; status >= 500 {
			t.Errorf("a turn: status %d", status)
		}
		socket.event("approvedPermissions", `{}`)
		socket.event("onTextEntered", `{"text":"Hello","isFinal":true}`)
		_ = socket.ws.CloseNow()
		if status, _ := postJSON(t, info.GenieURL+"/assistant/converse", ks, `{"userMessage":"Hello"}`); status < 400 || status >= 500 {
			t.Errorf("a turn with a deleted agent: status %d", status)
		}
	}
}

// postJSON sends JSON with a token and returns the whole reply.
func postJSON(t testing.TB, address, ks, body string) (status int, text string) {
	reply, text := send(t, http.MethodPost, address, http.Header{"Authorization": {"KS " + ks}, "Content-Type": {"application/json"}}, body)
	return reply.StatusCode, text
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
