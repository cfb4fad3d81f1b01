package native

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const chatScript = `
rules:
  - when: {exact: a long pause}
    steps:
      - say: I think about it.
      - pause: 60000
      - say: Never said.
  - when: {exact: a silent pause}
    steps:
      - stall: 60000
  - when: {exact: an endless answer}
    steps:
      - repeat: {steps: [{segment: {type: text, content: "and so on "}}]}
  - when: {exact: half a line}
    steps:
      - raw: '{"role":"assistant","type":"te'
      - stall: 60000
  - when: {exact: ask the page}
    steps:
      - say: "One moment."
      - tool: {name: save_note, args: {note: call back}, wait: true, timeout: 60}
      - say: "The page said {{ tool.status }}."
`

// service is a running service for chat sessions.
type service struct {
	*localservice.Service
	http    *fetch.HTTPClient
	journal *journal
}

func startChat(t *testing.T) *service {
	t.Helper()
	return startChatWith(t, localservice.Options{})
}

func startChatWith(t *testing.T, o localservice.Options) *service {
	t.Helper()
	leaktest.Check(t)
	journal := newJournal()
	svc := &service{http: fetch.New(), journal: journal}
	o.Script, o.Logger = []byte(chatScript), slog.New(handler{journal: journal})
	svc.Service = start(t, o)
	t.Cleanup(func() { svc.http.Close() })
	return svc
}

// token mints a token for a visitor of an agent, as a page's server does
// (service.md "Authentication" rule 10).
func (svc *service) token(t *testing.T, agent, user string) (token string) {
	t.Helper()
	info := svc.Info()
	who, ok := info.Agent(agent)
	if !ok {
		t.Fatalf("no agent %q", agent)
	}
	err := fetch.Call(t.Context(), svc.http, &fetch.Request{
		URL: info.OVPURL + "/service/session/action/start",
		Body: fetch.Form(map[string]string{
			"format": "1", "secret": info.AdminSecret, "partnerId": fmt.Sprint(info.PartnerID), "userId": user, "type": "0",
			"privileges": fmt.Sprintf("agentid:%s,geniegpcid:%d,setrole:PLAYBACK_BASE_ROLE", who.AgentID, who.ConfigID),
		}),
	}, &token)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// talk is a chat session and its recorded events.
type talk struct {
	*chat.Session
	t *testing.T

	mu     sync.Mutex
	events []event.Event
	heed   func(event.Event)
}

// connect opens a session of a visitor, which is closed with the test.
func (svc *service) connect(t *testing.T, agent, user string, o chat.Options) *talk {
	t.Helper()
	c := &talk{t: t}
	info := svc.Info()
	o.Token, o.GenieURL, o.OnEvent = svc.token(t, agent, user), &info.GenieURL, c.record
	o.HTTPClient = fetch.As(svc.http)
	s, err := chat.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.Session = s
	t.Cleanup(s.Close)
	if err := s.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *talk) record(e event.Event) {
	c.mu.Lock()
	c.events = append(c.events, e)
	heed := c.heed
	c.mu.Unlock()
	if heed != nil {
		heed(e)
	}
}

func (c *talk) heedWith(f func(event.Event)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heed = f
}

// heardAll returns the events of type T so far.
func heardAll[T event.Event](c *talk) (found []T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if v, ok := e.(T); ok {
			found = append(found, v)
		}
	}
	return found
}

// say sends a text and returns the turn.
func (c *talk) say(text string) converse.Turn {
	c.t.Helper()
	turn, err := c.SendText(c.t.Context(), text, chat.TurnOptions{})
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return turn
}

func TestAChatSession(t *testing.T) {
	svc := startChat(t)
	for name, test := range map[string]func(*testing.T, *service){
		"a turn streams, and its thread remembers": streamedTurn,
		"a thread is continued by its id":          resumedThread,
		"variables that an agent refuses":          refusedVariables,
		"a tool is answered while the reply waits": blockingTool,
		"a thread of somebody else":                foreignThread,
		"the end is told once":                     toldOnce,
		"a kickoff":                                kickoff,
		"a fresh token":                            freshToken,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, svc)
		})
	}
}

func streamedTurn(t *testing.T, svc *service) {
	c := svc.connect(t, "receptionist", "sam", chat.Options{})
	var pieces []string
	isFinal := false
	for seg, err := range c.Stream(t.Context(), "My name is Sam", chat.TurnOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if seg.Type.Spoken() {
			pieces = append(pieces, seg.ContentString())
		}
		isFinal = isFinal || seg.IsFinal
	}
	spoken := strings.Join(pieces, "")
	if len(pieces) < 2 || !strings.Contains(spoken, "Sam") || !isFinal {
		t.Errorf("streamed %q, final: %v", pieces, isFinal)
	}
	heard := ""
	for _, e := range heardAll[event.Transcript](c) {
		if e.Type == "final" {
			heard += e.Text
		}
	}
	if heard != spoken {
		t.Errorf("the loop met %q, the listener heard %q", spoken, heard)
	}
	if turn := c.say("What is my name?"); !strings.Contains(turn.Text, "Sam") || turn.ThreadID != c.Snapshot().ThreadID || turn.MessageID == "" {
		t.Errorf("%+v in thread %s", turn, c.Snapshot().ThreadID)
	}
	if turn := c.say("What is a thread?"); len(turn.Widgets) == 0 || len(heardAll[event.WidgetShown](c)) < len(turn.Widgets) {
		t.Errorf("widgets %+v, of which %d were heard of", turn.Widgets, len(heardAll[event.WidgetShown](c)))
	}
}

func resumedThread(t *testing.T, svc *service) {
	first := svc.connect(t, "receptionist", "bea", chat.Options{})
	first.say("My name is Bea")
	first.Disconnect(session.DisconnectOptions{Keep: true})
	again := svc.connect(t, "receptionist", "bea", chat.Options{Options: session.Options{ThreadID: first.Snapshot().ThreadID}})
	if turn := again.say("What is my name?"); !strings.Contains(turn.Text, "Bea") || turn.ThreadID != first.Snapshot().ThreadID {
		t.Errorf("%q in thread %s", turn.Text, turn.ThreadID)
	}
}

func refusedVariables(t *testing.T, svc *service) {
	c := svc.connect(t, "novars", "cleo", chat.Options{Options: session.Options{RequestVars: map[string]any{"tier": "gold"}}})
	for range 2 {
		if turn := c.say("Hello"); !turn.Empty || turn.Text != "" {
			t.Errorf("%+v", turn)
		}
	}
	w := heardAll[event.Warning](c)
	if len(w) != 1 || w[0].Code != fault.EmptyTurnWithRequestVars || !slices.Equal(w[0].RequestVarKeys, []string{"tier"}) {
		t.Errorf("warnings %+v", w)
	}
	taken := svc.connect(t, "receptionist", "cleo", chat.Options{Options: session.Options{RequestVars: map[string]any{"user_name": "Cleo"}}})
	if turn := taken.say("What is my name?"); !strings.Contains(turn.Text, "Cleo") || len(heardAll[event.Warning](taken)) != 0 {
		t.Errorf("%q, warnings %+v", turn.Text, heardAll[event.Warning](taken))
	}
}

func blockingTool(t *testing.T, svc *service) {
	c := svc.connect(t, "tools", "dan", chat.Options{})
	_, err := c.OnToolCall("save_note", func(ctx context.Context, call event.ToolCall) (any, error) {
		answer, err := c.RespondToTool(ctx, call.ToolMetadata.ID, map[string]any{"status": "saved"})
		if err != nil || !answer.OK {
			t.Errorf("%+v, %v", answer, err)
		}
		return string(call.Args), err
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if turn := c.say("ask the page"); turn.Text != "One moment.The page said saved." && turn.Text != "One moment. The page said saved." {
		t.Errorf("%q", turn.Text)
	}
	results := heardAll[event.ToolCallResult](c)
	if len(results) != 1 || !results[0].OK || results[0].Value != `{"note":"call back"}` {
		t.Errorf("results %+v", results)
	}
}

func foreignThread(t *testing.T, svc *service) {
	owner := svc.connect(t, "receptionist", "eve", chat.Options{})
	thread := owner.say("Hello").ThreadID
	for on, wantErr := range map[converse.OnErrorSegment]bool{converse.Throw: true, converse.Warn: false} {
		c := svc.connect(t, "receptionist", "mallory", chat.Options{Options: session.Options{ThreadID: thread}, OnErrorSegment: on})
		turn, err := c.SendText(t.Context(), "What did we talk about?", chat.TurnOptions{})
		if errors.Is(err, fault.ThreadAccessDenied) != wantErr || turn.Text != "" {
			t.Errorf("%s: %q, %v", on, turn.Text, err)
		}
		if w := heardAll[event.Warning](c); (len(w) == 1 && w[0].Code == fault.ThreadAccessDenied) == wantErr {
			t.Errorf("%s: warnings %+v", on, w)
		}
		c.Disconnect(session.DisconnectOptions{Keep: true})
	}
}

func toldOnce(t *testing.T, svc *service) {
	c := svc.connect(t, "receptionist", "finn", chat.Options{})
	thread := c.say("Hello").ThreadID
	c.Disconnect(session.DisconnectOptions{})
	c.Close()
	// Close has waited for it.
	if found, _ := svc.journal.lines("session completed", "thread", store.ThreadLabel(thread)); len(found) != 1 {
		t.Errorf("the service was told %d times", len(found))
	}
	if got := heardAll[event.SessionCompleted](c); len(got) != 1 || got[0] != (event.SessionCompleted{Reason: "disconnect", Sent: true}) {
		t.Errorf("%+v", got)
	}
}

func kickoff(t *testing.T, svc *service) {
	c := svc.connect(t, "silent", "gus", chat.Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "My name is Gus", Echo: true}}})
	if turn := c.say("What is my name?"); !strings.Contains(turn.Text, "Gus") {
		t.Errorf("%q", turn.Text)
	}
	said := heardAll[event.Transcript](c)
	if len(said) == 0 || said[0].Type != "user" || said[0].Text != "My name is Gus" || !c.Snapshot().Kickoff.Sent {
		t.Errorf("transcripts %+v, kickoff %+v", said, c.Snapshot().Kickoff)
	}
}

func freshToken(t *testing.T, svc *service) {
	c := svc.connect(t, "receptionist", "hana", chat.Options{})
	if err := c.SetToken("not a token"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SendText(t.Context(), "Hello", chat.TurnOptions{}); !errors.Is(err, fault.Unauthorized) {
		t.Errorf("with a bad token: %v", err)
	}
	if err := c.SetToken(svc.token(t, "receptionist", "hana")); err != nil {
		t.Fatal(err)
	}
	c.say("Hello")
}
