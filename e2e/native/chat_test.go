package native

import (
	"log/slog"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
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

// service is a running service, with its log.
type service struct {
	*localservice.Service
	journal *journal
}

func startChat(t *testing.T, o localservice.Options) *service {
	t.Helper()
	leaktest.Check(t)
	journal := newJournal()
	o.Script, o.Logger = []byte(chatScript), slog.New(handler{journal: journal})
	return &service{start(t, o), journal}
}

// talk is a chat session, of whose events heed gets each while it is set.
type talk struct {
	*chat.Session
	t *testing.T

	mu   sync.Mutex
	heed func(event.Event)
}

// connect opens a session of a visitor, which is closed with the test.
func (svc *service) connect(t *testing.T, agent string) *talk {
	t.Helper()
	c := &talk{t: t}
	http, init := arrive(t, svc.Service, agent)
	o := chat.OptionsFor(init)
	o.OnEvent, o.HTTPClient = c.hear, fetch.As(http)
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

func (c *talk) hear(e event.Event) {
	c.mu.Lock()
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

// say sends a text and returns the turn.
func (c *talk) say(text string) converse.Turn {
	c.t.Helper()
	turn, err := c.SendText(c.t.Context(), text, chat.TurnOptions{})
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return turn
}
