package pagetest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

// Fault is something that goes wrong with a running service or its links: commands for its control
// address, of which those with {id} in their path are for a live session.
type Fault struct {
	Name   string
	Begin  []Command
	Repair []Command // none if it ends by itself
}

// Command is a request for a service's control address.
type Command struct {
	Path string
	Body any
}

// Link is a fault of links (docs/local-service.md).
func Link(conditions string, links ...string) Fault {
	bad, good := map[string]string{}, map[string]string{}
	for _, l := range links {
		bad[l], good[l] = conditions, "none"
	}
	return Fault{conditions + " on " + strings.Join(links, ", "), []Command{{"/links", bad}}, []Command{{"/links", good}}}
}

// OfSession is a fault of one session; the body may be nil.
func OfSession(command string, body map[string]any) Fault {
	if body == nil {
		body = map[string]any{}
	}
	return Fault{command, []Command{{"/sessions/{id}/" + command, body}}, nil}
}

// Survivable are faults after which a session goes on.
var Survivable = []Fault{
	Link("cut", "sockets"),
	Link("cut", "relay"),
	Link("cut", "http"),
	Link("loss=20%", "relay"),
	Link("delay=300ms,jitter=100ms", "sockets", "http", "relay"),
	OfSession("drop", nil),
	OfSession("kill-media", nil),
	{"recovery refused, then drop", []Command{{"/recovery", map[string]any{"refuseNext": true}}, {"/sessions/{id}/drop", map[string]any{}}}, nil},
}

// Disturb applies random faults, one after the other, until ctx ends. Each is applied to a random live
// session, lasts up to longest, and is repaired for up to longest before the next. It returns their names.
func Disturb(ctx context.Context, t testing.TB, info localservice.Info, random *rand.Rand, faults []Fault, longest time.Duration) (names []string) {
	t.Helper()
	always := context.WithoutCancel(ctx) // what has begun is repaired
	pause := func() {
		select {
		case <-time.After(longest/4 + time.Duration(random.Int64N(int64(longest*3/4)))):
		case <-ctx.Done():
		}
	}
	for ctx.Err() == nil {
		fault := faults[random.IntN(len(faults))]
		id := "newest"
		if live := Sessions(always, t, info); len(live) > 0 {
			id = live[random.IntN(len(live))].ID
		}
		send := func(commands []Command) {
			for _, c := range commands {
				path := strings.Replace(c.Path, "{id}", id, 1)
				status, text := TryControl(always, t, info, path, c.Body)
				// A session may have ended, or have no media; a command that the service does not understand is a mistake.
				if status == http.StatusBadRequest || bytes.Contains(text, []byte("no_command")) {
					t.Fatalf("control %s: %d %s", path, status, text)
				}
			}
		}
		names = append(names, fault.Name)
		send(fault.Begin)
		pause()
		send(fault.Repair)
		pause()
	}
	return names
}
