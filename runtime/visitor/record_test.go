package visitor_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

func TestThreadFields(t *testing.T) {
	var thread visitor.Thread
	must.Do(t, json.Unmarshal([]byte(threadRecord), &thread))
	want := visitor.Thread{
		ID: "t-1", Title: "Trains", Status: "active", AgentID: "a-1",
		CreatedAt: "2026-01-02T03:04:05Z",
		UpdatedAt: "2026-01-02T03:04:06Z",
		Metadata:  visitor.ThreadMetadata{Analysis: map[string]any{"mood": "good"}},
		Raw:       json.RawMessage(threadRecord),
	}
	if !reflect.DeepEqual(thread, want) {
		t.Errorf("\n got %+v\nwant %+v", thread, want)
	}
}

func TestMessageFields(t *testing.T) {
	var m visitor.Message
	must.Do(t, json.Unmarshal([]byte(messageRecord), &m))
	if m.ID != "m-1" || m.ThreadID != "t-1" || m.UserID != "ann" || m.GenieID != "1001" || m.Type != "ai" ||
		m.IsPositive == nil || !*m.IsPositive || m.Text() != "At noon." || len(m.Segments) != 2 {
		t.Errorf("message %+v", m)
	}
}

// TestUnexpectedFieldsSpoilNothing: a record is readable although a field of it
// has another type than was thought.
func TestUnexpectedFieldsSpoilNothing(t *testing.T) {
	const record = `{"id":"m-1","title":7,"genie_id":{"a":1},"created_at":[1],"is_positive":"yes","content":5,"comment":"fine"}`
	var m visitor.Message
	must.Do(t, json.Unmarshal([]byte(record), &m))
	if want := (visitor.Message{ID: "m-1", Comment: "fine", Raw: json.RawMessage(record)}); !reflect.DeepEqual(m, want) {
		t.Errorf("\n got %+v\nwant %+v", m, want)
	}
}

func TestContentForms(t *testing.T) {
	for content, want := range map[string]string{
		`"plain"`: "plain",
		`""`:      "",
		`null`:    "",
		`[]`:      "",
		`[{"type":"avatar","content":"a"},{"type":"unisphere-tool","content":"no text"},{"type":"avatar-filler","content":"b"}]`: "ab",
	} {
		var m visitor.Message
		if err := json.Unmarshal([]byte(`{"id":"m","content":`+content+`}`), &m); err != nil || m.Text() != want {
			t.Errorf("%s: %q, %v", content, m.Text(), err)
		}
	}
}

func TestTimeForms(t *testing.T) {
	want := time.Date(2026, 1, 2, 3, 4, 5, 500_000_000, time.UTC)
	for _, form := range []string{
		`"2026-01-02T03:04:05.5Z"`, `"2026-01-02T04:04:05.5+01:00"`, `"2026-01-02T03:04:05.5"`, `1767323045.5`, `1767323045500`,
	} {
		var got visitor.Time
		if err := json.Unmarshal([]byte(form), &got); err != nil || !got.Time().Equal(want) {
			t.Errorf("%s: %v, %v", form, got, err)
		}
	}
	for _, form := range []string{`null`, `""`, `"soon"`, `true`, `{}`} {
		var got visitor.Time
		if err := json.Unmarshal([]byte(form), &got); err != nil || !got.Time().IsZero() {
			t.Errorf("%s: %v, %v", form, got, err)
		}
	}
}

func TestFollowupForms(t *testing.T) {
	for form, want := range map[string]string{`"Why?"`: "Why?", `{"question":"Why?"}`: "Why?", `{"other":1}`: "", `{"question":2}`: ""} {
		var got visitor.Followup
		if err := json.Unmarshal([]byte(form), &got); err != nil || got.Text != want || string(got.Raw) != form {
			t.Errorf("%s: %+v, %v", form, got, err)
		}
	}
}

func TestStatusFields(t *testing.T) {
	for form, want := range map[string]struct{ consent, avatar, identified bool }{
		`{"aiConsent":true,"avatar":{"id":"x"},"identifiedUser":true}`: {true, true, true},
		`{"aiConsent":false,"avatar":null,"identifiedUser":false}`:     {},
		`{"aiConsent":"unknown"}`:                                      {},
	} {
		var got visitor.Status
		must.Do(t, json.Unmarshal([]byte(form), &got))
		if got.AIConsent != want.consent || got.HasAvatar() != want.avatar || got.IdentifiedUser != want.identified {
			t.Errorf("%s: %+v", form, got)
		}
	}
}

// TestRecordsMadeByHand become JSON too.
func TestRecordsMadeByHand(t *testing.T) {
	const at = visitor.Time("2026-01-02T00:00:00Z")
	for _, test := range []struct {
		record any
		want   string
	}{
		{
			visitor.Thread{ID: "t", CreatedAt: at, UpdatedAt: at, Metadata: visitor.ThreadMetadata{Analysis: map[string]any{"mood": "good"}}},
			`{"id":"t","title":"","status":"","created_at":"2026-01-02T00:00:00Z",` +
				`"updated_at":"2026-01-02T00:00:00Z","agent_id":"","thread_metadata":{"analysis":{"mood":"good"}}}`,
		},
		{visitor.Followup{Text: "Why?"}, `"Why?"`},
	} {
		if got, err := json.Marshal(test.record); err != nil || string(got) != test.want {
			t.Errorf("got %s, %v; want %s", got, err, test.want)
		}
	}
}

func TestTurns(t *testing.T) {
	turn := func(role, text string) visitor.Turn { return visitor.Turn{Role: role, Text: text} }
	for text, want := range map[string][]visitor.Turn{
		"":                           {},
		"\n":                         {},
		"human: a\nai: b":            {turn("human", "a"), turn("ai", "b")},
		"human: a\r\nai: b\r\n":      {turn("human", "a"), turn("ai", "b")},
		"human:a":                    {turn("human", "a")},
		"human:":                     {turn("human", "")},
		"ai: one\n\ntwo\nhuman: x":   {turn("ai", "one\n\ntwo"), turn("human", "x")},
		"before\nai: x":              {turn("", "before"), turn("ai", "x")},
		"aim: x":                     {turn("", "aim: x")},
		"\n\nbefore\r\n\r\nit\nai:x": {turn("", "before\n\nit"), turn("ai", "x")},
		// Joined line by line it took minutes.
		"ai: " + strings.Repeat("\n", 1<<20) + "x": {turn("ai", strings.Repeat("\n", 1<<20)+"x")},
	} {
		data := must.Get(json.Marshal(text))(t)
		c, _ := newClient(t, visitor.Options{}, ok(`{"status":"success","data":`+string(data)+`}`))
		got, err := c.Transcript(t.Context(), "t-1")
		if err != nil || got.Text != text || !reflect.DeepEqual(got.Turns, want) {
			t.Errorf("%.100q: %.1000v, %v", text, got, err)
		}
	}
}
