package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/event/eventtest"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// rig is a session in its world, inside a bubble of virtual time.
type rig struct {
	*Session
	*world
	eventtest.Log
}

// run calls f with a rig. When it ends, everything that was made is freed, once,
// and no goroutine is left, which the bubble checks.
func run(t *testing.T, o Options, f func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{world: newWorld(t)}
		o.Token = cmp.Or(o.Token, "token")
		brain := "https://brain.example"
		o.GenieURL = cmp.Or(o.GenieURL, &brain)
		o.OnEvent = r.Record
		s := must.Get(New(r.world.with(o)))(t)
		r.Session = s
		f(r)
		s.Close()
		r.serving.Wait()
		synctest.Wait()
		for _, m := range []Mode{Avatar, Chat} {
			if r.made[m] != r.freed[m] {
				t.Errorf("of %d sessions of %s, %d were freed", r.made[m], m, r.freed[m])
			}
		}
		for i := range r.Dialled() {
			if !r.Socket(i).Closed() {
				t.Errorf("socket %d is still open", i)
			}
		}
		expect.Equal(t, len(r.page.listeners), 0, "listeners are left at the page")
	})
}

// connected is run with a session that is connected.
func connected(t *testing.T, o Options, f func(r *rig)) {
	t.Helper()
	run(t, o, func(r *rig) {
		r.mustConnect()
		f(r)
	})
}

// events returns what was heard so far.
func (r *rig) events() []event.Event {
	synctest.Wait()
	return r.Recorded()
}

// all returns the events of type T so far.
func all[T event.Event](r *rig) []T { return eventtest.All[T](&r.Log) }

// lineOf is an event in a word or two.
func lineOf(e event.Event) string {
	switch e := e.(type) {
	case StateChanged:
		return strings.TrimSpace("state " + string(e.State) + " " + e.Reason)
	case TransportChanged:
		return "transport " + string(e.Mode)
	case ModeChanged:
		return fmt.Sprintf("mode %s %v", e.Mode, e.ThreadContinuity)
	case event.Ended:
		return "ended " + e.Reason
	case event.Transcript:
		return e.Type + ": " + e.Text
	}
	return e.Name()
}

// want compares what was heard, without what every avatar says of itself.
func (r *rig) want(want ...string) {
	r.t.Helper()
	var got []string
	for _, e := range r.events() {
		switch e.(type) {
		case event.ConnectTimings, event.MediaReady, event.TurnTimings, event.Warning, event.AvatarStopTalking:
			continue
		}
		got = append(got, lineOf(e))
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("heard:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (r *rig) mustConnect() {
	r.t.Helper()
	must.Do(r.t, r.Connect(context.Background()))
	synctest.Wait()
}

func (r *rig) mustSwitch(m Mode) {
	r.t.Helper()
	must.Do(r.t, r.SwitchMode(context.Background(), m))
	synctest.Wait()
}

// later runs f on another goroutine, as far as it goes, and returns what it will
// return.
func later[T any](f func() T) <-chan T {
	result := make(chan T, 1)
	go func() { result <- f() }()
	synctest.Wait()
	return result
}

// send sends a text and returns what becomes of it.
func (r *rig) send(ctx context.Context, text string) <-chan sent {
	return later(func() sent {
		what, err := r.SendText(ctx, text)
		return sent{what, err}
	})
}

// switchLater begins a switch.
func (r *rig) switchLater(ctx context.Context, m Mode) <-chan error {
	return later(func() error { return r.SwitchMode(ctx, m) })
}

// stuck keeps avatars from connecting: the service does not answer.
func (r *rig) stuck() { r.When(signaling.Join, nil) }

// stuckSwitch begins a switch to an avatar that does not connect.
func (r *rig) stuckSwitch(ctx context.Context) <-chan error {
	r.stuck()
	return r.switchLater(ctx, Avatar)
}

var background = context.Background()

func chatEnd(reason string) session.DisconnectOptions {
	return session.DisconnectOptions{Reason: reason}
}
