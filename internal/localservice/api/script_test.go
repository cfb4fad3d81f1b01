package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// scripted is a brain that plays a script alone, without pauses between pieces.
func scripted(t *testing.T, text string) brain.Brain {
	t.Helper()
	script := must.Get(brain.ParseScript([]byte(text)))(t)
	return &brain.Scripted{Script: script, Fallback: &brain.Demo{}}
}

// everything is a stream with whatever a client may meet.
const everything = `
rules:
  - when: {any: true}
    steps:
      - say: Before.
      - think: thinking
      - tool: {name: ping, wait: false}
      - fused: [{name: a, args: {n: 1}}, {name: b, args: {n: 2}}]
      - widget: {runtime: sources-tool, fragments: ['{"sources":', '[]}']}
      - segment: {type: error, content: "It broke, but goes on."}
      - segment: {type: interruption, content: {auth_url: "https://x.test"}, metadata: {subtype: oauth_required}}
      - segment: {type: python, content: "a fence that the model made up"}
      - segment: {type: user-interruption}
      - keepalive: true
      - raw: "this is no JSON\r\n\n"
      - raw: ": a comment of an event stream\n"
      - say: After.
      - error: The end.
`

func TestScriptsMakeEveryKindOfLine(t *testing.T) {
	v := serve(t, scripted(t, everything), nil)
	ks := v.conversation(store.Receptionist, "ann")
	for _, sse := range []string{"false", "true"} {
		got := v.post("/assistant/converse", ks, `{"userMessage":"x","sse":`+sse+`,"capabilities":{"think_process":"on","avatar":"on"}}`)
		var shapes []string
		for line := range strings.Lines(got.body) {
			line = strings.TrimRight(line, "\n")
			var seg converse.Segment
			switch err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &seg); {
			case err == nil:
				shapes = append(shapes, shape(seg))
			case line != "" || sse == "false": // empty lines end an event
				shapes = append(shapes, line)
			}
		}
		want := []string{
			`0 think start ""`,
			`1 avatar start "Before."`,
			`1 avatar end ""`,
			`2 think "thinking"`,
			`3 tool "ping {}"`,
			`4 tool_response "ping responded with size 23"`,
			`5 tool "b {\"n\":1}{\"n\":2}"`,
			`6 tool_response "a responded with size 23"`,
			`7 tool_response "b responded with size 23"`,
			`8 unisphere-tool start "{\"sources\":"`,
			`8 unisphere-tool end "[]}"`,
			`9 error "It broke, but goes on."`,
			`10 interruption {"auth_url":"https://x.test"}`,
			`11 python "a fence that the model made up"`,
			`12 user-interruption ""`,
			`13 keepalive ""`,
			"this is no JSON\r",
			"",
			": a comment of an event stream",
			`14 avatar start "After."`,
			`14 avatar end ""`,
			`15 error final "The end."`,
			"data: [DONE]",
		}
		if sse == "true" {
			want = append(want[:17], want[18:]...)
		} else {
			want = want[:len(want)-1]
		}
		if strings.Join(shapes, "\n") != strings.Join(want, "\n") {
			t.Errorf("sse %s:\n%s\nwant\n%s", sse, strings.Join(shapes, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestCutStreamIsBrokenForTheClient(t *testing.T) {
	v := serve(t, scripted(t, `rules: [{when: {exact: x}, steps: [{say: Half}, {cut: true}, {say: never}]}]`), nil)
	ks := v.conversation(store.Receptionist, "ann")
	response := must.Get(http.DefaultClient.Do(v.request("POST", "/assistant/converse", ks, "application/json", `{"userMessage":"x"}`)))(t)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(string(text), `"Half"`) || strings.Contains(string(text), "never") {
		t.Errorf("error %v after %s", err, text)
	}
	var first converse.Segment
	line, _, _ := strings.Cut(string(text), "\n")
	must.Do(t, json.Unmarshal([]byte(line), &first))
	// What came is in the thread, as after any other end (local-service choice E3).
	if next := v.ask(ks, first.ThreadID, "What did you just say?"); next.text != "I said: Half" {
		t.Errorf("the next turn: %q", next.text)
	}
}

// A pause is filled with keepalives, a stall with nothing.
// TestStallIsSilent: a stall stops keepalives too, unlike a pause.
func TestStallIsSilent(t *testing.T) {
	for step, want := range map[string]int{"pause": 3, "stall": 0} {
		b := scripted(t, `rules: [{when: {any: true}, steps: [{raw: a}, {`+step+`: 35000}, {raw: b}]}]`)
		synctest.Test(t, func(t *testing.T) {
			s := &server{}
			reply := httptest.NewRecorder()
			began := time.Now()
			err := s.pump(t.Context(), s.newStream(reply, false), func(ctx context.Context, do func(act) error) error {
				return b.Answer(ctx, &brain.Question{Wire: &wire{ctx, do}}, nil)
			})
			got := reply.Body.String()
			if err != nil || time.Since(began) != 35*time.Second || got[0] != 'a' || got[len(got)-1] != 'b' {
				t.Errorf("%s: %q after %v, %v", step, got, time.Since(began), err)
			}
			expect.Equal(t, strings.Count(got, `"keepalive"`), want, "%s keepalives", step)
		})
	}
}

func TestEndlessStreamEndsWithItsClient(t *testing.T) {
	v := serve(t, scripted(t, `rules: [{when: {exact: x}, steps: [{repeat: {steps: [{segment: {type: text, content: "word "}}]}}]}]`), nil)
	ks := v.conversation(store.Receptionist, "ann")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response, threadID := v.stream(ctx, ks, "word ")
	in := lines(response.Body)
	for n := 0; n < 10_000; n++ { // more than is kept of it
		if !in.Scan() {
			t.Fatalf("ended after %d lines: %v", n, in.Err())
		}
	}
	cancel()
	response.Body.Close()
	// The next turn waits until this one has left the thread.
	if next := v.ask(ks, threadID, "What did I just say?"); next.text != "You said: x" {
		t.Errorf("the next turn: %q", next.text)
	}
	history, err := v.store.History(t.Context(), threadID, 10)
	if err != nil || len(history) < 2 || len(history[1].Text()) > 64<<10 {
		t.Errorf("%d messages, %v: what is kept has no bound", len(history), err)
	}
}
