package chat

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

// One question is asked in every way there is, and the answers are the same.
func TestOneTurnInEveryWay(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	var got struct {
		Events, Awaited, Streamed, Bare, Once, SSE string
		Order                                      []string
		Segments                                   map[string]int
		Final                                      bool
	}
	p.Call(&got, "turn.js", "oneTurnInEveryWay")
	if !strings.Contains(got.Events, "thread") {
		t.Errorf("the answer is %q", got.Events)
	}
	for way, text := range map[string]string{
		"awaited": got.Awaited, "streamed": got.Streamed, "without a session": got.Bare, "once": got.Once, "as server-sent events": got.SSE,
	} {
		if text != got.Events {
			t.Errorf("%s: %q\nwant %q", way, text, got.Events)
		}
	}
	want := "stateChange connected; transcript user; turnStart; responsePending; responseSettled; transcript final; widget; turnEnd"
	if order := strings.Join(got.Order, "; "); order != want {
		t.Errorf("events %s\nwant   %s", order, want)
	}
	if got.Segments["awaited"] != got.Segments["heard"] || got.Segments["streamed"] != got.Segments["awaited"] || !got.Final {
		t.Errorf("segments %v, the last one final: %v", got.Segments, got.Final)
	}
	if small, large := h.Count("GET", "/js/dist/chat.wasm"), h.Count("GET", "/js/dist/agentruntime.wasm"); small != 1 || large != 0 {
		t.Errorf("chat.wasm was fetched %d times, agentruntime.wasm %d times", small, large)
	}
}

// stopLimit is how soon the service must have stopped a turn after the abort.
const stopLimit = 200 * time.Millisecond

func TestAnAbortedTurnStopsAndTheNextWorks(t *testing.T) {
	log := newStops()
	h, p := openPageOf(t, localservice.Options{Script: []byte(turns), Logger: slog.New(log)})
	var got struct {
		Codes         []string
		Errors        []string
		Next          string
		Before, After map[string]int
	}
	p.Call(&got, "turn.js", "abortedTurnStopsAndTheNextWorks")
	if !slices.Equal(got.Codes, []string{"aborted", "aborted"}) || !slices.Equal(got.Errors, []string{"aborted", "aborted", "aborted"}) {
		t.Errorf("codes %q, errors of the session %q", got.Codes, got.Errors)
	}
	if !strings.Contains(got.Next, "Ivy") {
		t.Errorf("the next turn: %q", got.Next)
	}
	for name, n := range got.Before {
		if got.After[name] > n {
			t.Errorf("%d %s, %d before", got.After[name], name, n)
		}
	}
	for n := range 4 {
		line := log.await(h.Context(), t, n)
		if line["reason"].String() != "client gone" || line["stopped_after"].Duration() > stopLimit {
			t.Errorf("turn %d was stopped: %v", n, line)
		}
	}
}

func TestABlockingToolIsAnsweredWhileTheReplyStreams(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	var got struct {
		Text, Answered string
		Call           struct {
			Name string
			Args struct{ Page int }
		}
		Result struct {
			OK    bool
			Value string
		}
		Invalid, Again string
	}
	p.Do(&got, `
		const talk = await connect({agent: "tools"})
		const {session} = talk
		let answered
		session.onToolCall("get_cart", async ({toolMetadata}) => {
			answered = await session.respondToTool(toolMetadata.id, {items: "three apples"})
			return "told"
		}, {page: {type: "int", required: true}})
		const turn = await session.sendText("What is in my cart?")
		await talk.until("toolCallResult") // the answer may be on its way yet
		const again = await session.respondToTool(talk.all("toolCall")[0].toolMetadata.id, {items: "none"})
		return {
			text: turn.text, answered: JSON.stringify(answered), call: talk.all("toolCall")[0],
			result: talk.all("toolCallResult")[0], again: again.reason,
		}`)
	if got.Text != "One moment. You have three apples." || got.Answered != `{"ok":true}` {
		t.Errorf("answered %q after %s", got.Text, got.Answered)
	}
	if got.Call.Name != "get_cart" || got.Call.Args.Page != 2 || !got.Result.OK || got.Result.Value != "told" {
		t.Errorf("call %+v, result %+v", got.Call, got.Result)
	}
	if got.Again != "unknown_or_stale" {
		t.Errorf("a second answer: %q", got.Again)
	}
}

func TestWidgetsAreTyped(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	var got struct {
		Widgets, Turn []struct {
			Runtime    string
			Followups  *struct{ Questions []string }
			Flashcards *struct {
				Title string
				Cards []struct{ Front, Back string }
			}
		}
		Unknown string
	}
	p.Do(&got, `
		const talk = await connect()
		const turn = await talk.session.sendText("Show everything")
		return {widgets: talk.all("widget"), turn: turn.widgets, unknown: turn.segments.find(({type}) => type === "weather").content}`)
	for what, widgets := range map[string][]struct {
		Runtime    string
		Followups  *struct{ Questions []string }
		Flashcards *struct {
			Title string
			Cards []struct{ Front, Back string }
		}
	}{"events": got.Widgets, "turn": got.Turn} {
		if len(widgets) != 2 || widgets[0].Followups == nil || widgets[1].Flashcards == nil {
			t.Errorf("%s: %+v", what, widgets)
			continue
		}
		if q := widgets[0].Followups.Questions; !slices.Equal(q, []string{"And then?", "Why?"}) {
			t.Errorf("%s: questions %q", what, q)
		}
		if c := widgets[1].Flashcards; c.Title != "Words" || len(c.Cards) != 1 || c.Cards[0].Front != "thread" || c.Cards[0].Back != "a dialogue" {
			t.Errorf("%s: flashcards %+v", what, c)
		}
	}
	if got.Unknown != "sunny" {
		t.Errorf("the unknown segment says %q", got.Unknown)
	}
}

func TestErrorSegmentsFailOrWarnOrAreReturned(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	type outcome struct{ Code, Partial, Text, Warning string }
	var got struct {
		Thrown, Denied, Warned, Once, Returned outcome
		State                                  string
	}
	p.Call(&got, "turn.js", "errorSegmentsFailOrWarnOrAreReturned")
	const said, reason = "So far so good.", "the model is down"
	for what, c := range map[string]struct{ got, want outcome }{
		"thrown": {got.Thrown, outcome{Code: "stream_error", Partial: said}},
		"denied": {got.Denied, outcome{Code: "thread_access_denied"}},
		"warned": {got.Warned, outcome{Text: said, Partial: reason, Warning: "stream_error"}},
		"once":   {got.Once, outcome{Code: "stream_error", Partial: said}},
		"return": {got.Returned, outcome{Text: said, Partial: reason}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", what, c.got, c.want)
		}
	}
	if got.State != "connected" {
		t.Errorf("a failed turn leaves the session %s", got.State)
	}
}

func TestADialogueIsResumedByItsThread(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	var got struct{ Same, Other, Resumed, Fresh string }
	p.Do(&got, `
		const init = {token: (await arrive()).ks}
		const first = await connect({init})
		await first.session.sendText("My name is Sam")
		const {threadId} = first.session
		first.session.disconnect({final: false})
		const second = await connect({init, threadId})
		const {text} = await second.session.sendText("What is my name?")
		const fresh = await connect({kickoff: "What is my name?"})
		await fresh.until("turnEnd")
		return {
			same: threadId, other: second.session.threadId, resumed: text,
			fresh: fresh.all("transcript").map(({type, text}) => type + ": " + text).join(""),
		}`)
	if got.Same == "" || got.Other != got.Same || !strings.Contains(got.Resumed, "Sam") {
		t.Errorf("thread %s goes on as %s with %q", got.Same, got.Other, got.Resumed)
	}
	if strings.Contains(got.Fresh, "Sam") || !strings.HasPrefix(got.Fresh, "final: ") {
		t.Errorf("a new thread, with a kickoff: %q", got.Fresh)
	}
}
