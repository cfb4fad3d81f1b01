package replay

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

const header = `{"version":1,"started":"2026-01-02T03:04:05Z","redacted":true}` + "\n"

func read(t *testing.T, lines ...string) *Recording {
	t.Helper()
	return must.Get(Read(strings.NewReader(header + strings.Join(lines, "\n"))))(t)
}

func TestWhatIsNoRecordingIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                       "",
		"no JSON":                     "hello\n",
		"no version":                  "{}\n",
		"a newer version":             `{"version":2}` + "\n",
		"a broken line":               header + "{\n" + `{"t":1}`,
		"a line that is far too long": header + strings.Repeat("x", maxLine+1),
	} {
		expect.Fail(Read(strings.NewReader(text)))(t, fault.ValidationError, "%s", name)
	}
	expect.Fail(Open(fstest.MapFS{}))(t, fault.ValidationError, "no file")
	cut := read(t, `{"t":1,"event":"interrupted","data":{}}`, `{"t":2,"ev`)
	if len(cut.Entries) != 1 || !cut.Redacted {
		t.Errorf("a recording that was cut off: %+v", cut)
	}
}

func TestPlayKeepsTime(t *testing.T) {
	r := read(t, `{"t":0,"event":"a"}`, `{"t":1000,"event":"b"}`, `{"t":180000,"event":"c"}`)
	synctest.Test(t, func(t *testing.T) {
		for speed, want := range map[float64]time.Duration{1: 3 * time.Minute, 10: 18 * time.Second, 0: 0} {
			start := time.Now()
			var names string
			if err := r.Play(t.Context(), speed, func(e Entry) { names += e.Event }); err != nil || names != "abc" || time.Since(start) != want {
				t.Errorf("speed %v: %q in %v, %v", speed, names, time.Since(start), err)
			}
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, enough)
		defer cancel()
		expect.Equal(t, r.Play(ctx, 1, func(Entry) {}), enough, "aborted")
	})
}

func TestDiffNamesWhatDiffers(t *testing.T) {
	want := read(t,
		`{"t":1,"event":"transcript","data":{"type":"final","text":"Hello!","speechId":"a"}}`,
		`{"t":2,"event":"transcript","data":{"type":"user","text":"Red please"}}`,
		`{"t":3,"event":"toolCall","data":{"name":"paint","args":{"n":1,"color":"red"}}}`,
		`{"t":4,"event":"transcript","data":{"type":"final","text":"It is","speechId":"b"}}`,
		`{"t":5,"event":"transcript","data":{"type":"final","text":"red.","speechId":"b"}}`,
		`{"t":6,"event":"interrupted","data":{}}`,
		`{"t":7,"event":"widget","data":{"runtime":"summary-tool","speechId":"a","summary":{"text":"x"}}}`,
	)
	same := read(t,
		`{"t":10,"event":"transcript","data":{"type":"final","text":"Hello!","speechId":"b"}}`,
		`{"t":20,"event":"connectionQuality","data":{}}`,
		`{"t":20,"event":"transcript","data":{"type":"user","text":"Red please"}}`,
		`{"t":30,"event":"toolCall","data":{"args":{"color":"red","n":1},"name":"paint"}}`,
		`{"t":40,"event":"transcript","data":{"type":"final","text":"It is red."}}`,
		`{"t":60,"event":"interrupted","data":{}}`,
		`{"t":70,"event":"widget","data":{"runtime":"summary-tool","speechId":"c","summary":{"text":"x"}}}`,
	)
	if d := Diff(want, same); d != nil {
		t.Errorf("differences of the same conversation: %v", d)
	}
	other := read(t,
		`{"t":10,"event":"transcript","data":{"type":"final","text":"Hello!"}}`,
		`{"t":15,"event":"warning","data":{"code":"playback_blocked"}}`,
		`{"t":20,"event":"transcript","data":{"type":"user","text":"Red please"}}`,
		`{"t":30,"event":"toolCall","data":{"name":"paint","args":{"n":1,"color":"blue"}}}`,
		`{"t":40,"event":"transcript","data":{"type":"final","text":"It is red."}}`,
		`{"t":70,"event":"widget","data":{"runtime":"summary-tool","summary":{"text":"x"}}}`,
	)
	got := []string{}
	for _, d := range Diff(want, other) {
		got = append(got, d.String())
	}
	if want := []string{
		"at the beginning: unexpected: warning: playback_blocked",
		`after "Red please": tool call: paint {"color":"red","n":1}` + "\n\tbecame tool call: paint {\"color\":\"blue\",\"n\":1}",
		`after "Red please": missing: interrupted`,
	}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// A tool that takes longer in one run gives its result after the agent's next words.
func TestDiffIgnoresHowLongAToolTakes(t *testing.T) {
	call := `{"t":1,"event":"toolCall","data":{"name":"save","args":{"n":N}}}`
	first, second := strings.ReplaceAll(call, "N", "1"), strings.ReplaceAll(call, "N", "2")
	result := `{"t":2,"event":"toolCallResult","data":{"ok":true,"value":"V","call":{"name":"save"}}}`
	done, late := strings.ReplaceAll(result, "V", "done"), strings.ReplaceAll(result, "V", "late")
	words := []string{`{"t":3,"event":"transcript","data":{"type":"final","text":"It is","speechId":"a"}}`, `{"t":4,"event":"transcript","data":{"type":"final","text":"saved.","speechId":"a"}}`}
	want := read(t, first, done, words[0], words[1], second, late)
	if d := Diff(want, read(t, first, words[0], done, words[1], second, late)); d != nil {
		t.Errorf("differences: %v", d)
	}
	expect.Len(t, Diff(want, read(t, first, words[0], late, words[1], second, done)), 2, "other results make these differences")
}

// An answer is interrupted at another word in each run.
func TestDiffIgnoresWhereAnAnswerIsCut(t *testing.T) {
	const cut = `{"t":3,"event":"interrupted","data":{}}`
	says := func(kind, text string) string {
		return `{"t":1,"event":"transcript","data":{"type":"` + kind + `","text":"` + text + `"}}`
	}
	conversation := func(first ...string) *Recording {
		return read(t, append(append([]string{says("user", "Tell me")}, first...), says("user", "Again"), says("final", "A long story."))...)
	}
	want := conversation(says("final", "A long"), cut)
	for _, first := range []string{"A", "A long", "A long story."} {
		if d := Diff(want, conversation(says("final", first), cut)); d != nil {
			t.Errorf("%s: differences: %v", first, d)
		}
	}
	expect.Len(t, Diff(want, conversation(says("final", "A short"), cut)), 1, "another story makes these differences")
	if d := Diff(want, conversation(says("final", "A long story."))); len(d) != 1 || d[0].Want != "interrupted" {
		t.Errorf("a story that is not interrupted makes these differences: %v", d)
	}
}

// TestARunIsNotStuck: what does not come is reported, not waited for without end.
func TestARunIsNotStuck(t *testing.T) {
	recorded := read(t,
		`{"t":2,"event":"transcript","data":{"type":"user","text":"One"}}`,
		`{"t":3,"event":"transcript","data":{"type":"final","text":"1"}}`,
		`{"t":4,"event":"turnEnd","data":{}}`,
		`{"t":5,"event":"transcript","data":{"type":"user","text":"Two"}}`,
		`{"t":6,"event":"transcript","data":{"type":"final","text":"2"}}`,
		`{"t":7,"event":"turnEnd","data":{}}`,
	)
	synctest.Test(t, func(t *testing.T) {
		run := NewRun(recorded)
		got := must.Get(run.Converse(t.Context(), func(_ context.Context, text string) error {
			run.Event(event.Transcript{Type: "user", Text: text})
			if text == "Two" { // the first one is not answered
				run.Event(event.Transcript{Type: "final", Text: "2"})
				run.Event(event.TurnEnded{})
			}
			return nil
		}))(t)
		if d := Diff(recorded, got); len(d) != 1 || d[0] != (Difference{After: "One", Want: "agent: 1"}) {
			t.Errorf("%v", d)
		}
	})
}

// An answer in text comes in pieces that end anywhere, also in a word; a spoken one in sentences.
func TestAnAnswerInTextIsItsPiecesAsTheyAre(t *testing.T) {
	answer := func(speechID string, pieces ...string) *Recording {
		lines := []string{`{"t":1,"event":"transcript","data":{"type":"user","text":"Where?","speechId":null}}`}
		for _, piece := range pieces {
			lines = append(lines, `{"t":2,"event":"transcript","data":{"type":"final","text":"`+piece+`","speechId":`+speechID+`}}`)
		}
		return read(t, append(lines, `{"t":3,"event":"turnEnd","data":{"speechId":null,"turnId":"t"}}`)...)
	}
	whole := answer("null", `In Room 1.5:\n\n- up`)
	for name, r := range map[string]*Recording{
		"whole":     whole,
		"in pieces": answer("null", `\n`, "In Ro", "om ", "1.", `5:\n`, `\n`, "- up ", " "),
	} {
		if turns := r.Turns(); len(turns) != 2 || turns[1].Text != "In Room 1.5:\n\n- up" {
			t.Errorf("%s: %+v", name, turns)
		}
		if d := Diff(whole, r); d != nil {
			t.Errorf("%s: differences %v", name, d)
		}
	}
	spoken := answer(`"a"`, "It is there.", "Go up.")
	if turns := spoken.Turns(); turns[1].Text != "It is there. Go up." {
		t.Errorf("%+v", turns)
	}
	if d := Diff(spoken, answer(`"b"`, "It is there. Go up.")); d != nil {
		t.Errorf("differences %v", d)
	}
}

// TestATurnEndsWithItsSession, so that the opening line of the session that is made again is a turn of its own.
func TestATurnEndsWithItsSession(t *testing.T) {
	for _, loss := range []string{
		`{"t":3000,"event":"reconnecting","data":{"reason":"video stalled","attempt":1,"maxAttempts":2,"cold":true}}`,
		`{"t":3000,"event":"reconnected","data":{"recovered":false}}`,
	} {
		turns := read(t, `{"t":2000,"event":"transcript","data":{"type":"final","text":"First, open the","speechId":"a"}}`,
			`{"t":2200,"event":"avatarStartTalking","data":{"speechId":"a"}}`,
			`{"t":2500,"event":"reconnecting","data":{"reason":"transport close","attempt":1,"maxAttempts":5}}`,
			`{"t":2600,"event":"reconnected","data":{"recovered":true}}`,
			loss,
			`{"t":4000,"event":"transcript","data":{"type":"final","text":"Welcome back.","speechId":"b"}}`,
			`{"t":4100,"event":"avatarStartTalking","data":{"speechId":"b"}}`,
			`{"t":5000,"event":"avatarStopTalking","data":{"text":"Welcome back.","speechId":"b"}}`).Turns()
		if len(turns) != 2 || turns[0].Text != "First, open the" || turns[0].EndMs != 3000 || turns[0].Interrupted || turns[1].Text != "Welcome back." {
			t.Errorf("turns %+v after %s", turns, loss)
		}
	}
}

// TestSpeechWithoutWords, which the agent answers all the same, does not begin the typed turn after it.
func TestSpeechWithoutWords(t *testing.T) {
	r := read(t, `{"t":1000,"event":"userStartedTalking","data":{}}`,
		`{"t":2000,"event":"turnStart","data":{"speechId":"a","isNewTurn":true}}`,
		`{"t":2100,"event":"transcript","data":{"type":"final","text":"I heard no words.","speechId":"a"}}`,
		`{"t":2200,"event":"avatarStartTalking","data":{"speechId":"a"}}`,
		`{"t":2300,"event":"turnEnd","data":{"speechId":"a"}}`,
		`{"t":4000,"event":"avatarStopTalking","data":{"text":"I heard no words.","speechId":"a"}}`,
		`{"t":60000,"event":"transcript","data":{"type":"user","text":"Hello"}}`)
	turns := r.Turns()
	if len(turns) != 2 || turns[1].By != "visitor" || turns[1].StartMs != 60000 {
		t.Errorf("turns %+v, want a typed one at 60000 at the end", turns)
	}
	text, err := r.Script()
	if err != nil || strings.Contains(string(text), "hear") {
		t.Errorf("script %s, %v, want nothing that was heard", text, err)
	}
}
