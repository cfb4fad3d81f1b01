package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// twoThings is a brain with a short answer and follow-ups, as in protocol
// §9.3.
var twoThings = brainFunc(func(_ context.Context, _ *brain.Question, out brain.Sink) error {
	return errors.Join(
		out.Say("Two things "), out.Say("changed."),
		out.Widget("followups-tool", "questions:\n- \"Show the", " first one?\""),
	)
})

// shape writes a segment as its type, number, flags and content.
func shape(seg converse.Segment) string {
	text := fmt.Sprintf("%d %s", seg.SegmentNumber, seg.Type)
	for _, flag := range []struct {
		set  bool
		name string
	}{{seg.SegmentStart, "start"}, {seg.SegmentEnd, "end"}, {seg.IsFinal, "final"}} {
		if flag.set {
			text += " " + flag.name
		}
	}
	content, err := json.Marshal(seg.Content)
	if err != nil {
		return err.Error()
	}
	return text + " " + string(content)
}

var twoThingsShape = []string{
	`0 think start ""`,
	`1 text start "Two things "`,
	`1 text "changed."`,
	`1 text end ""`,
	`2 unisphere-tool start "questions:\n- \"Show the"`,
	`2 unisphere-tool end " first one?\""`,
	`3 thread "What is new?"`,
	`4 share start end {"canShare":true}`,
	`5 think final ""`,
}

func TestConverseStreams(t *testing.T) {
	v := serve(t, twoThings, nil)
	ks := v.conversation(store.Receptionist, "ann")
	for _, tt := range []struct {
		name, body, contentType, begin, end string
	}{
		{"NDJSON", `{"userMessage":"What is new?"}`, "application/x-ndjson; charset=utf-8", `{"role":"assistant","type":"think"`, "}"},
		{"SSE", `{"userMessage":"What is new?","sse":true}`, "text/event-stream; charset=utf-8", `data: {"role":"assistant","type":"think"`, "data: [DONE]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := v.post("/assistant/converse", ks, tt.body)
			expect.Equal(t, got.header.Get("Content-Type"), tt.contentType, "content type")
			if buffering := got.header.Get("X-Accel-Buffering"); buffering != "no" { // else nginx sends a short answer at its end
				t.Errorf("X-Accel-Buffering is %q, want no", buffering)
			}
			if !strings.HasPrefix(got.body, tt.begin) || !strings.HasSuffix(got.body, tt.end) {
				t.Errorf("framing of %s", got.body)
			}
			result := v.parse(got)
			var shapes []string
			for i, seg := range result.segments {
				shapes = append(shapes, shape(seg))
				if seg.Role != "assistant" || (seg.ThreadID != "") != (i == 0) || (seg.MessageID != "") != (i == 0) {
					t.Errorf("segment %d: role %q, thread %q, message %q", i, seg.Role, seg.ThreadID, seg.MessageID)
				}
			}
			if strings.Join(shapes, "\n") != strings.Join(twoThingsShape, "\n") {
				t.Errorf("segments\n%s\nwant\n%s", strings.Join(shapes, "\n"), strings.Join(twoThingsShape, "\n"))
			}
			widget := result.segments[4].Metadata
			if widget == nil || widget.WidgetName != "unisphere.widget.genie" || widget.RuntimeName != "followups-tool" {
				t.Errorf("widget metadata %+v", widget)
			}
		})
	}
}

func TestConverseValidates(t *testing.T) {
	v := serve(t, nil, nil)
	ks := v.conversation(store.Receptionist, "ann")
	for _, tt := range []struct{ body, loc, kind string }{
		{`{}`, `["body","userMessage"]`, "missing"},
		{`{"userMessage":" "}`, `["body","userMessage"]`, "string_too_short"},
		{`{"userMessage":7}`, `["body","userMessage"]`, "type_error"},
		{`{"userMessage":"` + strings.Repeat("x", 32_001) + `"}`, `["body","userMessage"]`, "string_too_long"},
		{`{"userMessage":"x","model_type":"slow"}`, `["body","model_type"]`, "literal_error"},
		{`{"userMessage":"x","force_experience":"poem"}`, `["body","force_experience"]`, "enum"},
		{`{"userMessage":"x","capabilities":{"avatar":"maybe"}}`, `["body","capabilities","avatar"]`, "enum"},
		{`{"userMessage":"x","request_vars":{"a":{"b":1}}}`, `["body","request_vars"]`, "value_error"},
		{`{"userMessage":"x","request_vars":{"sys__user_id":"root"}}`, `["body","request_vars"]`, "value_error"},
		{`{"userMessage":"x","request_vars":[1]}`, `["body","request_vars"]`, "type_error"},
		{`{"userMessage":`, `["body"]`, "json_invalid"},
	} {
		got := v.post("/assistant/converse", ks, tt.body)
		var body struct {
			Detail []struct {
				Loc  json.RawMessage
				Type string
			}
		}
		if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != 422 || len(body.Detail) != 1 {
			t.Errorf("%.60s: %d %s", tt.body, got.status, got.body)
			continue
		}
		if string(body.Detail[0].Loc) != tt.loc || body.Detail[0].Type != tt.kind {
			t.Errorf("%.60s: %s, want %s %s", tt.body, got.body, tt.loc, tt.kind)
		}
	}
}

func TestVariablesAreMergedIntoTheThread(t *testing.T) {
	var seen []string
	b := brainFunc(func(_ context.Context, q *brain.Question, out brain.Sink) error {
		seen = append(seen, brain.Render("{{ a }}/{{ b }}/{{ sys__is_new_thread }}/{{ sys__user_id }}", q.Vars))
		return out.Say("ok")
	})
	v := serve(t, b, nil)
	ks := v.conversation(store.Receptionist, "ann")
	first := v.converse(ks, `{"userMessage":"x","request_vars":{"a":1,"b":"two"}}`)
	v.converse(ks, fmt.Sprintf(`{"userMessage":"x","threadId":%q}`, first.threadID))
	v.converse(ks, fmt.Sprintf(`{"userMessage":"x","threadId":%q,"request_vars":{"b":null}}`, first.threadID))
	want := "1/two/true/ann, 1/two/false/ann, 1//false/ann"
	expect.Equal(t, strings.Join(seen, ", "), want, "variables")
}

func TestVariablesOfAnAgentWithoutThemMakeAnEmptyTurn(t *testing.T) {
	v := serve(t, nil, nil)
	ks := v.conversation(store.NoVars, "ann")
	got := v.post("/assistant/converse", ks, `{"userMessage":"hello","request_vars":{"a":1}}`)
	wantStatus(t, "NDJSON", got, 200, "")
	if got.body != "" || got.header.Get("Content-Type") != "application/x-ndjson; charset=utf-8" {
		t.Errorf("empty turn: %q, %q", got.body, got.header.Get("Content-Type"))
	}
	wantStatus(t, "SSE", v.post("/assistant/converse", ks, `{"userMessage":"hello","sse":true,"request_vars":{"a":1}}`), 200, "data: [DONE]")
	if answer := v.converse(ks, `{"userMessage":"hello"}`); answer.text == "" {
		t.Error("no answer without variables")
	}
}

// TestARefusalAfterAKeepaliveIsASegment: the status of a reply that has begun can't be set.
func TestARefusalAfterAKeepaliveIsASegment(t *testing.T) {
	for _, refused := range []error{dialogue.ErrNoPermission, dialogue.ErrTooManyVars, fmt.Errorf("disk: %w", dialogue.ErrNotStored)} {
		reply, s := httptest.NewRecorder(), &server{Config: Config{Logger: slog.New(slog.DiscardHandler)}}
		out := s.newStream(reply, false)
		must.Do(t, out.write(converse.Segment{Type: converse.Keepalive}))
		if err := s.endStream(out, refused); err != nil {
			t.Errorf("%v: would be written into the stream", err)
		}
		var last converse.Segment
		in := lines(reply.Body)
		for in.Scan() {
			must.Do(t, json.Unmarshal(in.Bytes(), &last))
		}
		if last.Type != converse.Error || !last.IsFinal {
			t.Errorf("%v: the last segment is %+v", refused, last)
		}
	}
}

// stuck is a brain that says something and then waits for the end of its context.
// Asked for what is next, it repeats what it said last.
func stuck(stopped chan<- error) brainFunc {
	return func(ctx context.Context, q *brain.Question, out brain.Sink) error {
		if q.Text == "next" {
			return out.Say("after " + q.History[len(q.History)-1].Text)
		}
		if err := out.Say("Once upon a time "); err != nil {
			return err
		}
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return ctx.Err()
	}
}

// stream starts a converse call and returns once the given text has come in.
func (v *service) stream(ctx context.Context, ks, waitFor string) (*http.Response, string) {
	v.t.Helper()
	request := must.Get(http.NewRequestWithContext(ctx, "POST", v.url+"/assistant/converse", strings.NewReader(`{"userMessage":"x"}`)))(v.t)
	request.Header.Set("Authorization", "KS "+ks)
	response := must.Get(http.DefaultClient.Do(request))(v.t)
	threadID := ""
	for in := lines(response.Body); in.Scan(); {
		var seg converse.Segment
		must.Do(v.t, json.Unmarshal(in.Bytes(), &seg))
		if seg.ThreadID != "" {
			threadID = seg.ThreadID
		}
		if string(seg.Type) == waitFor || seg.ContentString() == waitFor {
			return response, threadID
		}
	}
	v.t.Fatalf("the stream ended before %q", waitFor)
	return nil, ""
}

func TestClientAbortStopsTheBrain(t *testing.T) {
	stopped := make(chan error, 1)
	v := serve(t, stuck(stopped), nil)
	ks := v.conversation(store.Receptionist, "ann")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response, threadID := v.stream(ctx, ks, "Once upon a time ")
	cancel()
	response.Body.Close()
	expect.Error(t, <-stopped, dialogue.ErrClientGone, "the brain stopped with")
	// The partial answer stays in the thread (local-service choice E3). The next
	// turn waits until the cancelled one has left the thread.
	if next := v.ask(ks, threadID, "next"); next.text != "after Once upon a time " {
		t.Errorf("the next turn remembers %q", next.text)
	}
}

func TestAbortEndsTheTurnInGoodOrder(t *testing.T) {
	stopped := make(chan error, 1)
	v := serve(t, stuck(stopped), nil)
	ks := v.conversation(store.Receptionist, "ann")
	response, threadID := v.stream(t.Context(), ks, "Once upon a time ")
	defer response.Body.Close()
	thread := fmt.Sprintf(`{"threadId":%q}`, threadID)
	wantStatus(t, "somebody else's abort", v.post("/assistant/abort", v.conversation(store.Receptionist, "bob"), thread), 200, "{}")
	select {
	case err := <-stopped:
		t.Fatalf("somebody else stopped the turn: %v", err)
	default:
	}
	wantStatus(t, "abort", v.post("/assistant/abort", ks, thread), 200, "{}")
	<-stopped
	var shapes []string
	for in := lines(response.Body); in.Scan(); {
		var seg converse.Segment
		must.Do(t, json.Unmarshal(in.Bytes(), &seg))
		shapes = append(shapes, shape(seg))
	}
	want := `1 text end "" 2 user-interruption "" 3 think final ""`
	expect.Equal(t, strings.Join(shapes, " "), want, "after the abort")
	wantStatus(t, "abort again", v.post("/assistant/abort", ks, thread), 200, "{}")
}

func TestToolAnswerReachesTheAnswer(t *testing.T) {
	v := serve(t, nil, nil)
	ks := v.conversation(store.Tools, "ann")
	request := v.request("POST", "/assistant/converse", ks, "application/json", `{"userMessage":"Please save a note: call back"}`)
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	var shapes []string
	text := ""
	for in := lines(response.Body); in.Scan(); {
		var seg converse.Segment
		must.Do(t, json.Unmarshal(in.Bytes(), &seg))
		if seg.Type.Spoken() {
			text += seg.ContentString()
			if seg.SegmentStart {
				shapes = append(shapes, "spoken")
			}
		}
		if seg.Type == converse.ToolResponse {
			shapes = append(shapes, seg.ContentString())
		}
		if seg.Type != converse.Tool {
			continue
		}
		shapes = append(shapes, seg.ContentString())
		meta := seg.ToolMetadata
		if meta == nil || meta.Name != "save_note" || string(meta.Args) != `{"note":"call back"}` || meta.Type != "client" || !meta.WaitForResponse {
			t.Fatalf("tool metadata %+v", meta)
		}
		answer := func(name, id, invocation, result string) string {
			return fmt.Sprintf(`{"tool_name":%q,"tool_id":%q,"tool_invocation_id":%q,"response":%s}`, name, id, invocation, result)
		}
		good := answer("save_note", meta.ID, meta.ID, `{"status":"ok"}`)
		wantStatus(t, "another user", v.post("/assistant/tool_response", v.conversation(store.Tools, "bob"), good), 404, `{"message":"no such tool call"}`)
		wantStatus(t, "another name", v.post("/assistant/tool_response", ks, answer("x", meta.ID, meta.ID, "{}")), 404, "")
		wantStatus(t, "unknown id", v.post("/assistant/tool_response", ks, answer("save_note", "x", "x", "{}")), 404, "")
		wantStatus(t, "array", v.post("/assistant/tool_response", ks, answer("save_note", meta.ID, meta.ID, "[]")), 422,
			`{"detail":[{"loc":["body","response"],"msg":"Input should be a valid dictionary","type":"dict_type"}]}`)
		wantStatus(t, "no invocation id", v.post("/assistant/tool_response", ks, `{"tool_name":"a","tool_id":"b","response":{}}`), 422,
			`{"detail":[{"loc":["body","tool_invocation_id"],"msg":"Field required","type":"missing"}]}`)
		wantStatus(t, "answer", v.post("/assistant/tool_response", ks, good), 200, "{}")
		wantStatus(t, "late answer", v.post("/assistant/tool_response", ks, good), 200, "{}")
	}
	want := `spoken|save_note {"note":"call back"}|save_note responded with size 15|spoken`
	expect.Equal(t, strings.Join(shapes, "|"), want, "tool segments")
	expect.Equal(t, text, "One moment. The page answered save_note: status ok.", "answer")
}
