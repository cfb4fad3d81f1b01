package avatar

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestAuditTellsALife: the types of session §C.4 that no other test has.
func TestAuditTellsALife(t *testing.T) {
	var mu sync.Mutex
	var got []string
	o := Options{Options: session.Options{OnAuditEvent: func(a event.Audit) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, a.Type+" "+a.Outcome)
	}}}
	run(t, o, func(r *rig) {
		failures := []error{
			fault.New(fault.WHEPPrivateIP, ""),
			&socketio.RefusedError{Message: "unauthorized"},
		}
		r.media.OnSubscribe = func(context.Context, string) error { return failures[0] }
		if err := r.Connect(context.Background()); !errors.Is(err, fault.WHEPPrivateIP) {
			t.Fatal(err)
		}
		r.media.OnSubscribe = nil
		r.Disconnect(session.DisconnectOptions{})
		r.must(r.SetToken("fresh"))
		s := r.connectOnly()
		delta := must.Get(json.Marshal(converse.Segment{Role: "assistant", Type: converse.InitResponse, Content: "", ThreadID: "thread-1"}))(t)
		s.Say(signaling.AgentRawText, signaling.RawText{Delta: string(delta)})
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Hello."})
		s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: "Hi"})
		s.Push(socketio.Event{Kind: socketio.Disconnected, Reason: socketio.TransportClose})
		s.Push(socketio.Event{Kind: socketio.ConnectError, Err: failures[1]})
		synctest.Wait()
		r.Disconnect(session.DisconnectOptions{})
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for _, want := range []string{
			"session.connect started", "token.mint accepted", "guard.reject denied", "token.revoke ended", "token.refresh accepted",
			"turn.avatar_spoke done", "turn.user_captured done", "auth.fail denied", "whep.release ended",
		} {
			if !slices.Contains(got, want) {
				t.Errorf("no %s in %q", want, got)
			}
		}
	})
}

// TestEveryReleaseIsAudited, also that of a rebuild.
func TestEveryReleaseIsAudited(t *testing.T) {
	var released atomic.Int32
	o := Options{Options: session.Options{OnAuditEvent: func(a event.Audit) {
		if a.Type == "whep.release" {
			released.Add(1)
		}
	}}}
	connectedWith(t, o, func(r *rig, s *fakeservice.Socket) {
		lose(s)
		expect.Equal(t, released.Load(), 1, "releases after a rebuild")
		r.Disconnect(session.DisconnectOptions{})
		synctest.Wait()
		expect.Equal(t, released.Load(), 2, "releases at the end")
	})
}
