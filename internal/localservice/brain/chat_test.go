package brain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// server is a double of an OpenAI-compatible chat server: it speaks the
// streamed API and plays one reply for each request.
type server struct {
	*httptest.Server
	requests chan map[string]any
}

// chunk is one event of a streamed reply with that delta.
func chunk(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = fmt.Sprintf("%q", finish)
	}
	return fmt.Sprintf(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, reason)
}

func text(s string) string { return chunk(fmt.Sprintf(`{"content":%q}`, s), "") }

const done = "data: [DONE]\n\n"

func serveChat(t *testing.T, replies ...func(w http.ResponseWriter, r *http.Request)) (*Chat, *server) {
	t.Helper()
	e := &server{requests: make(chan map[string]any, len(replies)+2)}
	next := 0
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer key" || body["stream"] != true {
			t.Errorf("request %s, authorization %q, stream %v", r.URL.Path, r.Header.Get("Authorization"), body["stream"])
		}
		e.requests <- body
		reply := replies[min(next, len(replies)-1)]
		next++
		reply(w, r)
	}))
	chat := NewChat(endpoint.Endpoint{BaseURL: e.URL + "/v1", Key: "key", Model: "test-model"}, e.Client(), nil, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		e.Close()
	})
	return chat, e
}

// streams is a reply of these events.
func streams(events ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range events {
			io.WriteString(w, event) //nolint:errcheck // the test fails for want of an answer
			w.(http.Flusher).Flush()
		}
	}
}

func roles(request map[string]any) string {
	var list []string
	for _, m := range request["messages"].([]any) {
		message := m.(map[string]any)
		list = append(list, fmt.Sprintf("%s: %v", message["role"], message["content"]))
	}
	return strings.Join(list, "\n")
}

func TestChatStreamsTheAnswer(t *testing.T) {
	chat, e := serveChat(t, streams(chunk(`{"role":"assistant","content":""}`, ""), text("Two things "), text("changed."), chunk(`{}`, "stop"), done))
	chat.knowledge = knowledge(t)
	profile := store.DefaultProfile()
	profile.BaseDirective = "You talk to {{ user_name }}."
	out := &tape{}
	answer(t, chat, &Question{
		Text: "Which agents are built in?", Profile: profile, Avatar: true, Vars: map[string]any{"user_name": "Sam"},
		History: []Line{{Text: "Hello"}, {Agent: true, Text: "Hello!"}},
	}, out)
	if out.text != "Two things changed." || out.pieces < 2 {
		t.Errorf("answer %q in %d pieces", out.text, out.pieces)
	}
	request := <-e.requests
	expect.Equal(t, request["model"], "test-model", "model")
	got := roles(request)
	if !strings.HasPrefix(got, "system: You talk to Sam.\nYour answer is spoken by an avatar") ||
		!strings.Contains(got, "There are six:\n\n- `receptionist`") ||
		!strings.HasSuffix(got, "\nuser: Hello\nassistant: Hello!\nuser: Which agents are built in?") {
		t.Errorf("messages\n%s", got)
	}
}

func TestChatPromptDependsOnVoiceOrText(t *testing.T) {
	for _, tt := range []struct {
		q    Question
		want string
	}{
		{Question{Avatar: true, Experience: avatarOnly}, "spoken by an avatar"},
		{Question{Avatar: true, Experience: markdown}, "spoken by an avatar"},
		{Question{Experience: avatarOnly}, "spoken by an avatar"},
		{Question{}, "may use Markdown."},
		{Question{Experience: summarization}, "may use Markdown. Preferred form of the answer: summarization."},
	} {
		chat, e := serveChat(t, streams(text("Yes."), chunk(`{}`, "stop"), done))
		tt.q.Text, tt.q.Profile = "Hello", store.DefaultProfile()
		answer(t, chat, &tt.q, &tape{})
		system, _, _ := strings.Cut(roles(<-e.requests), "\nuser: ")
		if !strings.Contains(system, tt.want) {
			t.Errorf("%+v: %s", tt.q, system)
		}
	}
}

func TestChatRunsTools(t *testing.T) {
	call := func(delta string) string { return chunk(`{"tool_calls":[`+delta+`]}`, "") }
	chat, e := serveChat(t,
		streams(
			call(`{"index":0,"id":"call-1","type":"function","function":{"name":"save_note","arguments":""}}`),
			call(`{"index":0,"function":{"arguments":"{\"note\":"}}`), call(`{"index":0,"function":{"arguments":" \"x\"}"}}`),
			call(`{"index":1,"id":"call-2","type":"function","function":{"name":"nonsense","arguments":"{}"}}`),
			call(`{"index":2,"id":"call-3","type":"function","function":{"name":"go_to_page","arguments":"[4]"}}`),
			chunk(`{}`, "tool_calls"), done,
		),
		streams(text("Saved."), chunk(`{}`, "stop"), done),
	)
	out := &tape{results: map[string]Result{"save_note": {json.RawMessage(`{"status":"ok"}`), true}}}
	answer(t, chat, &Question{Text: "Save x", Profile: tools()}, out)
	if out.text != "Saved." || strings.Join(out.log, "\n") != `call save_note {"note":"x"} client wait=true 10s` {
		t.Errorf("said %q, calls %q", out.text, out.log)
	}
	first := <-e.requests
	var offered []string
	for _, tool := range first["tools"].([]any) {
		offered = append(offered, tool.(map[string]any)["function"].(map[string]any)["name"].(string))
	}
	expect.Equal(t, strings.Join(offered, " "), "save_note go_to_page bill", "offered")
	got := roles(<-e.requests)
	if want := "tool: {\"status\":\"ok\"}\ntool: {\"error\":\"there is no such tool\"}\ntool: {\"error\":\"the arguments are not a JSON object\"}"; !strings.HasSuffix(got, want) {
		t.Errorf("messages\n%s\nwant at the end\n%s", got, want)
	}
}

func TestChatFailures(t *testing.T) {
	const sorry = "The language model could not be reached."
	for _, tt := range []struct {
		name  string
		reply func(http.ResponseWriter, *http.Request)
		text  string
		want  string
	}{
		{"refused", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(401)
			io.WriteString(w, `{"error":{"message":"bad key sk-123","type":"auth"}}`) //nolint:errcheck // see above
		}, "", sorry},
		{"error in the stream", streams(text("Well, "), "data: {\"error\":{\"message\":\"overloaded\"}}\n\n"), "Well, ", sorry},
		{"not JSON", streams("data: nonsense\n\n"), "", sorry},
		{"broken off", streams(text("Well, ")), "Well, ", sorry},
		{"empty", streams(done), "", sorry},
		{"a piece of no tool call", streams(chunk(`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`, "tool_calls"), done), "", sorry},
		{"tools for ever", streams(
			chunk(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"go_to_page","arguments":"{\"page\":1}"}}]}`, ""),
			chunk(`{}`, "tool_calls"), done,
		), "", tooManyTools},
		{"very many tools", func(w http.ResponseWriter, r *http.Request) {
			for i := 0; r.Context().Err() == nil; i++ {
				fmt.Fprint(w, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"name":"go_to_page"}}]}`, i), ""))
			}
		}, "", tooManyTools},
		{"arguments for ever", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"`+strings.Repeat("x", 1000)+`"}}]}`, ""))
			}
		}, "", tooLongCalls},
		{"a line for ever", func(w http.ResponseWriter, r *http.Request) {
			for part := strings.Repeat("x", 1<<20); r.Context().Err() == nil; {
				fmt.Fprint(w, part)
			}
		}, "", sorry},
	} {
		t.Run(tt.name, func(t *testing.T) {
			replies := make([]func(http.ResponseWriter, *http.Request), maxRounds)
			for i := range replies {
				replies[i] = tt.reply
			}
			chat, _ := serveChat(t, replies...)
			out := &tape{}
			err := chat.Answer(t.Context(), &Question{Text: "x", Profile: tools()}, out)
			var failure *Failure
			if !errors.As(err, &failure) || failure.Message != tt.want || out.text != tt.text {
				t.Errorf("error %v after %q, want %q after %q", err, out.text, tt.want, tt.text)
			}
		})
	}
}

// TestChatShowsPictures to the model, with what each shows; a model that can't see is
// asked without them, also after a tool.
func TestChatShowsPictures(t *testing.T) {
	q := func() *Question {
		return &Question{Text: "What is this?", Screen: picture(t), Camera: []byte("\xff\xd8\xff camera"), Profile: tools()}
	}
	calls := streams(chunk(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"save_note","arguments":"{}"}}]}`, ""), chunk(`{}`, "tool_calls"), done)
	says := streams(text("A cat."), chunk(`{}`, "stop"), done)
	chat, e := serveChat(t, says)
	out := &tape{}
	answer(t, chat, q(), out)
	last := func() map[string]any {
		messages := (<-e.requests)["messages"].([]any)
		return messages[1].(map[string]any)
	}
	var seen []string
	for _, part := range last()["content"].([]any) {
		part := part.(map[string]any)
		if url, ok := part["image_url"].(map[string]any); ok {
			seen = append(seen, url["url"].(string)[:22])
			continue
		}
		seen = append(seen, part["text"].(string))
	}
	want := []string{"What is this?", "(A picture of the user's screen:)", "data:image/png;base64,", "(A picture of the user's camera:)", "data:image/jpeg;base64"}
	if !slices.Equal(seen, want) || out.text != "A cat." {
		t.Errorf("the model sees %q, want %q", seen, want)
	}
	results := map[string]Result{"save_note": {json.RawMessage(`{}`), true}}
	refuses := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"no vision"}}`, http.StatusBadRequest)
	}
	chat, e = serveChat(t, refuses, calls, says)
	out = &tape{results: results}
	answer(t, chat, q(), out)
	last()
	for range 2 {
		if got, ok := last()["content"].(string); !ok || !strings.Contains(got, "What is this?\n(The user sends a picture of their screen, which you can't see.") || !strings.Contains(got, "camera") {
			t.Errorf("asked again with %v", got)
		}
	}
	expect.Equal(t, out.text, "A cat.", "answer")
	chat, _ = serveChat(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "{}", http.StatusUnauthorized) })
	var failure *Failure
	if err := chat.Answer(t.Context(), q(), &tape{}); !errors.As(err, &failure) {
		t.Errorf("error %v", err)
	}
}

func TestChatStopsInTheMiddle(t *testing.T) {
	gone := make(chan struct{})
	chat, _ := serveChat(t, func(w http.ResponseWriter, r *http.Request) {
		streams(text("Once upon "))(w, r)
		<-r.Context().Done() // the server notices that the client has left
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	out := &cancelling{cancel: cancel}
	expect.Error(t, chat.Answer(ctx, &Question{Text: "x"}, out), context.Canceled, "error")
	<-gone
}

// cancelling ends the turn at its first words.
type cancelling struct {
	tape
	cancel func()
}

func (c *cancelling) Say(piece string) error {
	c.cancel()
	return c.tape.Say(piece)
}

// built is a profile with everything that a partner can set for the prompt.
func built() store.Profile {
	p := store.DefaultProfile()
	skill := func(name, mode, condition string) store.AttachedSkill {
		return store.AttachedSkill{
			Skill: store.Skill{Name: name, Description: "About " + name + ".", Instructions: "Do " + name + " for {{ user_name }}."},
			Ref:   store.SkillRef{ID: name, Mode: mode, Condition: condition},
		}
	}
	p.BaseDirective = "Serve {{ user_name }}."
	p.Prompts = []store.Prompt{{Key: "one", HeaderTemplate: "One for {{ plan }}", Value: "First {{ plan }}."}, {Key: "two", Value: "Second."}}
	p.Glossary = "ETA: {{ eta | default('arrival') }}"
	p.Skills = []store.AttachedSkill{
		skill("refunds", store.SkillPreloaded, "plan == 'gold'"), skill("never", store.SkillPreloaded, "plan == 'silver'"),
		skill("billing", store.SkillAdhoc, ""), skill("kept", store.SkillAdhocSave, "not missing"),
	}
	return p
}

func TestChatPromptHasWhatTheAgentWasGiven(t *testing.T) {
	chat, e := serveChat(t, streams(text("Yes."), chunk(`{}`, "stop"), done))
	answer(t, chat, &Question{
		Text: "Hello", Profile: built(), Vars: map[string]any{"user_name": "Sam", "plan": "gold"}, LoadedSkills: []string{"kept"},
		Started: []store.ToolResult{{Tool: "weather", Result: json.RawMessage(`{"temp":21}`)}},
	}, &tape{})
	system, _, _ := strings.Cut(roles(<-e.requests), "\nuser: ")
	want := "system: Serve Sam.\n\n## One for gold\nFirst gold.\n\nGlossary:\nETA: arrival\n\nSkill refunds:\nDo refunds for Sam.\n\nSkill kept:\nDo kept for Sam.\n\n" +
		"Skills that load_skill loads when you need one:\n- billing: About billing.\n\n" +
		"Result of the tool weather, which ran when the conversation began: {\"temp\":21}\nYour answer is read"
	if !strings.HasPrefix(system, want) {
		t.Errorf("prompt\n%s\nwant\n%s", system, want)
	}
}

func TestChatLoadsSkills(t *testing.T) {
	load := func(id, name string) string {
		return chunk(fmt.Sprintf(`{"tool_calls":[{"index":%s,"id":"c%s","type":"function","function":{"name":"load_skill","arguments":"{\"name\":\"%s\"}"}}]}`, id, id, name), "")
	}
	chat, e := serveChat(t,
		streams(load("0", "billing"), load("1", "kept"), load("2", "never"), chunk(`{}`, "tool_calls"), done),
		streams(text("Loaded."), chunk(`{}`, "stop"), done))
	var kept []string
	answer(t, chat, &Question{
		Text: "Hello", Profile: built(), Vars: map[string]any{"user_name": "Sam"},
		KeepSkill: func(name string) error { kept = append(kept, name); return nil },
	}, &tape{})
	if first := fmt.Sprint((<-e.requests)["tools"]); !strings.Contains(first, "enum:[billing kept]") {
		t.Errorf("offered %s", first)
	}
	if got := roles(<-e.requests); !strings.HasSuffix(got, "tool: Do billing for Sam.\ntool: Do kept for Sam.\ntool: {\"error\":\"there is no such skill\"}") {
		t.Errorf("messages\n%s", got)
	}
	expect.Equal(t, strings.Join(kept, " "), "kept", "kept %q: only skills of the mode adhoc-save stay", kept)
}

func TestChatIsConfiguredByTheIntellect(t *testing.T) {
	chat, e := serveChat(t, streams(text("Yes."), chunk(`{}`, "stop"), done))
	temperature := 0.0
	profile := store.DefaultProfile()
	profile.Model = &store.ModelConfiguration{ModelID: "other-model", MaxOutputTokens: 77, ThinkingLevel: "low", Temperature: &temperature}
	answer(t, chat, &Question{Text: "Hello", Profile: profile}, &tape{})
	request := <-e.requests
	if got := fmt.Sprintf("%v %v %v %v", request["model"], request["max_completion_tokens"], request["reasoning_effort"], request["temperature"]); got != "other-model 77 low 0.0001" {
		t.Errorf("request %v", got)
	}
	answer(t, chat, &Question{Text: "Hello", Profile: store.DefaultProfile()}, &tape{})
	request = <-e.requests
	for _, key := range []string{"max_completion_tokens", "reasoning_effort", "temperature"} {
		if request[key] != nil {
			t.Errorf("without a configuration: %s %v", key, request[key])
		}
	}
}
