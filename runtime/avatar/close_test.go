package avatar

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/session"
)

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
