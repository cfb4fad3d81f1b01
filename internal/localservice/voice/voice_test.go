package voice

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestOpenPicksTheBestVoice(t *testing.T) {
	installed := t.TempDir()
	writeProgram(t, installed, "exit 1")
	at := endpoint.Endpoint{BaseURL: "http://127.0.0.1:1/v1"}
	for _, test := range []struct {
		path string
		cfg  Config
		want string // empty: an error
	}{
		{t.TempDir(), Config{}, Builtin},
		{installed, Config{}, Espeak},
		{installed, Config{Kind: Auto}, Espeak},
		{installed, Config{Endpoint: at}, OpenAI},
		{installed, Config{Kind: Builtin, Endpoint: at}, Builtin},
		{installed, Config{Kind: Espeak, Endpoint: at}, Espeak},
		{t.TempDir(), Config{Kind: Espeak}, ""},
		{installed, Config{Kind: OpenAI}, ""},
		{installed, Config{Kind: "festival"}, ""},
	} {
		t.Setenv("PATH", test.path)
		v, err := Open(test.cfg)
		got := ""
		switch v := v.(type) {
		case *cache:
			got = Builtin
		case *covered:
			got = v.kind
		}
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%+v opens %q (%v), want %q", test.cfg, got, err, test.want)
		}
	}
}

func TestBuiltinVoiceStepsIn(t *testing.T) {
	var log bytes.Buffer
	v := &covered{
		Voice: failing{errors.New("no sound card")},
		log:   slog.New(slog.NewTextHandler(&log, nil)),
	}
	const text = "Good morning."
	got := must.Get(v.Speak(t.Context(), text, Manner{}))(t)
	want := must.Get(synthesiser{}.Speak(t.Context(), text, Manner{}))(t)
	expect.List(t, got.PCM, want.PCM, "not the built-in voice")
	if line := log.String(); !strings.Contains(line, "no sound card") || strings.Contains(line, "morning") {
		t.Errorf("log should name the failure and not the text: %s", line)
	}
}

type failing struct{ err error }

func (f failing) Speak(context.Context, string, Manner) (*Speech, error) { return nil, f.err }

func TestPhrases(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" \t\n ", nil},
		{"...", nil},
		{"Hi!", []string{"Hi!"}},
		{"I am your assistant, and I speak to you.", []string{"I am your assistant,", "and I speak", "to you."}},
		{"Dr. Smith paid", []string{"Dr. Smith paid"}},
		{"Yes, no, 42.", []string{"Yes,", "no,", "42."}},
		{"apples - is it", []string{"apples - is", "it"}},
		{"Wonderful -", []string{"Wonderful -"}},
		{"tab\there\x00and\x1bthere", []string{"tab here and", "there"}},
		{"caf\xe9", []string{"caf"}},
	} {
		expect.List(t, phrases(test.text), test.want, "phrases(%q)", test.text)
	}
}

func TestPhrasesAreBounded(t *testing.T) {
	length := 0
	for _, phrase := range phrases(strings.Repeat("word ", MaxText)) {
		length += len(phrase) + 1
	}
	expect.Equal(t, length, MaxText, "phrases have characters")
}

func TestApportionGivesPausesToThePhraseBefore(t *testing.T) {
	const rate = 16000
	tone := make([]int16, rate)
	for i := range tone {
		tone[i] = int16(8000 * (i%20 - 10) / 10)
	}
	pcm := slices.Concat(tone, make([]int16, 2*rate), tone) // a second each, two seconds of pause
	got := apportion([]string{"abcd,", "efgh"}, pcm, rate)
	want := []Chunk{{"abcd,", 3 * time.Second}, {"efgh", time.Second}}
	for i := range want {
		if difference := (got[i].Duration - want[i].Duration).Abs(); got[i].Text != want[i].Text || difference > soundWindow {
			t.Errorf("chunk %d is %v, want %v", i, got[i], want[i])
		}
	}
	checkSum(t, &Speech{PCM: pcm, Rate: rate, Chunks: got})
}

// checkSum fails unless chunks are as long together as the sound, and none is negative.
func checkSum(t *testing.T, s *Speech) {
	t.Helper()
	var sum time.Duration
	for _, chunk := range s.Chunks {
		if chunk.Duration < 0 {
			t.Errorf("chunk %q lasts %v", chunk.Text, chunk.Duration)
		}
		sum += chunk.Duration
	}
	if want := s.Duration(); sum != want {
		t.Errorf("chunks last %v together, the sound %v", sum, want)
	}
}
