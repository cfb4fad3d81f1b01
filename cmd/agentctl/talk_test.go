package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/event"
)

// The answers are short, because they are spoken in real time.
const talkScript = `
hear: [the password]
rules:
  - when: {contains: password}
    steps:
      - say: Swordfish.
  - when: {contains: again}
    steps:
      - say: Yes.
  - when: {contains: weather}
    steps:
      - error: The brain is out.
`

// talkRig is a rig whose agent answers as the script says, and the id of the agent.
func talkRig(t *testing.T) (*rig, string) {
	t.Helper()
	r := rigOf(t, localservice.Options{Script: []byte(talkScript)})
	agent, _ := r.info.Agent("silent")
	return r, agent.AgentID
}

func TestTalk(t *testing.T) {
	r, agent := talkRig(t)
	const answers = "you: What is the password?\nagent: Swordfish.\nyou: Say it again\nagent: Yes.\n"
	text := r.ok("talk", "-agent", agent, "-user", "ann", "-text", "What is the password?", "-text", "Say it again")
	opening, rest, _ := strings.Cut(text, "you: ")
	if !strings.HasPrefix(opening, "agent: ") || "you: "+rest != answers {
		t.Errorf("printed\n%s", text)
	}
	r.stdin = "What is the password?\n\nSay it again\n"
	if text := r.ok("talk", "-agent", agent); !strings.HasSuffix(text, answers) {
		t.Errorf("printed\n%s", text)
	}
	var thread struct{ ID string }
	if err := json.Unmarshal([]byte(r.ok("-json", "threads", "list", "-user", "ann")), &thread); err != nil { // one line
		t.Fatal(err)
	}
	const said = "human: What is the password?\nai: Swordfish.\nhuman: Say it again\nai: Yes.\n"
	if text := r.ok("threads", "transcript", thread.ID); !strings.HasSuffix(text, said) {
		t.Errorf("the thread has\n%s", text)
	}

	seen := map[string]bool{}
	for line := range strings.Lines(r.ok("-json", "talk", "-agent", agent, "-text", "the password?")) {
		var e struct {
			Event string
			Data  json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Data == nil {
			t.Errorf("%q: %v", line, err)
		}
		seen[e.Event] = true
	}
	for _, name := range []string{"stateChange", "mediaReady", "transcript", "turnEnd", "sessionCompleted", "ended"} {
		if !seen[name] {
			t.Errorf("no event %s", name)
		}
	}
}

func TestTalkIsRecordedAndReplayed(t *testing.T) {
	r, agent := talkRig(t)
	dir := filepath.Join(t.TempDir(), "talk")
	r.ok("talk", "-agent", agent, "-text", "What is the password?", "-text", "Say it again", "-record", dir)
	const said = " agent: Swordfish.\n"
	if text := r.ok("replay", dir, "-speed", "0"); !strings.Contains(text, said) || !strings.Contains(text, " you: Say it again\n") {
		t.Errorf("printed\n%s", text)
	}
	expect.Equal(t, r.ok("replay", dir, "-agent", agent), "", "differences")
	if text := r.ok("replay", dir, "-script"); !strings.Contains(text, `"say": "Swordfish."`) {
		t.Errorf("script\n%s", text)
	}
	other, _ := r.info.Agent("tap")
	r.fails(statusFailed, "conflict", "replay", dir, "-agent", other.AgentID)
	r.fails(statusFailed, "validation_error", "talk", "-agent", agent, "-text", "hello", "-record", dir)
	r.fails(statusFailed, "validation_error", "talk", "-agent", agent, "-mic", filepath.Join(dir, "events.jsonl"))
	r.fails(statusFailed, "validation_error", "replay", t.TempDir())
}

func TestTalkWithAMicrophone(t *testing.T) {
	r, agent := talkRig(t)
	if text := r.ok("talk", "-agent", agent, "-mic", "../../e2e/testdata/speech.wav"); !strings.HasSuffix(text, "you: the password\nagent: Swordfish.\n") {
		t.Errorf("printed\n%s", text)
	}
}

func TestTalkPrintsTheTimesOfATurn(t *testing.T) {
	r, agent := talkRig(t)
	text := r.ok("talk", "-agent", agent, "-trace", "-text", "What is the password?", "-text", "Say it again")
	turns := regexp.MustCompile(`(?m)^\(trace\): sent 0, .*firstText \d+, .*firstSound ~\d+, .*speechEnd ~\d+, answered$`).FindAllString(text, -1)
	if len(turns) != 2 {
		t.Errorf("printed\n%s", text)
	}
}

func TestTalkThatFails(t *testing.T) {
	r, agent := talkRig(t)
	r.fails(statusFailed, "stream_error: The brain is out.", "talk", "-agent", agent, "-text", "How is the weather?", "-text", "the password?")
	r.fails(statusFailed, "open none.wav: no such file", "talk", "-agent", agent, "-mic", "none.wav")
	r.fails(statusFailed, "not_found", "talk", "-agent", "00000000-0000-4000-8000-000000000000", "-text", "hello")
}

// On a fast machine several marks have the same millisecond.
func TestMarksOfOneMillisecondAreInTheirUsualOrder(t *testing.T) {
	marks := map[event.TurnMark]int64{event.MarkSent: 0, event.MarkTranscript: 0, event.MarkFirstSegment: 0, event.MarkFirstText: 0, event.MarkTextEnd: 9}
	got := traced(event.TurnTimings{Marks: marks, Outcome: "answered"})
	if want := "sent 0, transcript 0, firstSegment 0, firstText 0, textEnd 9, answered"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestTextsThatAreNotAnswered: the service ends the conversation, without an error, before a text or before its answer.
func TestTextsThatAreNotAnswered(t *testing.T) {
	for name, end := range map[string]func(*conversation) bool{
		"before the second text":       func(c *conversation) bool { report(c.answered, nil); report(c.ended, nil); return true },
		"while the text is on its way": func(c *conversation) bool { report(c.ended, nil); return false },
		"before the answer":            func(c *conversation) bool { report(c.ended, nil); return true },
	} {
		c := &conversation{answered: make(chan error, 1), ended: make(chan error, 1)}
		texts := make(chan string, 1)
		texts <- "one"
		answered, err := c.sayEach(t.Context(), texts, func(context.Context, string) (bool, error) { return end(c), nil })
		if err != nil || answered > 1 {
			t.Errorf("%s: %d answered, %v", name, answered, err)
		}
	}
}
