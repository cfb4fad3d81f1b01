package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestWhatIsGivenForOneTransportWins, and what was updated since wins over it.
func TestWhatIsGivenForOneTransportWins(t *testing.T) {
	genie, own := "https://brain.example", "https://own.example"
	o := Options{
		Options: session.Options{
			ThreadID:    "th-1",
			GenieURL:    &genie,
			PartnerID:   "1",
			RequestVars: map[string]any{"a": "shared", "b": "shared", "c": "shared"},

			Capabilities: map[string]string{"use_web_search": "on", "show_link": "on"},
		},
		Mode: Chat,
		Chat: chat.Options{Options: session.Options{
			RequestVars: map[string]any{"b": "text"}, Token: "text-token", GenieURL: &own, Capabilities: map[string]string{"show_link": "off"},
		}},
		Avatar: avatar.Options{Options: session.Options{RequestVars: map[string]any{"b": "face", "d": "face"}}},
	}
	run(t, o, func(r *rig) {
		o.RequestVars["a"] = "changed by its owner" // which must not change the session's copy
		r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
		r.mustConnect()
		vars := func() any { return r.turn(len(r.turns) - 1).body["request_vars"] }
		<-r.send(background, "one")
		expect.Equal(t, fmt.Sprint(vars()), "map[a:shared b:text c:shared]", "first turn")
		expect.Equal(t, fmt.Sprint(r.turn(0).body["capabilities"]), "map[show_link:off use_web_search:on]", "in text")
		must.Do(t, errors.Join(r.UpdateRequestVars(map[string]any{"b": "new", "c": nil}), r.SetDynamicPrompt(map[string]any{"page": 7})))
		<-r.send(background, "two")
		if got := fmt.Sprint(vars()); !strings.HasPrefix(got, "map[a:shared b:new c:") || !strings.HasSuffix(got, `page_context:{"page":7}]`) {
			t.Errorf("second turn: %s", got)
		}
		join := r.Answer[signaling.Join]
		switched := r.stuckSwitch(background)
		if got := fmt.Sprint(r.joined().RequestVars); !strings.HasPrefix(got, "map[a:shared b:new c:") || !strings.HasSuffix(got, `d:face page_context:{"page":7}]`) {
			t.Errorf("joined with %s", got)
		}
		if got := fmt.Sprint(r.joined().Capabilities); got != "map[avatar:on generate_followup_questions:on show_link:on use_web_search:on]" {
			t.Errorf("with a face %s", got)
		}
		for name, value := range map[string]any{"e": "during the switch", "f": "as well"} {
			must.Do(t, r.UpdateRequestVars(map[string]any{name: value}))
		}
		join(r.socket(), fakeservice.Event{})
		must.Do(t, <-switched)
		got := r.socket().Payloads(signaling.UpdateGenieContext)
		if len(got) != 1 || !strings.Contains(got[0], "during the switch") || !strings.Contains(got[0], "as well") {
			t.Errorf("told after the switch: %q", got)
		}
		expect.Equal(t, fmt.Sprint(r.socket().Options().Auth), "map[token:token]", "auth")
		r.Disconnect(session.DisconnectOptions{})
		synctest.Wait()
		if got := r.completed(); len(got) != 1 || !strings.HasPrefix(got[0], "KS token ") {
			t.Errorf("%q", got)
		}
	})
}

// TestVariablesReachATransportThatWasMadeBeforeThem.
func TestVariablesReachATransportThatWasMadeBeforeThem(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "th-1"}}, func(r *rig) {
		r.Listen(func(e event.Event) {
			if _, ok := e.(TransportChanged); ok {
				if err := r.UpdateRequestVars(map[string]any{"a": "b"}); err != nil {
					t.Error(err)
				}
			}
		})
		r.mustSwitch(Chat)
		r.send(background, "Hello")
		expect.Equal(t, fmt.Sprint(r.turn(0).body["request_vars"]), "map[a:b]", "sent with")
	})
}

// TestVariablesReachAnAvatarThatReconnects when it is back.
func TestVariablesReachAnAvatarThatReconnects(t *testing.T) {
	connected(t, Options{}, func(r *rig) {
		s := r.socket()
		s.Drop(socketio.TransportClose)
		synctest.Wait()
		must.Do(t, r.UpdateRequestVars(map[string]any{"a": "b"}))
		synctest.Wait()
		expect.Len(t, s.Payloads(signaling.UpdateGenieContext), 0, "told without a socket")
		s.Push(socketio.Event{Kind: socketio.Connected, Recovered: true})
		synctest.Wait()
		if got := s.Payloads(signaling.UpdateGenieContext); len(got) != 1 || !strings.Contains(got[0], `"a":"b"`) {
			t.Errorf("told when it was back: %q", got)
		}
	})
}

// TestHandlersFollowTheConversation, from before the connect and from during a
// switch, and one that was removed hears nothing any more.
func TestHandlersFollowTheConversation(t *testing.T) {
	run(t, Options{Options: session.Options{ThreadID: "th-1"}, Mode: Chat}, func(r *rig) {
		var heard []string
		on := func(name string) (remove func()) {
			return must.Get(r.OnToolCall("save", func(_ context.Context, c event.ToolCall) (any, error) {
				heard = append(heard, name+" "+c.ToolMetadata.ID)
				return nil, nil
			}, nil))(t)
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
			expect.List(t, heard, want, "heard")
			heard = nil
		}
		before := on("before")
		consents := 0
		must.Get(r.OnOAuthRequired(func(context.Context, event.OAuthRequired) (any, error) { consents++; return nil, nil }))(t)
		r.mustConnect()
		on("connected")
		r.send(background, "one")
		x := r.turn(0)
		say := func(seg map[string]any) {
			b := must.Get(json.Marshal(seg))(t)
			fmt.Fprintf(x.w, "%s\n", b)
		}
		say(call("t-1"))
		calls("before t-1", "connected t-1")

		join := r.Answer[signaling.Join]
		switched := r.stuckSwitch(background)
		on("switching")
		before()
		say(call("t-2"))
		calls("connected t-2", "switching t-2") // in the old transport
		if got, err := r.RespondToTool(background, "t-2", map[string]any{"ok": true}); !got.OK || err != nil {
			t.Errorf("answered during the switch: %+v, %v", got, err)
		}
		join(r.socket(), fakeservice.Event{})
		must.Do(t, <-switched)
		if got, err := r.RespondToTool(background, "t-1", map[string]any{"ok": true}); got.Reason != "unknown_or_stale" || err != nil {
			t.Errorf("answered after the switch: %+v, %v", got, err)
		}
		r.socket().Segment(call("t-3"))
		calls("connected t-3", "switching t-3") // in the new one
		if got, err := r.RespondToTool(background, "t-3", map[string]any{"ok": true}); !got.OK || err != nil {
			t.Errorf("answered in the new transport: %+v, %v", got, err)
		}
		r.socket().Segment(map[string]any{
			"type": "interruption", "content": map[string]any{"auth_url": "https://a.example"}, "metadata": map[string]any{"subtype": "oauth_required"},
		})
		synctest.Wait()
		expect.Equal(t, consents, 1, "how often asked for consent")
		expect.Fail(r.OnToolCall("", nil, nil))(t, fault.BadRequest, "err")
		expect.Fail(r.OnOAuthRequired(nil))(t, fault.BadRequest, "err")
	})
}

// TestAnAnswerThatIsOwedIsSettledWithItsTransport: responseSettled is emitted when no
// transport awaits an answer any more.
func TestAnAnswerThatIsOwedIsSettledWithItsTransport(t *testing.T) {
	connected(t, Options{Options: session.Options{ThreadID: "th-1", Kickoff: &event.Kickoff{Text: "Begin"}}, Mode: Chat}, func(r *rig) {
		r.turn(0)
		r.want("state connecting user_requested", "transport chat", "turnStart", "responsePending", "state connected")
		r.Forget()
		r.mustSwitch(Avatar)
		r.want("state switching user_requested", "transport avatar", "responseSettled", "turnEnd", "state connected", "mode avatar true")
	})
	run(t, Options{Options: session.Options{ThreadID: "th-1", Kickoff: &event.Kickoff{Text: "Begin"}}}, func(r *rig) {
		r.When(signaling.ApprovedPermissions, nil)
		r.mustConnect()
		r.socket().Segment(map[string]any{"type": "think"}) // the old one owes an answer
		r.Forget()
		r.mustSwitch(Chat)
		r.turn(0) // and the new one another: the kickoff's
		expect.Equal(t, r.pairs(), "", "told while somebody owes an answer")
		r.turn(0).reply("Answer.", "th-1")
		expect.Equal(t, r.pairs(), "-", "told when the last answer came")
	})
}

// pairs shows responsePending and responseSettled as + and -.
func (r *rig) pairs() string {
	var b strings.Builder
	for _, e := range r.events() {
		switch e.(type) {
		case event.ResponsePending:
			b.WriteByte('+')
		case event.ResponseSettled:
			b.WriteByte('-')
		}
	}
	return b.String()
}

// TestATokenReplacesAllThatWereGiven, in both transports of a switch and in those
// to come; and nothing prints it.
func TestATokenReplacesAllThatWereGiven(t *testing.T) {
	o := Options{Options: session.Options{ThreadID: "th-1"}, Mode: Chat, Avatar: avatar.Options{Options: session.Options{Token: "face-token"}}, Chat: chat.Options{Options: session.Options{Token: "text-token"}}}
	run(t, o, func(r *rig) {
		r.auto = func(x *exchange) { x.say("Answer.", "th-1"); x.w.Close() }
		r.mustConnect()
		switched := r.stuckSwitch(background)
		s := r.socket()
		expect.Equal(t, fmt.Sprint(s.Options().Auth), "map[token:face-token]", "auth")
		must.Do(t, r.SetToken("fresh"))
		expect.Equal(t, fmt.Sprint(s.Options().Auth), "map[token:fresh]", "auth after SetToken")
		r.finish(switched)
		r.mustSwitch(Chat)
		expect.Error(t, r.SetToken(""), fault.BadRequest, "err")
		if shown := fmt.Sprintf("%v %+v %#v", r.Session, r.opts, o); strings.Contains(shown, "token") || strings.Contains(shown, "fresh") {
			t.Errorf("printed %s", shown)
		}
		r.Disconnect(session.DisconnectOptions{})
		synctest.Wait()
		if got := r.completed(); len(got) != 1 || !strings.HasPrefix(got[0], "KS fresh ") {
			t.Errorf("%q", got)
		}
		if r.core.Token != "" || r.opts.Avatar.Token != "" || r.opts.Chat.Token != "" {
			t.Error("the token is not forgotten")
		}
		expect.Error(t, r.SetToken("later"), fault.InvalidState, "after the end")
	})
}

// TestTheLifeOfATokenGoesOnOverASwitch: a new transport asks for the next token when a fifth of its life is left, not of
// the time since the switch, and uses the newest token also in place of one of its own.
func TestTheLifeOfATokenGoesOnOverASwitch(t *testing.T) {
	var began time.Time
	var asked []time.Duration
	o := Options{Options: session.Options{ThreadID: "th-1", TokenLife: time.Minute, OnTokenNeeded: func(context.Context) (string, error) {
		asked = append(asked, time.Since(began))
		return fmt.Sprint("token ", len(asked)), nil
	}}, Mode: Chat, Avatar: avatar.Options{Options: session.Options{Token: "face-token"}}}
	run(t, o, func(r *rig) {
		began = time.Now()
		r.mustConnect()
		time.Sleep(50 * time.Second)
		r.mustSwitch(Avatar)
		expect.Equal(t, fmt.Sprint(r.socket().Options().Auth), "map[token:token 1]", "auth")
		time.Sleep(time.Until(began.Add(90 * time.Second)))
		r.mustSwitch(Chat)
		time.Sleep(time.Until(began.Add(100 * time.Second)))
		synctest.Wait()
		expect.List(t, asked, []time.Duration{48 * time.Second, 96 * time.Second}, "asked after")
	})
}

// TestATokenThatIsSetWhileAnotherIsAskedForStays, for the next transport as for the present one.
func TestATokenThatIsSetWhileAnotherIsAskedForStays(t *testing.T) {
	var release chan struct{}
	o := Options{Options: session.Options{ThreadID: "th-1", TokenLife: time.Minute, OnTokenNeeded: func(context.Context) (string, error) {
		<-release
		return "asked for", nil
	}}, Mode: Chat}
	run(t, o, func(r *rig) {
		release = make(chan struct{}) // of this bubble
		r.mustConnect()
		time.Sleep(50 * time.Second)
		must.Do(t, r.SetToken("set"))
		close(release)
		synctest.Wait()
		r.mustSwitch(Avatar)
		expect.Equal(t, fmt.Sprint(r.socket().Options().Auth), "map[token:set]", "auth")
	})
}

// TestTheEventsThatArePassedOn are those of session §A.3.3, widget and
// turnUnconfirmed.
func TestTheEventsThatArePassedOn(t *testing.T) {
	passed := []event.Event{
		event.Transcript{},
		event.TurnStarted{},
		event.TurnEnded{},
		event.TurnUnconfirmed{},
		event.ToolCalled{},
		event.ToolCallResult{},
		event.ToolCallInvalid{},
		event.OAuthRequired{},
		event.OAuthRequiredResult{},
		event.Failed{Error: fault.New(fault.SocketError, "")},
		event.Warning{},
		event.AgentActionDenied{},
		event.WidgetShown{},
		event.SpeechChunk{},
		event.AvatarStartTalking{},
		event.AvatarStopTalking{},
		event.Interrupted{},
		event.MediaReady{},
		event.ConnectTimings{},
		event.MediaRecovering{},
		event.MediaRecovered{},
		event.ResponsePending{},
		event.ResponseSettled{},
	}
	kept := []event.Event{
		avatar.StateChanged{State: avatar.Connected},
		chat.StateChanged{},
		event.MicStarted{},
		event.Reconnecting{},
		event.TrackAdded{},
		event.BrainSegment{},
		event.BrainStalled{},
		event.SessionCompleted{},
		event.ToolSpiralDetected{},
	}
	connected(t, Options{}, func(r *rig) {
		r.Forget()
		for _, e := range slices.Concat(passed, kept) {
			r.Session.onEvent(r.current, event.Timed{Event: e})
		}
		names := func(events []event.Event) (list []string) {
			for _, e := range events {
				list = append(list, e.Name())
			}
			return list
		}
		expect.List(t, names(r.events()), names(passed), "passed on")
	})
}
