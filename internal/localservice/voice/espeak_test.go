package voice

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// installed returns the real program's voice, or skips the test.
func installed(t *testing.T) *espeak {
	t.Helper()
	program, err := exec.LookPath(espeakProgram)
	if err != nil {
		t.Skip("espeak-ng is not installed")
	}
	return &espeak{program: program}
}

func TestEspeakChunksBeginWhereTheirSoundDoes(t *testing.T) {
	speech := must.Get(installed(t).Speak(t.Context(), "Monday, Tuesday, Wednesday. Thursday; Friday!", Manner{}))(t)
	if len(speech.Chunks) != 5 {
		t.Fatalf("%d chunks, want 5: %v", len(speech.Chunks), speech.Chunks)
	}
	checkSum(t, speech)
	at := func(moment time.Duration) int { return int(moment * time.Duration(speech.Rate) / time.Second) }
	var start time.Duration
	for _, chunk := range speech.Chunks[:4] {
		start += chunk.Duration // of the next one: the pause is before, the sound after
		before := audio.Level(speech.PCM[at(start-40*time.Millisecond):at(start-5*time.Millisecond)])
		after := audio.Level(speech.PCM[at(start):at(start+120*time.Millisecond)])
		if before > -50 || after < -40 {
			t.Errorf("after %q: %.0f dB before the next chunk, %.0f dB in it", chunk.Text, before, after)
		}
	}
}

func TestEspeakSpeaksMarkupAndOptionsAsText(t *testing.T) {
	e := installed(t)
	for _, text := range []string{"--help", "-v nonsense", `</speak><prosody volume="0"> quiet & <b>bold`} {
		speech, err := e.Speak(t.Context(), text, Manner{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		checkSum(t, speech)
		if level := audio.Level(speech.PCM); level < -40 {
			t.Errorf("%q sounds at %.0f dB", text, level)
		}
	}
}

func TestMarkUp(t *testing.T) {
	got := markUp([]string{"Of course.", "It is <open>", "from nine..."}, "50")
	want := `<speak>Of course<prosody volume="50">. It is &lt;open&gt;</prosody> from nine...</speak>`
	expect.Equal(t, got, want, "markup is")
}

func TestEspeakFailures(t *testing.T) {
	for script, want := range map[string]string{
		"echo no such voice >&2; exit 3": "exit status 3: no such voice",
		"echo hello":                     "no RIFF header",
		"cat /dev/zero":                  errTooMuchSound.Error(),
	} {
		dir := t.TempDir()
		program := writeProgram(t, dir, script)
		_, err := (&espeak{program: program}).Speak(t.Context(), "Hello", Manner{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want one with %q", script, err, want)
		}
	}
}

func TestPhraseStarts(t *testing.T) {
	const window = 10
	sound := func(windows, level int) []int16 { return slices.Repeat([]int16{int16(level)}, windows*window) }
	heard := slices.Concat(sound(2, 0), sound(6, 1000), sound(3, 0), sound(6, 1000), sound(6, 1000))
	probe := slices.Concat(sound(2, 0), sound(5, 1000), sound(1, 500), sound(3, 0), sound(6, 500), sound(6, 1000))
	// The one soft window at the end of the first phrase is followed by marked ones, so it counts as theirs.
	expect.List(t, phraseStarts(heard, probe, window), []int{0, 70, 170}, "phrases start at")
	if got := phraseStarts(heard, probe[1:], window); got != nil {
		t.Errorf("sounds of different length give %v", got)
	}
}

// writeProgram makes a shell script that is found as espeak-ng in dir.
func writeProgram(t *testing.T, dir, script string) string {
	t.Helper()
	name := filepath.Join(dir, espeakProgram)
	must.Do(t, os.WriteFile(name, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	return name
}
