package brain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/store/storetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// tape records what a brain says, and answers its tool calls.
type tape struct {
	text    string
	log     []string // everything but text
	results map[string]Result
	pieces  int
	allowed bool // the user has given every consent
}

func (t *tape) Say(piece string) error {
	t.pieces++
	t.text += piece
	return nil
}

func (t *tape) note(format string, args ...any) error {
	t.log = append(t.log, fmt.Sprintf(format, args...))
	return nil
}

func (t *tape) Think(text string) error  { return nil }
func (t *tape) Filler(text string) error { return t.note("filler %s", text) }
func (t *tape) Title(text string) error  { return t.note("title %s", text) }
func (t *tape) Share(can bool) error     { return t.note("share %t", can) }

func (t *tape) Widget(runtime string, fragments ...string) error {
	return t.note("widget %s %s", runtime, strings.Join(fragments, "|"))
}

func (t *tape) Consented(string) bool { return t.allowed }

func (t *tape) AskConsent(tool, name string) error { return t.note("consent %s %s", tool, name) }

func (t *tape) Raw(seg converse.Segment) error {
	return t.note("raw %s %s", seg.Type, seg.ContentString())
}

func (t *tape) Call(_ context.Context, calls ...Call) ([]Result, error) {
	var results []Result
	line := "call"
	for _, c := range calls {
		line += fmt.Sprintf(" %s %s %s wait=%t %v", c.Tool.Name, c.Args, c.Tool.Type, c.Tool.WaitForResponse, c.Tool.Timeout())
		result, ok := t.results[c.Tool.Name]
		if !ok {
			result.Response = json.RawMessage(`{"status":"timeout"}`)
		}
		results = append(results, result)
	}
	return results, t.note("%s", line)
}

func answer(t *testing.T, b Brain, q *Question, out *tape) {
	t.Helper()
	must.Do(t, b.Answer(t.Context(), q, out))
}

// tools are the tools of the built-in agent of that name.
func tools() store.Profile {
	p := store.DefaultProfile()
	p.Tools = []store.ToolDef{
		{
			Name: "save_note", ToolConfig: store.ToolConfig{Type: store.ClientTool, WaitForResponse: true, TimeoutSeconds: 10},
			Parameters: json.RawMessage(`{"type":"object","properties":{"note":{"type":"string"}},"required":["note"]}`),
		},
		{
			Name: "go_to_page", ToolConfig: store.ToolConfig{Type: store.ClientTool},
			Parameters: json.RawMessage(`{"type":"object","properties":{"page":{"type":"integer"}},"required":["page"]}`),
		},
		{Name: "bill", ToolConfig: store.ToolConfig{Type: store.CodeTool}},
	}
	return p
}

func knowledge(t *testing.T) *store.Store {
	t.Helper()
	s, _ := storetest.Open(t)
	passages := must.Get(ReadKnowledge(DefaultKnowledge()))(t)
	must.Do(t, s.SetDocuments(t.Context(), passages))
	return s
}

func TestDemoAnswers(t *testing.T) {
	history := []Line{
		{Agent: true, Text: "Hello! My name is Alex."},
		{Text: "Good morning"},
		{Agent: true, Text: "Good morning!"},
		{Text: "My name is Zoë, by the way"},
		{Text: "Lovely weather"},
	}
	for _, tt := range []struct {
		name string
		q    Question
		want string
	}{
		{"introduction", Question{Text: "Who are you?"}, "I'm Alex, a small demo brain without a language model."},
		{"greeting", Question{Text: "Hello there!"}, "Hello! I'm Alex, a small demo brain"},
		{"name given", Question{Text: "Hi, my name is Sam."}, "Nice to meet you, Sam."},
		{"name remembered", Question{Text: "What is my name?", History: history}, "Your name is Zoë."},
		{"name from the page", Question{Text: "Do you know my name?", Vars: map[string]any{"user_name": "Kim"}}, "Your name is Kim."},
		{"name unknown", Question{Text: "What's my name?"}, "You haven't told me your name yet."},
		{"first words", Question{Text: "What did I say first?", History: history}, "The first thing you said was: Good morning"},
		{"last words", Question{Text: "What did I just say?", History: history}, "You said: Lovely weather"},
		{"documents", Question{Text: "Is the demo brain an AI?"}, "No. The demo brain is a small program without a language model."},
		{"honest", Question{Text: "Xylophones?"}, "I'm only a demo without a language model, so I can't answer that. You said: Xylophones?"},
		{"unheard", Question{Trigger: TriggerUnheard}, "I heard you speak, but no speech recogniser is set up here"},
		{"no picture", Question{Text: "What is on my screen?"}, "I'm only a demo"},
		{"broken picture", Question{Text: "What is on my screen?", Screen: []byte("x")}, "I received a picture of your screen, but I can't read it."},
		{"picture", Question{Text: "What is on my screen?", Screen: picture(t)}, "I received a picture of your screen, a PNG of 4 by 3 pixels."},
		{"camera", Question{Text: "What does my camera see?", Camera: picture(t)}, "I received a picture of your camera, a PNG of 4 by 3 pixels."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.q.Profile = store.DefaultProfile()
			out := &tape{}
			answer(t, &Demo{Knowledge: knowledge(t)}, &tt.q, out)
			if !strings.HasPrefix(out.text, tt.want) {
				t.Errorf("answer %q, want %q", out.text, tt.want)
			}
		})
	}
}

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 3))))
	return b.Bytes()
}

func TestDemoShowsSourcesAndFollowups(t *testing.T) {
	s := knowledge(t)
	profile := store.DefaultProfile()
	profile.Starters = []string{"What is agentruntime?", "What can you do?"}
	ask := func(capabilities map[string]string) []string {
		out := &tape{}
		answer(t, &Demo{Knowledge: s}, &Question{
			Text: "What is agentruntime?", Profile: profile, Avatar: true, Capabilities: Layer(capabilities, nil),
		}, out)
		return out.log
	}
	got := ask(map[string]string{AvatarFiller: On})
	if len(got) != 3 || got[0] != "filler Let me look that up. " ||
		!strings.HasPrefix(got[1], `widget sources-tool {"sources":[{"title":"agentruntime: What is agentruntime?","url":"/knowledge/agentruntime.md","snippet":"agentruntime puts`) ||
		!strings.HasPrefix(got[2], "widget followups-tool questions:|\n- \"") || strings.Contains(got[2], "What is agentruntime?") {
		t.Errorf("widgets %q", got)
	}
	expect.Len(t, ask(map[string]string{Sources: Off, Followups: Disabled}), 0, "widgets with the capabilities off")
	out := &tape{}
	answer(t, &Demo{Knowledge: s}, &Question{Text: "agentruntime?", Profile: profile, Capabilities: Layer(map[string]string{UseKnowledge: Off}, nil)}, out)
	if !strings.HasPrefix(out.text, "I'm only a demo") {
		t.Errorf("answered from documents that are off: %q", out.text)
	}
}

func TestDemoCallsTools(t *testing.T) {
	for _, tt := range []struct {
		text   string
		result Result
		call   string // "" for none
		answer string
	}{
		{
			"Use the tool save_note with buy milk",
			Result{json.RawMessage(`{"status":"ok","id":7}`), true},
			`call save_note {"note":"buy milk"} client wait=true 10s`, "One moment. The page answered save_note: id 7, status ok.",
		},
		{
			`save_note {"note": "a", "tag": [1]}`,
			Result{json.RawMessage(`{}`), true},
			`call save_note {"note":"a","tag":[1]} client wait=true 10s`, "One moment. The page answered save_note: nothing.",
		},
		{
			"Please save a note: call back!",
			Result{json.RawMessage(`{"status":"timeout"}`), false},
			`call save_note {"note":"call back"} client wait=true 10s`, "One moment. The page did not answer save_note in time, so I'll go on without it.",
		},
		{
			"Go to page 4, please.",
			Result{},
			`call go_to_page {"page":4} client wait=false 30s`, "One moment. I asked the page to run go_to_page.",
		},
		{"Go home to the last page", Result{}, "", ""},
		{"Save my time", Result{}, "", ""},
		{"bill me", Result{}, `call bill {} code wait=false 30s`, "One moment. I asked the service to run bill."},
	} {
		out := &tape{results: map[string]Result{}}
		if tt.result.Response != nil {
			out.results["save_note"] = tt.result
		}
		answer(t, &Demo{}, &Question{Text: tt.text, Profile: tools(), Capabilities: Layer(map[string]string{Followups: Off}, nil)}, out)
		expect.Equal(t, strings.Join(out.log, "\n"), tt.call, "%q", tt.text)
		if tt.answer != "" && out.text != tt.answer {
			t.Errorf("%q: %q, want %q", tt.text, out.text, tt.answer)
		}
	}
}

// The vectors are also those of the management client's previews and of the service in pages'
// tests.
func TestRender(t *testing.T) {
	data := must.Get(os.ReadFile("../../template/testdata/rendered.json"))(t)
	var vectors struct {
		Vars     map[string]any    `json:"vars"`
		Rendered map[string]string `json:"rendered"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors.Rendered) == 0 {
		t.Fatal(err, vectors)
	}
	for template, want := range vectors.Rendered {
		expect.Equal(t, Render(template, vectors.Vars), want, "%q", template)
	}
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{"", "{{", "{{}}", "{{ a | default('x') }}", "}}{{", "{{{{ a }}}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, template string) {
		got := Render(template, map[string]any{"a": "value"})
		if !strings.Contains(template, "{{") && got != template {
			t.Errorf("%q became %q", template, got)
		}
	})
}

func TestLayeringOfCapabilities(t *testing.T) {
	for _, tt := range []struct {
		name, stored, client string
		want                 bool
	}{
		{Followups, "", "", true},
		{Followups, "off", "", false},
		{Followups, "off", "on", true},
		{Followups, "disabled", "on", false},
		{Followups, "on", "off", false},
		{Followups, "", "disabled", false},
		{Followups, "on", "nonsense", true},
		{ThinkProcess, "", "", false},
		{ThinkProcess, "", "on", true},
		{ThinkProcess, "disabled", "on", false},
		{"something_new", "", "", true},
	} {
		layer := func(state string) map[string]string {
			if state == "" {
				return nil
			}
			return map[string]string{tt.name: state}
		}
		expect.Equal(t, Layer(layer(tt.stored), layer(tt.client)).On(tt.name), tt.want, "%s stored %q, client %q", tt.name, tt.stored, tt.client)
	}
}

func TestReadKnowledge(t *testing.T) {
	folder := fstest.MapFS{
		"a.md":       {Data: []byte("# Title\nIntro with a [link](https://x.test) and **bold**.\n\n## One `more`\n- item\r\n- second\n\n```\n# no heading\n```\n\n### Empty\n#hashtag\n")},
		"sub/b.MD":   {Data: []byte("No heading here.")},
		"ignored.go": {Data: []byte("package x")},
	}
	passages := must.Get(ReadKnowledge(folder))(t)
	var got []string
	for _, p := range passages {
		got = append(got, strings.Join([]string{p.Title, p.Heading, p.Body, p.Source}, "/"))
	}
	want := []string{
		"Title//Intro with a [link](https://x.test) and **bold**./a.md",
		"Title/One more/- item\n- second\n\n```\n# no heading\n```/a.md",
		"Title/Empty/#hashtag/a.md",
		"b//No heading here./sub/b.MD",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	folder["huge.md"] = &fstest.MapFile{Data: make([]byte, maxDocument+1)}
	if _, err := ReadKnowledge(folder); err == nil || !strings.Contains(err.Error(), "huge.md") {
		t.Errorf("huge file: %v, want an error that names it", err)
	}
}

func TestDemoKnowsItsSkills(t *testing.T) {
	profile := built()
	for question, want := range map[string]string{
		"How do Refunds work?": "My skill refunds says: Do refunds for Sam.", "What about billing?": "My skill billing says: Do billing for Sam.",
		"And never?": "I'm only a demo",
	} {
		out := &tape{}
		answer(t, &Demo{}, &Question{
			Text: question, Profile: profile, Vars: map[string]any{"user_name": "Sam", "plan": "gold"},
			Capabilities: Layer(map[string]string{Followups: Off, UseKnowledge: Off}, nil),
		}, out)
		if !strings.HasPrefix(out.text, want) {
			t.Errorf("%q: %q, want %q", question, out.text, want)
		}
	}
}
