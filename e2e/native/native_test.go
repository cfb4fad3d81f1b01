// Package native has whole native sessions: those of the page without one, with pion and
// sockets, against the local service.
package native

import (
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
)

// patience is how long an event may take on a machine that is busy.
const patience = 30 * time.Second

// bot is a session and its recorded events.
type bot struct {
	*avatar.Session
	*recorder
}

// recorder records the events of a session.
type recorder struct {
	t       *testing.T
	mu      sync.Mutex
	events  []event.Event
	changed chan struct{}
}

func newRecorder(t *testing.T) *recorder { return &recorder{t: t, changed: make(chan struct{}, 1)} }

// arrive makes a conversation token for the agent.
func arrive(t *testing.T, service *localservice.Service, agent string) *appinit.Result {
	t.Helper()
	return must.Get(tryArrive(t, service, agent))(t)
}

func tryArrive(t *testing.T, service *localservice.Service, agent string) (*appinit.Result, error) {
	t.Helper()
	info := service.Info()
	who, ok := info.Agent(agent)
	if !ok {
		t.Fatalf("no agent %q", agent)
	}
	return appinit.Init(t.Context(), appinit.Options{
		WidgetID: who.WidgetID,
		Config:   appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	})
}

func newBot(t *testing.T, service *localservice.Service, agent string) *bot {
	t.Helper()
	return botOf(t, arrive(t, service, agent))
}

func botOf(t *testing.T, init *appinit.Result) *bot {
	t.Helper()
	b := &bot{recorder: newRecorder(t)}
	o := avatar.OptionsFor(init)
	o.AllowPrivateHosts = true
	o.MicStart = avatar.MicDeferred
	o.OnEvent = b.record
	b.Session = must.Get(avatar.New(o))(t)
	return b
}

func (h *recorder) record(e event.Event) {
	h.mu.Lock()
	h.events = append(h.events, e)
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// heard returns how many events there were.
func (h *recorder) heard() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.events)
}

// await returns the first event of type T, from index from on, for which ok returns true,
// and the index after it.
func await[T event.Event](h *recorder, from int, ok func(T) bool) (T, int) {
	h.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		h.mu.Lock()
		for i := from; i < len(h.events); i++ {
			if e, is := h.events[i].(T); is && ok(e) {
				h.mu.Unlock()
				return e, i + 1
			}
		}
		h.mu.Unlock()
		select {
		case <-h.changed:
		case <-limit.C:
			var none T
			h.t.Fatalf("no %s within %v; %d events heard", none.Name(), patience, h.heard())
		}
	}
}

func anyOf[T event.Event](T) bool { return true }

func start(t *testing.T, o localservice.Options) *localservice.Service {
	t.Helper()
	return servicetest.Start(t, o)
}
