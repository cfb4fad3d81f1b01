package brain

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

const demoScript = `
hear: [Good morning]
rules:
  - when: {exact: [hello, "good morning"]}
    steps:
      - think: Greeting.
      - say: "Hello {{ user_name | default('there') }}."
  - when:
      contains: note
    steps:
      - filler: "One moment. "
      - tool: {name: save_note, args: {note: "from {{ user_name }}", n: [1, "{{ user_name }}"]}, wait: true, timeout: 5}
      - say: "The page said {{ tool.status }}."
      - fused:
          - {name: show_chart, args: {id: 1}}
          - {name: open_doc, args: {id: 2}, type: api}
  - when: {exact: widgets}
    steps:
      - widget: {runtime: followups-tool, fragments: ["questions:", "\n- \"More?\""]}
      - widget: {runtime: show-link-tool, body: {url: "https://x.test"}}
      - widget: {runtime: summary-tool, body: "text"}
      - segment: {type: interruption, content: {auth_url: "https://x.test"}, metadata: {subtype: oauth_required}}
      - keepalive: true
      - title: A title
      - share: false
  - when: {trigger: wake-up}
    steps: [{say: "Still there?"}]
  - when: {exact: spoiled}
    steps:
      - {repeat: {times: 2, steps: [{say: "Again. "}]}}
      - raw: "{{ user_name }} is no JSON\n"
      - stall: 20
      - cut: false
      - consent: {tool: mail}
      - cut: true
      - say: Never.
`

func scripted(t *testing.T) *Scripted {
	t.Helper()
	script := must.Get(ParseScript([]byte(demoScript)))(t)
	return &Scripted{Script: script, Fallback: &Demo{}}
}

func TestScriptPlays(t *testing.T) {
	s := scripted(t)
	if len(s.Script.Hear) != 1 || s.Script.Hear[0] != "Good morning" {
		t.Errorf("hear %q", s.Script.Hear)
	}
	for _, tt := range []struct {
		q    Question
		text string
		log  string
	}{
		{Question{Text: " Good   MORNING! "}, "Hello Sam.", ""},
		{
			Question{Text: "Take a note for me", Profile: tools()},
			"The page said ok.",
			"filler One moment. \n" +
				`call save_note {"n":[1,"Sam"],"note":"from Sam"} client wait=true 5s` + "\n" +
				`call show_chart {"id":1} client wait=false 30s open_doc {"id":2} api wait=false 30s`,
		},
		{
			Question{Text: "widgets"},
			"",
			"widget followups-tool questions:|\n- \"More?\"\n" +
				`widget show-link-tool {"url":"https://x.test"}` + "\nwidget summary-tool text\n" +
				`raw interruption {"auth_url":"https://x.test"}` + "\nraw keepalive \ntitle A title\nshare false",
		},
		{Question{Trigger: "wake-up"}, "Still there?", ""},
		{Question{Text: "Who are you?", Profile: store.DefaultProfile(), Capabilities: Layer(map[string]string{Followups: Off}, nil)}, "I'm Alex", ""},
	} {
		tt.q.Vars = map[string]any{"user_name": "Sam"}
		out := &tape{results: map[string]Result{"save_note": {json.RawMessage(`{"status":"ok"}`), true}}}
		answer(t, s, &tt.q, out)
		if !strings.HasPrefix(out.text, tt.text) || strings.Join(out.log, "\n") != tt.log {
			t.Errorf("%q: said %q\n%s\nwant %q\n%s", tt.q.Text, out.text, strings.Join(out.log, "\n"), tt.text, tt.log)
		}
	}
}

func TestARuleIsPlayedOnce(t *testing.T) {
	script := must.Get(ParseScript([]byte(`rules: [{when: {exact: more}, once: true, steps: [{say: First.}]}, {when: {any: true}, steps: [{say: Later.}]}]`)))(t)
	for i, want := range []*rule{&script.Rules[1], &script.Rules[0], &script.Rules[1]} {
		expect.Equal(t, script.match(&Question{Text: []string{"less", "more", "more"}[i]}), want, "question %d: rule", i)
	}
}

// spoiler writes down what is done to a stream.
type spoiler struct{ tape *tape }

var errCut = errors.New("cut")

func (s spoiler) Write(text string) error     { return s.tape.note("raw %q", text) }
func (s spoiler) Stall(d time.Duration) error { return s.tape.note("stall %v", d) }
func (s spoiler) Cut() error                  { return errCut }

func TestScriptSpoilsTheStream(t *testing.T) {
	s := scripted(t)
	for _, tt := range []struct {
		name    string
		allowed bool
		wire    bool
		err     error
		text    string
		log     string
	}{
		{"over HTTP", true, true, errCut, "Again. Again. ", `raw "Sam is no JSON\n"` + "\nstall 20ms"},
		{"live", true, false, nil, "Again. Again. Never.", ""},
		{"until the user allows it", false, true, nil, "Again. Again. ", `raw "Sam is no JSON\n"` + "\nstall 20ms\nconsent mail mail"},
	} {
		out := &tape{allowed: tt.allowed}
		q := &Question{Text: "spoiled", Vars: map[string]any{"user_name": "Sam"}}
		if tt.wire {
			q.Wire = spoiler{out}
		}
		if err := s.Answer(t.Context(), q, out); !errors.Is(err, tt.err) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.err)
		}
		if out.text != tt.text || strings.Join(out.log, "\n") != tt.log {
			t.Errorf("%s: said %q\n%s\nwant %q\n%s", tt.name, out.text, strings.Join(out.log, "\n"), tt.text, tt.log)
		}
	}
}

// TestEndlessStepsLeaveTheProcessorFree: steps that wait for nothing, also in nested repeats.
func TestEndlessStepsLeaveTheProcessorFree(t *testing.T) {
	for name, steps := range map[string]string{
		"raw":    "[{repeat: {steps: [{raw: x}]}}]", // which does nothing in a live session
		"think":  "[{repeat: {steps: [{think: x}]}}]",
		"nested": "[{repeat: {times: 1000000000, steps: [{repeat: {times: 10, steps: [{raw: x}]}}]}}]",
	} {
		t.Run(name, func(t *testing.T) {
			script := must.Get(ParseScript([]byte("rules: [{when: {any: true}, steps: " + steps + "}]")))(t)
			synctest.Test(t, func(t *testing.T) { // whose clock stands still while steps are played
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				out := &tape{}
				expect.Error(t, (&Scripted{Script: script}).Answer(ctx, &Question{}, out), context.DeadlineExceeded, "error")
				if most := freeRounds + int(time.Second/roundPause); len(out.log) > most {
					t.Errorf("%d steps in a second, want at most %d", len(out.log), most)
				}
			})
		})
	}
}

func TestScriptErrorsNameTheLine(t *testing.T) {
	for _, tt := range []struct{ name, script, line, want string }{
		{"syntax", "rules: [", "1", ""},
		{"unknown key", "rules:\n  - when: {any: true}\n    stepz: []\n", "3", `unknown field "stepz"`},
		{"unknown step", "rules:\n  - when: {any: true}\n    steps:\n      - shout: x\n", "4", `unknown field "shout"`},
		{"no condition", "rules:\n  - when: {}\n    steps: [{say: x}]\n", "2", "a rule needs when"},
		{"no steps", "\nrules:\n  - when: {any: true}\n", "3", "a rule needs steps"},
		{"two in one step", "rules:\n  - when: {any: true}\n    steps:\n      - say: x\n        pause: 1\n", "4", "exactly one of"},
		{"negative pause", "rules:\n  - when: {any: true}\n    steps:\n      - pause: -1\n", "4", "pause: want 0 to 600000"},
		{"tool without name", "rules:\n  - when: {any: true}\n    steps:\n      - tool: {wait: true}\n", "4", "a tool needs a name"},
		{"long timeout", "rules:\n  - when: {any: true}\n    steps:\n      - tool: {name: x, timeout: 121}\n", "4", "timeout: want 1 to 120"},
		{"lonely fused", "rules:\n  - when: {any: true}\n    steps:\n      - fused: [{name: x}]\n", "4", "at least two"},
		{"widget without body", "rules:\n  - when: {any: true}\n    steps:\n      - widget: {runtime: x}\n", "4", "either body or fragments"},
		{"segment without type", "rules:\n  - when: {any: true}\n    steps:\n      - segment: {content: x}\n", "4", "a segment needs a type"},
		{"long stall", "rules:\n  - when: {any: true}\n    steps:\n      - stall: 600001\n", "4", "stall: want 0 to 600000"},
		{"consent without tool", "rules:\n  - when: {any: true}\n    steps:\n      - consent: {name: x}\n", "4", "consent needs a tool"},
		{"repeat without steps", "rules:\n  - when: {any: true}\n    steps:\n      - repeat: {times: 2}\n", "4", "repeat needs steps"},
		{"bad step in repeat", "rules:\n  - when: {any: true}\n    steps:\n      - repeat: {steps: [{shout: x}]}\n", "4", `unknown field "shout"`},
		{"wrong type", "rules:\n  - when: {any: true}\n    steps:\n      - pause: soon\n", "4", "cannot unmarshal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseScript([]byte(tt.script))
			if err == nil {
				t.Fatal("no error")
			}
			named := strings.Contains(err.Error(), "["+tt.line+":") || strings.Contains(err.Error(), "line "+tt.line+":")
			if !named || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want line %s and %q", err, tt.line, tt.want)
			}
		})
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add([]byte(demoScript))
	f.Add([]byte("rules: [{when: {any: true}, steps: [{say: x}]}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseScript(text)
		if err != nil {
			return
		}
		for _, r := range s.Rules {
			if len(r.Steps) == 0 {
				t.Error("a rule without steps was accepted")
			}
		}
	})
}
