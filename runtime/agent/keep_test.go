package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// joined returns what the newest avatar was told in its join.
func (r *rig) joined() control.Context {
	r.t.Helper()
	got := r.socket().got(control.Join)
	var join control.JoinRequest
	if len(got) != 1 {
		r.t.Fatalf("joined %d times", len(got))
	}
	if err := json.Unmarshal([]byte(got[0]), &join); err != nil {
		r.t.Fatal(err)
	}
	return join.Kaltura
}

// TestTheThreadIsKept, whichever transport learned it.
func TestTheThreadIsKept(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		r.socket().segment(map[string]any{"type": "avatar", "content": "Hello.", "threadId": "th-1"})
		synctest.Wait()
		if id := r.Snapshot().ThreadID; id != "th-1" {
			t.Errorf("thread %q", id)
		}
		r.forget()
		r.mustSwitch(Chat)
		r.mustSwitch(Avatar)
		if got := all[ModeChanged](r); !slices.Equal(got, []ModeChanged{{Chat, true}, {Avatar, true}}) {
			t.Errorf("%+v", got)
		}
		if id := r.joined().ThreadID; id != "th-1" {
			t.Errorf("joined thread %q", id)
		}
	})
	t.Run("there is none", func(t *testing.T) {
		run(t, Options{}, func(r *rig) {
			r.mustConnect()
			r.mustSwitch(Chat)
			if got := all[ModeChanged](r); !slices.Equal(got, []ModeChanged{{Chat, false}}) {
				t.Errorf("%+v", got)
			}
			r.send(background, "Hello")
			r.turn(0).reply("Hi.", "th-2")
			if id := r.Snapshot().ThreadID; id != "th-2" {
				t.Errorf("thread %q", id)
			}
		})
	})
	t.Run("each transport has one of its own", func(t *testing.T) {
		o := Options{Mode: Chat, ThreadID: "shared", Avatar: avatar.Options{ThreadID: "face"}, Chat: chat.Options{ThreadID: "text"}}
		run(t, o, func(r *rig) {
			r.mustConnect()
			r.mustSwitch(Avatar)
			if id := r.joined().ThreadID; id != "text" {
				t.Errorf("joined thread %q, want that of the first transport", id)
			}
		})
	})
}

// TestASwitchWaitsForTheThreadOfTheFirstAnswer, because a transport that is opened
// before would begin another.
func TestASwitchWaitsForTheThreadOfTheFirstAnswer(t *testing.T) {
	run(t, Options{Mode: Chat}, func(r *rig) {
		r.mustConnect()
		r.send(background, "My name is Sam")
		x := r.turn(0)
		switched := r.switchLater(background, Avatar)
		if n := r.made[Avatar]; n != 0 {
			t.Fatal("opened before the thread was known")
		}
		x.say("Hello", "th-1")
		if err := <-switched; err != nil {
			t.Fatal(err)
		}
		if id := r.joined().ThreadID; id != "th-1" {
			t.Errorf("joined thread %q", id)
		}
		if got := all[ModeChanged](r); !slices.Equal(got, []ModeChanged{{Avatar, true}}) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("spoken", func(t *testing.T) {
		run(t, Options{}, func(r *rig) {
			r.mustConnect()
			<-r.send(background, "My name is Sam")
			s := r.socket()
			switched := r.switchLater(background, Chat)
			s.segment(map[string]any{"type": "avatar", "content": "Hello.", "threadId": "th-1"})
			if err := <-switched; err != nil || r.current.thread() != "th-1" {
				t.Errorf("%v, thread %q", err, r.current.thread())
			}
		})
	})
	t.Run("no longer than it may", func(t *testing.T) {
		run(t, Options{Mode: Chat}, func(r *rig) {
			r.mustConnect()
			r.send(background, "My name is Sam")
			began := time.Now()
			r.mustSwitch(Avatar)
			if took := time.Since(began); took != threadLimit {
				t.Errorf("it took %v", took)
			}
		})
	})
	t.Run("nor than the answer", func(t *testing.T) {
		run(t, Options{Mode: Chat}, func(r *rig) {
			r.mustConnect()
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
		run(t, Options{Mode: Chat}, func(r *rig) {
			r.mustConnect()
			r.send(background, "My name is Sam")
			r.turn(0)
			ctx, cancel := context.WithCancel(background)
			switched := r.switchLater(ctx, Avatar)
			cancel()
			if err := <-switched; !errors.Is(err, fault.Aborted) {
				t.Errorf("err = %v", err)
			}
			switched = r.switchLater(background, Avatar)
			r.Disconnect(DisconnectOptions{})
			if err := <-switched; !errors.Is(err, fault.InvalidState) || r.made[Avatar] != 0 {
				t.Errorf("err = %v, %d avatars", err, r.made[Avatar])
			}
		})
	})
}

// TestTheServiceOpensAnotherThread: the new transport was opened before the old one
// knew its thread. The conversation goes on in the new one's.
func TestTheServiceOpensAnotherThread(t *testing.T) {
	run(t, Options{Mode: Chat}, func(r *rig) {
		r.mustConnect()
		r.send(background, "Hello")
		x := r.turn(0)
		r.stuck()
		switched := r.switchLater(background, Avatar)
		time.Sleep(threadLimit + time.Second)
		x.say("Hi", "late")
		synctest.Wait()
		if id := r.Snapshot().ThreadID; id != "late" {
			t.Errorf("thread %q", id)
		}
		r.unstick()
		if err := <-switched; err != nil {
			t.Fatal(err)
		}
		if got := all[ModeChanged](r); !slices.Equal(got, []ModeChanged{{Avatar, false}}) {
			t.Errorf("%+v", got)
		}
		r.socket().segment(map[string]any{"type": "avatar", "content": "Hello.", "threadId": "new"})
		synctest.Wait()
		if id := r.Snapshot().ThreadID; id != "new" {
			t.Errorf("thread %q", id)
		}
	})
}

// TestTheKickoffIsSentOnce, by the transport that is there when it may leave.
func TestTheKickoffIsSentOnce(t *testing.T) {
	kickoff := &event.Kickoff{Text: "Begin"}
	auto := func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
	run(t, Options{Mode: Chat, Kickoff: kickoff}, func(r *rig) {
		r.auto = auto
		r.mustConnect()
		for _, m := range []Mode{Avatar, Chat, Avatar} {
			r.mustSwitch(m)
		}
		if got, spoken := r.asked(), r.spoken(); !slices.Equal(got, []string{"Begin"}) || len(spoken) != 0 {
			t.Errorf("asked %q, spoken %q", got, spoken)
		}
	})
	t.Run("spoken", func(t *testing.T) {
		run(t, Options{Kickoff: kickoff}, func(r *rig) {
			r.auto = auto
			r.mustConnect()
			for _, m := range []Mode{Chat, Avatar} {
				r.mustSwitch(m)
			}
			if got, spoken := r.asked(), r.spoken(); len(got) != 0 || !slices.Equal(spoken, []string{"Begin"}) {
				t.Errorf("asked %q, spoken %q", got, spoken)
			}
		})
	})
	t.Run("the opening was not over", func(t *testing.T) {
		run(t, Options{Kickoff: kickoff}, func(r *rig) {
			r.auto = auto
			r.when(control.ApprovedPermissions, nil)
			r.mustConnect()
			r.mustSwitch(Chat)
			r.mustSwitch(Avatar)
			r.socket().say(control.StvFinishedTalking, control.FinishedTalking{})
			if got, spoken := r.asked(), r.spoken(); !slices.Equal(got, []string{"Begin"}) || len(spoken) != 0 {
				t.Errorf("asked %q, spoken %q", got, spoken)
			}
		})
	})
	t.Run("it ended during the switch", func(t *testing.T) {
		run(t, Options{Kickoff: kickoff}, func(r *rig) {
			r.auto = auto
			r.when(control.ApprovedPermissions, nil)
			r.mustConnect()
			s := r.socket()
			r.listen = func(e event.Event) {
				if _, ok := e.(TransportChanged); ok {
					s.say(control.StvFinishedTalking, control.FinishedTalking{})
					time.Sleep(time.Millisecond) // until it was heard
				}
			}
			r.mustSwitch(Chat)
			if got, spoken := r.asked(), r.spoken(); !slices.Equal(got, []string{"Begin"}) || len(spoken) != 0 {
				t.Errorf("asked %q, spoken %q", got, spoken)
			}
		})
	})
	t.Run("the switch failed", func(t *testing.T) {
		run(t, Options{Kickoff: kickoff}, func(r *rig) {
			r.when(control.ApprovedPermissions, nil)
			r.mustConnect()
			r.fail = func(Mode) error { return fault.New(fault.BadRequest, "no") }
			if err := r.SwitchMode(background, Chat); err == nil {
				t.Error("the switch worked")
			}
			r.socket().say(control.StvFinishedTalking, control.FinishedTalking{})
			if spoken := r.spoken(); !slices.Equal(spoken, []string{"Begin"}) {
				t.Errorf("spoken %q", spoken)
			}
		})
	})
	t.Run("that of the first transport wins", func(t *testing.T) {
		o := Options{
			Mode: Chat, Kickoff: kickoff,
			Chat: chat.Options{Kickoff: &event.Kickoff{Text: "In text"}}, Avatar: avatar.Options{Kickoff: &event.Kickoff{Text: "Aloud"}},
		}
		run(t, o, func(r *rig) {
			r.auto = auto
			r.mustConnect()
			r.mustSwitch(Avatar)
			if got, spoken := r.asked(), r.spoken(); !slices.Equal(got, []string{"In text"}) || len(spoken) != 0 {
				t.Errorf("asked %q, spoken %q", got, spoken)
			}
		})
	})
}

// TestWhatIsGivenForOneTransportWins, and what was updated since wins over it.
func TestWhatIsGivenForOneTransportWins(t *testing.T) {
	genie, own := "https://brain.example", "https://own.example"
	o := Options{
		Mode: Chat, ThreadID: "th-1", GenieURL: &genie, PartnerID: "1",
		RequestVars: map[string]any{"a": "shared", "b": "shared", "c": "shared"},
		Chat:        chat.Options{RequestVars: map[string]any{"b": "text"}, Token: "text-token", GenieURL: &own},
		Avatar:      avatar.Options{RequestVars: map[string]any{"b": "face", "d": "face"}},
	}
	run(t, o, func(r *rig) {
		o.RequestVars["a"] = "changed by its owner" // which is none of our business
		r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
		r.mustConnect()
		vars := func() any { return r.turn(len(r.turns) - 1).body["request_vars"] }
		<-r.send(background, "one")
		if got := fmt.Sprint(vars()); got != "map[a:shared b:text c:shared]" {
			t.Errorf("first turn: %s", got)
		}
		if err := errors.Join(r.UpdateRequestVars(map[string]any{"b": "new", "c": nil}), r.SetDynamicPrompt(map[string]any{"page": 7})); err != nil {
			t.Fatal(err)
		}
		<-r.send(background, "two")
		if got := fmt.Sprint(vars()); !strings.HasPrefix(got, "map[a:shared b:new c:") || !strings.HasSuffix(got, `page_context:{"page":7}]`) {
			t.Errorf("second turn: %s", got)
		}
		join := r.answer[control.Join]
		r.stuck()
		switched := r.switchLater(background, Avatar)
		if got := fmt.Sprint(r.joined().RequestVars); !strings.HasPrefix(got, "map[a:shared b:new c:") || !strings.HasSuffix(got, `d:face page_context:{"page":7}]`) {
			t.Errorf("joined with %s", got)
		}
		if err := r.UpdateRequestVars(map[string]any{"e": "during the switch"}); err != nil {
			t.Fatal(err)
		}
		join(r.socket())
		if err := <-switched; err != nil {
			t.Fatal(err)
		}
		got := r.socket().got(control.UpdateGenieContext)
		if len(got) != 1 || !strings.Contains(got[0], "during the switch") {
			t.Errorf("told after the switch: %q", got)
		}
		if auth := fmt.Sprint(r.socket().auth); auth != "map[token:token]" {
			t.Errorf("auth %s", auth)
		}
		r.Disconnect(DisconnectOptions{})
		synctest.Wait()
		if got := r.completed(); len(got) != 1 || !strings.HasPrefix(got[0], "KS token ") {
			t.Errorf("%q", got)
		}
	})
}

// TestVariablesReachAnAvatarThatReconnects when it is back.
func TestVariablesReachAnAvatarThatReconnects(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		s := r.socket()
		s.drop(socketio.TransportClose)
		synctest.Wait()
		if err := r.UpdateRequestVars(map[string]any{"a": "b"}); err != nil {
			t.Fatal(err)
		}
		if got := s.got(control.UpdateGenieContext); len(got) != 0 {
			t.Errorf("told without a socket: %q", got)
		}
		s.push(socketio.Event{Kind: socketio.Connected, Recovered: true})
		if got := s.got(control.UpdateGenieContext); len(got) != 1 || !strings.Contains(got[0], `"a":"b"`) {
			t.Errorf("told when it was back: %q", got)
		}
	})
}

// TestHandlersFollowTheConversation, from before the connect and from during a
// switch, and one that was removed hears nothing any more.
func TestHandlersFollowTheConversation(t *testing.T) {
	run(t, Options{Mode: Chat, ThreadID: "th-1"}, func(r *rig) {
		var heard []string
		on := func(name string) (remove func()) {
			remove, err := r.OnToolCall("save", func(_ context.Context, c event.ToolCall) (any, error) {
				heard = append(heard, name+" "+c.ToolMetadata.ID)
				return nil, nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return remove
		}
		call := func(id string) map[string]any {
			return map[string]any{
				"type": "tool", "content": "save " + `{"note":"` + id + `"}`,
				"tool_metadata": map[string]any{"id": id, "wait_for_response": true},
			}
		}
		calls := func(want ...string) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(heard, want) {
				t.Errorf("heard %q, want %q", heard, want)
			}
			heard = nil
		}
		before := on("before")
		consents := 0
		if _, err := r.OnOAuthRequired(func(context.Context, event.OAuthRequired) (any, error) { consents++; return nil, nil }); err != nil {
			t.Fatal(err)
		}
		r.mustConnect()
		on("connected")
		r.send(background, "one")
		x := r.turn(0)
		say := func(seg map[string]any) {
			b, err := json.Marshal(seg)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(x.w, "%s\n", b)
		}
		say(call("t-1"))
		calls("before t-1", "connected t-1")

		join := r.answer[control.Join]
		r.stuck()
		switched := r.switchLater(background, Avatar)
		on("switching")
		before()
		say(call("t-2"))
		calls("connected t-2", "switching t-2") // in the old transport
		if got, err := r.RespondToTool(background, "t-2", map[string]any{"ok": true}); !got.OK || err != nil {
			t.Errorf("answered during the switch: %+v, %v", got, err)
		}
		join(r.socket())
		if err := <-switched; err != nil {
			t.Fatal(err)
		}
		if got, err := r.RespondToTool(background, "t-1", map[string]any{"ok": true}); got.Reason != "unknown_or_stale" || err != nil {
			t.Errorf("answered after the switch: %+v, %v", got, err)
		}
		r.socket().segment(call("t-3"))
		calls("connected t-3", "switching t-3") // in the new one
		if got, err := r.RespondToTool(background, "t-3", map[string]any{"ok": true}); !got.OK || err != nil {
			t.Errorf("answered in the new transport: %+v, %v", got, err)
		}
		r.socket().segment(map[string]any{
			"type": "interruption", "content": map[string]any{"auth_url": "https://a.example"}, "metadata": map[string]any{"subtype": "oauth_required"},
		})
		synctest.Wait()
		if consents != 1 {
			t.Errorf("asked for consent %d times", consents)
		}
		if _, err := r.OnToolCall("", nil, nil); !errors.Is(err, fault.BadRequest) {
			t.Errorf("err = %v", err)
		}
		if _, err := r.OnOAuthRequired(nil); !errors.Is(err, fault.BadRequest) {
			t.Errorf("err = %v", err)
		}
	})
}

// TestAnAnswerThatIsOwedIsSettledWithItsTransport, and not with another.
func TestAnAnswerThatIsOwedIsSettledWithItsTransport(t *testing.T) {
	run(t, Options{Mode: Chat, ThreadID: "th-1", Kickoff: &event.Kickoff{Text: "Begin"}}, func(r *rig) {
		r.mustConnect()
		r.turn(0)
		r.want("state connecting user_requested", "transport chat", "turnStart", "responsePending", "state connected")
		r.forget()
		r.mustSwitch(Avatar)
		r.want("state switching user_requested", "transport avatar", "turnEnd", "responseSettled", "state connected", "mode avatar true")
	})
	run(t, Options{ThreadID: "th-1", Kickoff: &event.Kickoff{Text: "Begin"}}, func(r *rig) {
		r.when(control.ApprovedPermissions, nil)
		r.mustConnect()
		r.socket().segment(map[string]any{"type": "think"}) // the old one owes an answer
		r.forget()
		r.mustSwitch(Chat)
		r.turn(0) // and the new one another: the kickoff's
		if got := r.pairs(); got != "" {
			t.Errorf("told %q while somebody owes an answer", got)
		}
		r.turn(0).reply("Answer.", "th-1")
		if got := r.pairs(); got != "-" {
			t.Errorf("told %q when the last answer came", got)
		}
	})
}

// pairs shows responsePending and responseSettled as + and -.
func (r *rig) pairs() string {
	var b strings.Builder
	for _, e := range r.events() {
		switch e.(type) {
		case ResponsePending:
			b.WriteByte('+')
		case ResponseSettled:
			b.WriteByte('-')
		}
	}
	return b.String()
}

// TestThePageGoesAwayDuringASwitch: both transports hear it, and the service hears
// of one end.
func TestThePageGoesAwayDuringASwitch(t *testing.T) {
	run(t, Options{Mode: Chat, ThreadID: "th-1"}, func(r *rig) {
		r.mustConnect()
		r.stuck()
		switched := r.switchLater(background, Avatar)
		if n := len(r.page.listeners); n != 2 {
			t.Fatalf("%d listeners at the page", n)
		}
		r.page.hide()
		if got := r.completed(); len(got) != 1 {
			t.Errorf("told of the end: %q", got)
		}
		if err := <-switched; err == nil {
			t.Error("the switch worked")
		}
		if got := all[Ended](r); !slices.Equal(got, []Ended{{Reason: "pagehide"}}) || r.Snapshot().State != Broken {
			t.Errorf("ended %+v in state %s", got, r.Snapshot().State)
		}
	})
}

// TestTheEndIsToldOnce, although one transport did and another goes on.
func TestTheEndIsToldOnce(t *testing.T) {
	run(t, Options{Mode: Chat, ThreadID: "th-1"}, func(r *rig) {
		r.mustConnect()
		if got, err := r.CompleteThread(background); !got.OK || got.Reason != "manual" || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		r.mustSwitch(Avatar)
		if got, err := r.CompleteThread(background); got.Reason != "already_sent" || err != nil {
			t.Errorf("%+v, %v", got, err)
		}
		r.Disconnect(DisconnectOptions{})
		synctest.Wait()
		if got := r.completed(); len(got) != 1 {
			t.Errorf("told %q", got)
		}
		if _, err := r.CompleteThread(background); !errors.Is(err, fault.InvalidState) {
			t.Errorf("after the end: %v", err)
		}
		if _, err := r.RespondToTool(background, "t", map[string]any{}); !errors.Is(err, fault.InvalidState) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestATokenReplacesAllThatWereGiven, in both transports of a switch and in those
// to come; and nothing prints it.
func TestATokenReplacesAllThatWereGiven(t *testing.T) {
	o := Options{Mode: Chat, ThreadID: "th-1", Avatar: avatar.Options{Token: "face-token"}, Chat: chat.Options{Token: "text-token"}}
	run(t, o, func(r *rig) {
		r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
		r.mustConnect()
		r.stuck()
		switched := r.switchLater(background, Avatar)
		s := r.socket()
		if auth := fmt.Sprint(s.auth); auth != "map[token:face-token]" {
			t.Errorf("auth %s", auth)
		}
		if err := r.SetToken("fresh"); err != nil {
			t.Fatal(err)
		}
		if auth := fmt.Sprint(s.auth); auth != "map[token:fresh]" {
			t.Errorf("auth after SetToken %s", auth)
		}
		r.unstick()
		if err := <-switched; err != nil {
			t.Fatal(err)
		}
		r.mustSwitch(Chat)
		if err := r.SetToken(""); !errors.Is(err, fault.BadRequest) {
			t.Errorf("err = %v", err)
		}
		if shown := fmt.Sprintf("%v %+v %#v", r.Session, r.opts, o); strings.Contains(shown, "token") || strings.Contains(shown, "fresh") {
			t.Errorf("printed %s", shown)
		}
		r.Disconnect(DisconnectOptions{})
		synctest.Wait()
		if got := r.completed(); len(got) != 1 || !strings.HasPrefix(got[0], "KS fresh ") {
			t.Errorf("%q", got)
		}
		if r.token != "" || r.opts.Avatar.Token != "" || r.opts.Chat.Token != "" {
			t.Error("the token is not forgotten")
		}
	})
}

// TestATransportThatDoesNotCloseHoldsNothingUp but Close.
func TestATransportThatDoesNotCloseHoldsNothingUp(t *testing.T) {
	run(t, Options{ThreadID: "th-1"}, func(r *rig) {
		r.closed = make(chan struct{})
		r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
		r.mustConnect()
		r.mustSwitch(Chat)
		if end := <-r.send(background, "Hello"); end.err != nil {
			t.Errorf("%+v", end)
		}
		r.mustSwitch(Avatar)
		r.mustSwitch(Chat)
		all := [2]<-chan bool{}
		for i := range all { // at once
			all[i] = later(func() bool { r.Close(); return true })
		}
		select {
		case <-all[0]:
			t.Error("closed while transports are open")
		default:
		}
		close(r.closed)
		<-all[0]
		<-all[1]
		if r.freed[Avatar] != 2 || r.freed[Chat] != 2 {
			t.Errorf("freed %v", r.freed)
		}
	})
}

// TestNothingIsKeptOfATransportThatWasLetGo.
func TestNothingIsKeptOfATransportThatWasLetGo(t *testing.T) {
	w := newWorld(t)
	var last weak.Pointer[chat.Session]
	deps := w.deps()
	open := deps.Chat
	deps.Chat = func(o chat.Options) (*chat.Session, func(), error) {
		s, release, err := open(o)
		last = weak.Make(s)
		return s, release, err
	}
	brain := "https://brain.example"
	s, err := New(Options{Mode: Chat, Token: "token", ThreadID: "th-1", GenieURL: &brain}, deps)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.OnToolCall("save", func(context.Context, event.ToolCall) (any, error) { return nil, nil }, nil); err != nil {
		t.Fatal(err)
	}
	w.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
	if err := s.Connect(background); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SendText(background, "Hello"); err != nil {
		t.Fatal(err)
	}
	w.turns = nil
	if err := s.SwitchMode(background, Avatar); err != nil {
		t.Fatal(err)
	}
	gone := false
	for range 200 { // its goroutines end beside the switch
		runtime.GC()
		if gone = last.Value() == nil; gone {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !gone {
		t.Error("the chat session is still reachable")
	}
	s.Close()
}

// TestTheEventsThatArePassedOn are those of session-api A.3.3, and widget.
func TestTheEventsThatArePassedOn(t *testing.T) {
	own := []string{"stateChange", "transportChanged", "modeChanged", "ended"}
	inner := []string{
		"transcript", "turnStart", "turnEnd", "toolCall", "toolCallResult", "toolCallInvalid", "oauthRequired", "oauthRequiredResult",
		"error", "warning", "responsePending", "responseSettled", "agentActionDenied", "speechChunk", "avatarStartTalking",
		"avatarStopTalking", "interrupted", "mediaReady", "connectTimings", "mediaRecovering", "mediaRecovered",
	}
	if len(own)+len(inner) != 25 {
		t.Fatalf("%d events", len(own)+len(inner))
	}
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		r.forget()
		for _, e := range []event.Event{
			Transcript{}, ToolCalled{}, ToolCallResult{}, ToolCallInvalid{}, OAuthRequired{}, OAuthRequiredResult{},
			Failed{Error: fault.New(fault.SocketError, "")}, Warning{}, AgentActionDenied{}, SpeechChunk{}, AvatarStartTalking{},
			AvatarStopTalking{}, Interrupted{}, MediaReady{}, ConnectTimings{}, MediaRecovering{}, MediaRecovered{}, WidgetShown{},
			TurnStarted{}, TurnEnded{}, ResponsePending{}, ResponseSettled{},
			avatar.StateChanged{State: avatar.Connected}, avatar.MicStarted{}, avatar.Reconnecting{}, avatar.TrackAdded{}, event.BrainSegment{},
			event.BrainStalled{}, event.SessionCompleted{}, event.ToolSpiralDetected{}, chat.StateChanged{},
		} {
			r.Session.hear(r.current, e)
		}
		var got []string
		for _, e := range r.events() {
			got = append(got, e.Name())
		}
		want := append(inner, "widget")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("passed on %q, want %q", got, want)
		}
	})
}

// TestABugEndsTheSession, and tells of it.
func TestABugEndsTheSession(t *testing.T) {
	run(t, Options{Mode: Chat, ThreadID: "th-1"}, func(r *rig) {
		r.mustConnect()
		r.stuck()
		switched := r.switchLater(background, Avatar)
		r.forget()
		r.Fail(errors.New("a callback broke"))
		if err := <-switched; !errors.Is(err, fault.InvalidState) {
			t.Errorf("err = %v", err)
		}
		r.want("error", "state failed transport_failed", "ended internal_error")
		if got := r.completed(); len(got) != 0 {
			t.Errorf("told of the end: %q", got)
		}
	})
}
