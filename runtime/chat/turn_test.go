package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// TestEndingsOfATurn is the order of events of session-api A.2.3 for everything
// that can become of a turn. Whatever it is, the next turn works.
func TestEndingsOfATurn(t *testing.T) {
	const (
		piece = `{"type":"unisphere-tool","content":"questions:\n- Why?","metadata":{"runtimeName":"followups-tool"}}`
		cut   = `{"type":"unisphere-tool","content":"{\"questions\":[","metadata":{"runtimeName":"followups-tool"}}`
		oops  = `{"type":"error","content":"the model is tired"}`
	)
	for _, test := range []struct {
		name    string
		options Options
		reply   func(x *exchange)
		text    string     // of the answer
		code    fault.Code // of the error
		detail  string     // part of its text
		want    []string   // events after responsePending
	}{
		{
			name:  "an answer",
			reply: func(x *exchange) { x.answer().say(think, keepalive, text("Two "), text("things."), lastThink).end() },
			text:  "Two things.",
			want: []string{
				"brainSegment think", "brainSegment keepalive", "responseSettled", "brainSegment text", "final Two ",
				"brainSegment text", "final things.", "brainSegment think", "turnEnd",
			},
		},
		{
			name:  "an answer without the final think",
			reply: func(x *exchange) { x.answer().write(text("Cut short")).end() },
			text:  "Cut short",
			want:  []string{"responseSettled", "brainSegment text", "final Cut short", "turnEnd"},
		},
		{
			name:  "no word at all",
			reply: func(x *exchange) { x.answer().end() },
			want:  []string{"responseSettled", "turnEnd"},
		},
		{
			name:  "thinking alone",
			reply: func(x *exchange) { x.answer().say(think, text("")).end() },
			want:  []string{"brainSegment think", "responseSettled", "brainSegment text", "turnEnd"},
		},
		{
			name: "a tool, a widget and what is not known",
			reply: func(x *exchange) {
				x.answer().say(`{"type":"tool","content":"go {\"page\":4}"}`, piece, `{"type":"hologram","content":{"a":1}}`).end()
			},
			want: []string{
				"responseSettled", `toolCall go{"page":4}`, "brainSegment tool", "brainSegment unisphere-tool",
				"brainSegment hologram", "widget followups", "turnEnd",
			},
		},
		{
			name: "server-sent events",
			reply: func(x *exchange) {
				x.reply(200, "text/event-stream").say("data: "+text("Hi"), "", "data: [DONE]", "").end()
			},
			text: "Hi",
			want: []string{"responseSettled", "brainSegment text", "final Hi", "turnEnd"},
		},
		{
			name:  "somebody else's thread",
			reply: func(x *exchange) { x.answer().say(denied).end() },
			code:  fault.ThreadAccessDenied, detail: "No permission for thread 5f0c",
			want: []string{"responseSettled", "brainSegment error", "error thread_access_denied", "turnEnd"},
		},
		{
			name:  "an error in the middle",
			reply: func(x *exchange) { x.answer().say(text("I "), oops).end() },
			text:  "I ", code: fault.StreamError, detail: "the model is tired",
			want: []string{"responseSettled", "brainSegment text", "final I ", "brainSegment error", "error stream_error", "turnEnd"},
		},
		{
			name:    "an error in the middle, of which to warn",
			options: Options{OnErrorSegment: converse.Warn},
			reply:   func(x *exchange) { x.answer().say(text("I "), oops, text("can")).end() },
			text:    "I can",
			want: []string{
				"responseSettled", "brainSegment text", "final I ", "brainSegment error", "brainSegment text", "final can",
				"warning stream_error", "turnEnd",
			},
		},
		{
			name:  "a line that is no JSON",
			reply: func(x *exchange) { x.answer().say(text("Hi"), "<html>").end() },
			text:  "Hi", code: fault.StreamError, detail: "<html>",
			want: []string{"responseSettled", "brainSegment text", "final Hi", "brainSegment error", "error stream_error", "turnEnd"},
		},
		{
			name: "variables that are switched off",
			reply: func(x *exchange) {
				x.reply(403, "application/json").write(`{"detail":"Client variables are not allowed"}`).end()
			},
			code: fault.ClientVariablesDisabled,
			want: []string{"error client_variables_disabled", "responseSettled", "turnEnd"},
		},
		{
			name:  "a token that has expired",
			reply: func(x *exchange) { x.reply(401, "application/json").write(`{"message":"expired"}`).end() },
			code:  fault.Unauthorized, detail: "expired",
			want: []string{"error unauthorized", "responseSettled", "turnEnd"},
		},
		{
			name:  "an exception behind 200",
			reply: func(x *exchange) { x.reply(200, "application/json").write(`{"success":false,"message":"no"}`).end() },
			code:  fault.APIException,
			want:  []string{"error api_exception", "responseSettled", "turnEnd"},
		},
		{
			name:  "no body behind 200",
			reply: func(x *exchange) { x.reply(200, "").end() },
			code:  fault.ServerError,
			want:  []string{"error server_error", "responseSettled", "turnEnd"},
		},
		{
			name:  "no network",
			reply: func(x *exchange) { x.reply(0, "") },
			code:  fault.NetworkError,
			want:  []string{"error network_error", "responseSettled", "turnEnd"},
		},
		{
			name: "a connection that breaks inside a widget",
			reply: func(x *exchange) {
				x.broken = errors.New("reset")
				x.answer().say(text("I "), cut).end()
			},
			text: "I ", code: fault.NetworkError,
			want: []string{"responseSettled", "brainSegment text", "final I ", "brainSegment unisphere-tool", "error network_error", "turnEnd"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, test.options, func(r *rig) {
				r.mustConnect()
				answer := r.later(r.t.Context(), "Hello")
				x := r.asked(0)
				test.reply(x)
				got := answer.ended()
				if got.turn.Text != test.text {
					t.Errorf("text %q, want %q", got.turn.Text, test.text)
				}
				if (got.err == nil) != (test.code == "") || got.err != nil && !errors.Is(got.err, test.code) {
					t.Errorf("error %v, want %q", got.err, test.code)
				}
				if got.err != nil && !strings.Contains(got.err.Error(), test.detail) {
					t.Errorf("error %v says nothing of %q", got.err, test.detail)
				}
				r.wantEvents(append([]string{"user Hello", "turnStart", "responsePending"}, test.want...)...)
				if !x.isOver() {
					t.Error("the request is still open")
				}
				r.wantQuiet()
				r.mustWork()
			})
		})
	}
}

// TestAnErrorKeepsWhatCameBefore: service.md, "Refusals with HTTP 200" rule 3.
func TestAnErrorKeepsWhatCameBefore(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		answer := r.later(r.t.Context(), "Hello")
		r.asked(0).answer().say(think, text("I know "), denied).end()
		got := answer.ended()
		var f *fault.Error
		if !errors.As(got.err, &f) {
			t.Fatal(got.err)
		}
		body, ok := f.Body.(map[string]any)
		if !ok || body["threadId"] != "5f0c" {
			t.Fatalf("body %v", f.Body)
		}
		want := map[string]any{"text": "I know ", "threadId": "5f0c", "messageId": "m-1"}
		if !reflect.DeepEqual(body["partial"], want) {
			t.Errorf("partial %v", body["partial"])
		}
		if errs, ok := body["errors"].([]any); !ok || len(errs) != 1 {
			t.Errorf("errors %v", body["errors"])
		}
		if heard := all[Failed](r); len(heard) != 1 || heard[0].Error != f {
			t.Errorf("heard %v", heard)
		}
	})
}

func TestAnAnswerIsWhole(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		answer := r.later(r.t.Context(), "Hello")
		r.asked(0).answer().say(think, text("Hi"), `{"type":"tool","content":"go {}"}`, lastThink).end()
		got := answer.ended()
		turn := got.turn
		if got.err != nil || turn.Text != "Hi" || turn.ThreadID != "5f0c" || turn.MessageID != "m-1" || len(turn.Segments) != 4 ||
			len(turn.ToolCalls) != 1 || turn.Empty || turn.Truncated {
			t.Errorf("%+v, %v", turn, got.err)
		}
	})
}

// TestWaitCanBeCalledAgain: several may wait for one turn.
func TestWaitCanBeCalledAgain(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		wait := r.Start(r.t.Context(), "Hello", TurnOptions{})
		r.asked(0).answer().say(text("Hi")).end()
		for range 2 {
			if turn, err := wait(); err != nil || turn.Text != "Hi" {
				t.Errorf("%q, %v", turn.Text, err)
			}
		}
	})
}

func TestTurnsRunOneAfterAnother(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		first := r.later(r.t.Context(), "One")
		second := r.later(r.t.Context(), "Two")
		x := r.asked(0)
		if n := len(r.brain.turns); n != 1 {
			t.Fatalf("%d turns at once", n)
		}
		x.answer().say(think, text("1")).end()
		if got := first.ended(); got.err != nil || got.turn.Text != "1" {
			t.Errorf("first: %q, %v", got.turn.Text, got.err)
		}
		x = r.asked(1)
		if want := `{"userMessage":"Two","sse":false,"threadId":"5f0c"}`; x.body != want {
			t.Errorf("second request %s, want %s", x.body, want)
		}
		x.answer().say(text("2")).end()
		if got := second.ended(); got.err != nil || got.turn.Text != "2" {
			t.Errorf("second: %q, %v", got.turn.Text, got.err)
		}
		var ids []string
		for _, e := range all[TurnStarted](r) {
			ids = append(ids, e.TurnID)
		}
		for _, e := range all[TurnEnded](r) {
			ids = append(ids, e.TurnID)
		}
		if len(ids) != 4 || ids[0] == ids[1] || !slices.Equal(ids[:2], ids[2:]) || len(ids[0]) != turnIDLength {
			t.Errorf("turns %v", ids)
		}
	})
}

func TestARequestSaysWhatItShould(t *testing.T) {
	o := Options{
		ThreadID: "old", RequestVars: map[string]any{"name": "Sam"}, Capabilities: map[string]string{"show_link": "off"},
	}
	run(t, o, func(r *rig) {
		r.mustConnect()
		wait := r.Start(r.t.Context(), "Hello", TurnOptions{ForceExperience: "flashcards", ModelType: "fast"})
		x := r.asked(0)
		want := `{"userMessage":"Hello","sse":false,"threadId":"old","model_type":"fast","force_experience":"flashcards",` +
			`"request_vars":{"name":"Sam"},"capabilities":{"show_link":"off"}}`
		if x.body != want || x.token != "token" {
			t.Errorf("sent %s with %q, want %s", x.body, x.token, want)
		}
		x.answer().say(think).end()
		if _, err := wait(); err != nil {
			t.Error(err)
		}
		if got := r.Snapshot().ThreadID; got != "old" {
			t.Errorf("the thread was replaced with %q", got)
		}
	})
}

func TestATurnIsCheckedBeforeItIsSent(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		send := func(text string, o TurnOptions) error {
			_, err := r.SendText(r.t.Context(), text, o)
			return err
		}
		if err := send("Hello", TurnOptions{}); !errors.Is(err, fault.InvalidState) {
			t.Errorf("before connect: %v", err)
		}
		r.mustConnect()
		for _, text := range []string{"", " \n"} {
			if err := send(text, TurnOptions{}); !errors.Is(err, fault.BadRequest) {
				t.Errorf("%q: %v", text, err)
			}
		}
		for _, o := range []TurnOptions{{ForceExperience: "hologram"}, {ModelType: "slow"}} {
			if err := send("Hello", o); !errors.Is(err, fault.ValidationError) {
				t.Errorf("%+v: %v", o, err)
			}
		}
		for range maxWaiting + 1 { // one of them is under way
			r.Start(r.t.Context(), "Hello", TurnOptions{})
		}
		if err := send("Hello", TurnOptions{}); !errors.Is(err, fault.RateLimited) {
			t.Errorf("one too many: %v", err)
		}
		r.Disconnect(DisconnectOptions{})
		if err := send("Hello", TurnOptions{}); !errors.Is(err, fault.InvalidState) {
			t.Errorf("after the end: %v", err)
		}
		if len(r.brain.turns) != 1 {
			t.Errorf("%d requests", len(r.brain.turns))
		}
	})
}

// TestAStallIsReportedUntilTheAnswerBegins: tools, thinking and keepalives are no
// life (session-api A.2.3).
func TestAStallIsReportedUntilTheAnswerBegins(t *testing.T) {
	widget := `{"type":"unisphere-tool","content":"- a","metadata":{"runtimeName":"followups-tool"}}`
	for name, life := range map[string]string{"text": text("Hi"), "widget": widget} {
		t.Run(name, func(t *testing.T) {
			run(t, Options{}, func(r *rig) {
				r.mustConnect()
				time.Sleep(time.Hour) // nobody waits for anything
				answer := r.later(r.t.Context(), "Hello")
				time.Sleep(7 * time.Second)
				x := r.asked(0).answer().say(think, keepalive, `{"type":"tool","content":"go {}"}`, text(""))
				time.Sleep(18 * time.Second)
				x.say(life)
				time.Sleep(time.Hour)
				x.end()
				if err := answer.ended().err; err != nil {
					t.Error(err)
				}
				time.Sleep(time.Hour)
				if got := all[BrainStalled](r); !slices.Equal(got, []BrainStalled{{AfterMs: 12_000, Count: 1}, {AfterMs: 24_000, Count: 2}}) {
					t.Errorf("stalls %v", got)
				}
			})
		})
	}
}

func TestTheStallWatchdogCanBeSwitchedOff(t *testing.T) {
	off := time.Duration(0)
	run(t, Options{BrainStall: &off}, func(r *rig) {
		r.mustConnect()
		r.later(r.t.Context(), "Hello")
		time.Sleep(time.Hour)
		if got := all[BrainStalled](r); len(got) != 0 {
			t.Errorf("stalls %v", got)
		}
	})
}

// TestAnEmptyTurnWithVariablesWarnsOnce: session-api O16. What counts is what the
// turn was sent with.
func TestAnEmptyTurnWithVariablesWarnsOnce(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		n := 0
		empty := func(meanwhile map[string]any) {
			answer := r.later(r.t.Context(), "Hello")
			if err := r.UpdateRequestVars(meanwhile); err != nil {
				t.Error(err)
			}
			r.asked(n).answer().end()
			n++
			if got := answer.ended(); got.err != nil || !got.turn.Empty {
				t.Errorf("%+v, %v", got.turn, got.err)
			}
		}
		empty(map[string]any{"b": 1, "a": "private"})
		if w := all[Warning](r); len(w) != 0 {
			t.Errorf("warned of variables that were not sent: %+v", w)
		}
		for range 3 {
			empty(nil)
		}
		w := all[Warning](r)
		if len(w) != 1 || w[0].Code != fault.EmptyTurnWithRequestVars || !slices.Equal(w[0].RequestVarKeys, []string{"a", "b"}) {
			t.Errorf("warnings %+v", w)
		}
		if b, err := json.Marshal(w); err != nil || strings.Contains(string(b), "private") {
			t.Errorf("%s, %v", b, err)
		}
	})
}

func TestARefusedTurnIsNotAnEmptyOne(t *testing.T) {
	run(t, Options{RequestVars: map[string]any{"a": 1}, OnErrorSegment: converse.Warn}, func(r *rig) {
		r.mustConnect()
		answer := r.later(r.t.Context(), "Hello")
		r.asked(0).answer().say(denied).end()
		if got := answer.ended(); got.err != nil {
			t.Error(got.err)
		}
		if w := all[Warning](r); len(w) != 1 || w[0].Code != fault.ThreadAccessDenied || w[0].Detail != "No permission for thread 5f0c" {
			t.Errorf("warnings %+v", w)
		}
	})
}

// TestEveryReplyIsReported: before the events of its segments, and a listener that
// panics there breaks nothing.
func TestEveryReplyIsReported(t *testing.T) {
	var r *rig
	var got []converse.Response
	o := Options{OnResponse: func(resp converse.Response) {
		got = append(got, resp)
		if n := len(r.events); n != 3 {
			t.Errorf("after %d events", n)
		}
		panic("a bug in the page")
	}}
	run(t, o, func(rig *rig) {
		r = rig
		r.mustConnect()
		answer := r.later(r.t.Context(), "Hello")
		r.asked(0).answer().say(text("Hi")).end()
		if end := answer.ended(); end.err != nil || end.turn.Text != "Hi" {
			t.Errorf("%q, %v", end.turn.Text, end.err)
		}
		want := converse.Response{
			Method: "POST", Path: "/assistant/converse", Status: 200, OK: true, Attempt: 1, RequestID: "r-1",
			Headers: map[string]string{"content-type": "application/x-ndjson", "x-request-id": "r-1"},
		}
		if len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("responses %+v", got)
		}
		if s := r.Snapshot().State; s != Connected {
			t.Errorf("the session is %s", s)
		}
	})
}

// TestAListenerMayBreak: its panic, and that of a logger, ends nothing.
func TestAListenerMayBreak(t *testing.T) {
	var logged []string
	o := Options{Log: func(level, message string, _ map[string]any) {
		logged = append(logged, level)
		panic("the logger too: " + message)
	}}
	run(t, o, func(r *rig) {
		r.mustConnect()
		r.heedWith(func(e event.Event) { panic("a bug in the page: " + e.Name()) })
		answer := r.later(r.t.Context(), "Hello")
		r.asked(0).answer().say(text("Hi")).end()
		if got := answer.ended(); got.err != nil || got.turn.Text != "Hi" {
			t.Errorf("%q, %v", got.turn.Text, got.err)
		}
		r.heedWith(nil)
		if len(logged) != 7 || slices.ContainsFunc(logged, func(level string) bool { return level != "error" }) {
			t.Errorf("logged %v", logged)
		}
		r.mustWork()
	})
}

// TestNothingSecretIsPrinted, in whatever way.
func TestNothingSecretIsPrinted(t *testing.T) {
	const token, secret = "djJ8OTk5fHRva2Vu-SECRET", "private-value"
	o := Options{Token: token, RequestVars: map[string]any{"name": secret}}
	var printed strings.Builder
	o.Log = func(level, message string, data map[string]any) { fmt.Fprintln(&printed, level, message, data) }
	o.OnAuditEvent = func(a event.Audit) { fmt.Fprintf(&printed, "%+v\n", a) }
	fmt.Fprintf(&printed, "%v %+v %#v\n", o, o, o)
	run(t, o, func(r *rig) {
		r.mustConnect()
		fmt.Fprintf(&printed, "%v %+v %#v %s\n", r.Session, r.Session, r.Session, r.Session)
		r.heedWith(func(event.Event) { panic("KS " + token) })
		for i, reply := range []func(*exchange){
			func(x *exchange) {
				x.reply(401, "application/json").write(`{"message":"Authorization: KS ` + token + ` has expired"}`).end()
			},
			func(x *exchange) {
				x.answer().say(`{"type":"error","content":"bad header Authorization: KS ` + token + `"}`).end()
			},
			func(x *exchange) { x.reply(0, "") },
		} {
			answer := r.later(r.t.Context(), "Hello")
			reply(r.asked(i))
			err := answer.ended().err
			if err == nil {
				t.Error("no error")
			}
			fmt.Fprintf(&printed, "%v %+v %#v\n", err, err, err)
		}
		for _, e := range all[Failed](r) {
			b, err := json.Marshal(e)
			if err != nil {
				t.Error(err)
			}
			printed.Write(b)
		}
		snap, err := json.Marshal(r.Snapshot())
		if err != nil {
			t.Error(err)
		}
		printed.Write(snap)
		r.Close()
		synctest.Wait()
	})
	for _, s := range []string{token, secret} {
		if strings.Contains(printed.String(), s) {
			t.Errorf("%q was printed:\n%s", s, printed.String())
		}
	}
	if printed.Len() == 0 {
		t.Error("nothing was printed")
	}
}

func TestANewSessionChecksItsOptions(t *testing.T) {
	bad, hostless := "mars", "http://agents.example"
	for name, test := range map[string]struct {
		options Options
		want    fault.Code
	}{
		"no token":           {Options{}, fault.BadRequest},
		"region":             {Options{Token: "t", Region: &bad}, fault.BadRequest},
		"address":            {Options{Token: "t", GenieURL: &bad}, fault.BadRequest},
		"insecure address":   {Options{Token: "t", GenieURL: &hostless}, fault.InsecureTransport},
		"reserved variable":  {Options{Token: "t", RequestVars: map[string]any{"sys__ks": "x"}}, fault.ValidationError},
		"nested variable":    {Options{Token: "t", RequestVars: map[string]any{"a": []any{}}}, fault.ValidationError},
		"capability":         {Options{Token: "t", Capabilities: map[string]string{"fly": "on"}}, fault.UnknownCapability},
		"state":              {Options{Token: "t", Capabilities: map[string]string{"avatar": "yes"}}, fault.BadRequest},
		"on error segments":  {Options{Token: "t", OnErrorSegment: "return"}, fault.BadRequest},
		"a logger that dies": {Options{Token: "t", GenieURL: &hostless, Log: func(string, string, map[string]any) { panic("bug") }}, fault.InsecureTransport},
	} {
		if s, err := New(test.options, Deps{}); !errors.Is(err, test.want) || s != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Options{Token: "t"}, Deps{}); err != nil {
		t.Error(err)
	}
}
