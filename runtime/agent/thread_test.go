package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// joined returns what the newest avatar was told in its join.
func (r *rig) joined() signaling.Context {
	r.t.Helper()
	got := r.socket().Payloads(signaling.Join)
	var join signaling.JoinRequest
	if len(got) != 1 {
		r.t.Fatalf("joined %d times", len(got))
	}
	must.Do(r.t, json.Unmarshal([]byte(got[0]), &join))
	return join.Kaltura
}

// TestTheThreadOfTheFirstTransportCounts, where each has one of its own.
func TestTheThreadOfTheFirstTransportCounts(t *testing.T) {
	o := Options{Options: session.Options{ThreadID: "shared"}, Mode: Chat, Avatar: avatar.Options{Options: session.Options{ThreadID: "face"}}, Chat: chat.Options{Options: session.Options{ThreadID: "text"}}}
	connected(t, o, func(r *rig) {
		r.mustSwitch(Avatar)
		expect.Equal(t, r.joined().ThreadID, "text", "joined thread")
	})
}

// TestASwitchWaitsForTheThreadOfTheFirstAnswer, because a transport that is opened
// before would begin another.
func TestASwitchWaitsForTheThreadOfTheFirstAnswer(t *testing.T) {
	connected(t, Options{Mode: Chat}, func(r *rig) {
		r.send(background, "My name is Sam")
		x := r.turn(0)
		switched := r.switchLater(background, Avatar)
		if n := r.made[Avatar]; n != 0 {
			t.Fatal("opened before the thread was known")
		}
		x.say("Hello", "th-1")
		must.Do(t, <-switched)
		expect.Equal(t, r.joined().ThreadID, "th-1", "joined thread")
		if got := all[ModeChanged](r); !slices.Equal(got, []ModeChanged{{Avatar, true}}) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("spoken", func(t *testing.T) {
		connected(t, Options{}, func(r *rig) {
			<-r.send(background, "My name is Sam")
			s := r.socket()
			switched := r.switchLater(background, Chat)
			s.Segment(map[string]any{"type": "avatar", "content": "Hello.", "threadId": "th-1"})
			if err := <-switched; err != nil || r.current.Status().ThreadID != "th-1" {
				t.Errorf("%v, thread %q", err, r.current.Status().ThreadID)
			}
		})
	})
	t.Run("which comes late", func(t *testing.T) {
		connected(t, Options{Mode: Chat}, func(r *rig) {
			r.send(background, "My name is Sam")
			x := r.turn(0)
			x.say("Hello ", "")
			switched := r.switchLater(background, Avatar)
			time.Sleep(time.Second)
			x.say("Sam.", "th-1")
			if err := <-switched; err != nil || r.joined().ThreadID != "th-1" {
				t.Errorf("%v, joined thread %q", err, r.joined().ThreadID)
			}
		})
	})
	t.Run("no longer than it may", func(t *testing.T) {
		connected(t, Options{Mode: Chat}, func(r *rig) {
			r.send(background, "My name is Sam")
			began := time.Now()
			r.mustSwitch(Avatar)
			expect.Equal(t, time.Since(began), threadLimit, "it took")
		})
	})
	t.Run("nor than the answer", func(t *testing.T) {
		connected(t, Options{Mode: Chat}, func(r *rig) {
			first := r.send(background, "My name is Sam")
			switched := r.switchLater(background, Avatar)
			began := time.Now()
			r.turn(0).end() // empty
			<-first
			if err := <-switched; err != nil || time.Since(began) != 0 {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	})
	t.Run("nor than its caller and the session", func(t *testing.T) {
		connected(t, Options{Mode: Chat}, func(r *rig) {
			r.send(background, "My name is Sam")
			r.turn(0)
			ctx, cancel := context.WithCancel(background)
			switched := r.switchLater(ctx, Avatar)
			cancel()
			expect.Error(t, <-switched, fault.Aborted, "err")
			switched = r.switchLater(background, Avatar)
			r.Disconnect(session.DisconnectOptions{})
			if err := <-switched; !errors.Is(err, fault.InvalidState) || r.made[Avatar] != 0 {
				t.Errorf("err = %v, %d avatars", err, r.made[Avatar])
			}
		})
	})
}

// TestAThreadOfATransportThatNeverWasUpIsNotTheConversations.
func TestAThreadOfATransportThatNeverWasUpIsNotTheConversations(t *testing.T) {
	connected(t, Options{Mode: Chat}, func(r *rig) {
		switched := r.stuckSwitch(background)
		r.socket().Segment(map[string]any{"type": "think", "threadId": "other"})
		r.socket().Say(signaling.ThrowToNoAgent, signaling.Empty{})
		if err := <-switched; err == nil || r.Snapshot().ThreadID != "" {
			t.Errorf("%v, thread %q", err, r.Snapshot().ThreadID)
		}
		r.When(signaling.ApprovedPermissions, nil) // nothing more is heard of it
		switched = r.switchLater(background, Avatar)
		r.socket().Segment(map[string]any{"type": "think", "threadId": "new"})
		synctest.Wait()
		r.unstick()
		if err := <-switched; err != nil || r.Snapshot().ThreadID != "new" {
			t.Errorf("%v, thread %q", err, r.Snapshot().ThreadID)
		}
	})
}

// TestTheServiceOpensAnotherThread: the new transport was opened before the old one
// knew its thread. The conversation goes on in the new one's.
func TestTheServiceOpensAnotherThread(t *testing.T) {
	connected(t, Options{Mode: Chat}, func(r *rig) {
		r.send(background, "Hello")
		x := r.turn(0)
		switched := r.stuckSwitch(background)
		time.Sleep(threadLimit + time.Second)
		x.say("Hi", "late")
		synctest.Wait()
		expect.Equal(t, r.Snapshot().ThreadID, "late", "thread")
		r.finish(switched)
		if got := all[ModeChanged](r); !slices.Equal(got, []ModeChanged{{Avatar, false}}) {
			t.Errorf("%+v", got)
		}
		r.socket().Segment(map[string]any{"type": "avatar", "content": "Hello.", "threadId": "new"})
		synctest.Wait()
		expect.Equal(t, r.Snapshot().ThreadID, "new", "thread")
	})
}
