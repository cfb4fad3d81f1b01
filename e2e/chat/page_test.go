package chat

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

const folder = "/e2e/chat/testdata/"

// turns has answers that the demo brain does not give.
const turns = `
rules:
  - when: {exact: "Think about it"}
    steps:
      - say: "I think about it."
      - pause: 60000
      - say: "Never said."
  - when: {exact: "Fail"}
    steps:
      - say: "So far so good."
      - error: "the model is down"
  - when: {exact: "Somebody else's"}
    steps:
      - error: "User has no permission for thread 7"
`

// openPage opens the empty page of these tests, whose scripts can use the exports of chat.js.
func openPage(t *testing.T) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	return openPageOf(t, localservice.Options{Script: []byte(turns)})
}

func openPageOf(t *testing.T, o localservice.Options) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	h := pagetest.New(t, o)
	return h, openAt(h)
}

// openAt opens that page of a server.
func openAt(h *pagetest.Server) *pagetest.Page {
	p := h.Open(folder)
	p.Prelude = `const {arrive, connect, converse, converseOnce, diagnostics, failure, held, load, open, settled, visitor} = await import("` + folder + `chat.js")`
	return p
}

// stops is a log handler that records the turns that the service has stopped.
type stops struct {
	slog.Handler

	mu      sync.Mutex
	records []slog.Record
	changed chan struct{} // closed at the next one
}

func newStops() *stops {
	return &stops{Handler: slog.DiscardHandler, changed: make(chan struct{})}
}

func (*stops) Enabled(context.Context, slog.Level) bool { return true }
func (s *stops) WithAttrs([]slog.Attr) slog.Handler     { return s }
func (s *stops) WithGroup(string) slog.Handler          { return s }

func (s *stops) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "turn stopped" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, r)
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// await returns the values of turn n that was stopped, from 0.
func (s *stops) await(ctx context.Context, t *testing.T, n int) map[string]slog.Value {
	t.Helper()
	for {
		s.mu.Lock()
		records, changed := s.records, s.changed
		s.mu.Unlock()
		if len(records) > n {
			values := map[string]slog.Value{}
			var keep func(slog.Attr) bool
			keep = func(a slog.Attr) bool {
				if a.Value.Kind() != slog.KindGroup {
					values[a.Key] = a.Value
					return true
				}
				for _, inner := range a.Value.Group() {
					keep(inner)
				}
				return true
			}
			records[n].Attrs(keep)
			return values
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("the service has stopped %d turns, want more than %d", len(records), n)
		}
	}
}

// A key that moves the focus a moment later does not press what gets it; all tests
// that type depend on this.
func TestAKeyPressesOneElement(t *testing.T) {
	t.Parallel()
	p := pagetest.New(t, localservice.Options{}).Open(folder)
	p.Do(nil, `
		document.body.innerHTML = "<input><button>Never</button>"
		const [input, button] = document.body.children
		window.typed = ""
		window.pressed = 0
		input.addEventListener("keydown", () => setTimeout(() => button.focus()))
		input.addEventListener("keypress", ({key}) => (typed += key + " "))
		button.addEventListener("click", () => pressed++)
		input.focus()`)
	for range 20 {
		p.Keys("\r")
		p.AwaitTrue(`document.activeElement.tagName === "BUTTON"`)
		p.Do(nil, `document.querySelector("input").focus()`)
	}
	p.Keys("A")
	var got struct {
		Typed   string
		Pressed int
	}
	p.Do(&got, `return {typed, pressed}`)
	if want := strings.Repeat("Enter ", 20) + "A "; got.Typed != want || got.Pressed != 0 {
		t.Errorf("typed %q, want %q; the button was pressed %d times", got.Typed, want, got.Pressed)
	}
}
