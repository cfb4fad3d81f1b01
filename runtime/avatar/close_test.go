package avatar

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// slowHTTP replies late.
type slowHTTP struct{ fakeHTTP }

func (h *slowHTTP) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	time.Sleep(time.Second)
	return h.fakeHTTP.Do(ctx, r)
}

// TestCloseWaitsForTheServiceToHear: a program that ends after Close has reported the end
// of the conversation.
func TestCloseWaitsForTheServiceToHear(t *testing.T) {
	run(t, Options{Options: session.Options{ThreadID: "th-1"}}, func(r *rig) {
		http := &slowHTTP{fakeHTTP{status: 200}}
		r.opts.HTTPClient = fetch.As(http)
		r.mustConnect()
		r.Close()
		if got := http.seen(); len(got) != 1 || !strings.Contains(got[0], "session_completed") {
			t.Errorf("requests %q", got)
		}
		heard := r.Recorded()
		if done, ok := heard[len(heard)-1].(event.SessionCompleted); !ok || !done.Sent {
			t.Errorf("the last event is %#v", heard[len(heard)-1])
		}
	})
}

// TestNothingSecretIsPrinted of the options and of a session.
func TestNothingSecretIsPrinted(t *testing.T) {
	o := Options{
		Options: session.Options{
			Token:       "secret-token",
			RequestVars: map[string]any{"name": "secret-name"},
		},
		TURNCredentials: &appinit.TURNCredentials{Username: "secret-user", Credential: "secret-word"},
	}
	var printed strings.Builder
	fmt.Fprintf(&printed, "%v %+v %#v %s\n", o, o, o, o)
	run(t, o, func(r *rig) {
		r.mustConnect()
		fmt.Fprintf(&printed, "%v %+v %#v %s\n", r.Session, r.Session, r.Session, r.Session)
	})
	if got := printed.String(); strings.Contains(got, "secret") || !strings.Contains(got, "avatar session, connected") {
		t.Errorf("printed %q", got)
	}
}

// TestTheEndIsTheLastWord: open turns are settled before the event ended (session
// §O6, O8).
func TestTheEndIsTheLastWord(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.say("Hello")
		r.Forget()
		s.Drop(socketio.ServerDisconnect)
		r.wantEvents("connectivityChanged", "responseSettled", "turnTimings", "turnUnconfirmed", "stateChange:disconnected", "ended")
	})
}
