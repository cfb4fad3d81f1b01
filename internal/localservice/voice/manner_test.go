package voice

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// pitchOf is the fundamental frequency of a sound in Hz: the lag at which it resembles itself most.
func pitchOf(s *Speech) float64 {
	// A window in the middle, which is long enough for several cycles of the deepest voice.
	from, length := len(s.PCM)/3, s.Rate/10
	best, bestLag := 0.0, 1
	for lag := s.Rate / 400; lag < s.Rate/60; lag++ {
		var same, a, b float64
		for i := from; i < from+length; i++ {
			x, y := float64(s.PCM[i]), float64(s.PCM[i+lag])
			same, a, b = same+x*y, a+x*x, b+y*y
		}
		if score := same * same / (a*b + 1); same > 0 && score > best*1.05 { // of two cycles, the shorter one
			best, bestLag = score, lag
		}
	}
	return float64(s.Rate) / float64(bestLag)
}

// catalog are manners of the voices that the catalog offers, and of an uploaded one.
func catalog() map[string]Manner {
	all := map[string]Manner{}
	for _, name := range []string{"Clear", "Deep", "Bright", "Klar"} {
		all[name] = Manner{Name: name, ID: "preset " + name}
	}
	all["uploaded"] = Manner{Name: "My voice", ID: "66f1aa0000000000000000c1"}
	return all
}

// TestVoicesDifferInSound: the voices of the catalog have different pitches, and an uploaded one has another than they.
func TestVoicesDifferInSound(t *testing.T) {
	pitches := map[string]float64{}
	for name, how := range catalog() {
		speech := must.Get(synthesiser{}.Speak(t.Context(), "aaaaaa aaaaaa", how))(t)
		checkSum(t, speech)
		pitches[name] = pitchOf(speech)
	}
	for a, x := range pitches {
		for b, y := range pitches {
			if a < b && max(x, y)/min(x, y) < 1.05 {
				t.Errorf("%s and %s have the pitches %.0f and %.0f Hz", a, b, x, y)
			}
		}
	}
	if !(pitches["Deep"] < pitches["Klar"] && pitches["Klar"] < pitches["Clear"] && pitches["Clear"] < pitches["Bright"]) {
		t.Errorf("the pitches of Deep, Klar, Clear and Bright do not rise: %v", pitches)
	}
}

// TestSpeed: a faster voice takes less time, within the limits, with the same words.
func TestSpeed(t *testing.T) {
	const text = "I found three documents about the opening hours."
	usual := builtin(t, text)
	for speed, want := range map[float64]float64{0.7: 1 / 0.7, 1: 1, 1.2: 1 / 1.2, 2: 0.5, 100: 0.5, 0.001: 2, -1: 1} {
		speech := must.Get(synthesiser{}.Speak(t.Context(), text, Manner{Speed: speed}))(t)
		checkSum(t, speech)
		if got := float64(len(speech.PCM)) / float64(len(usual.PCM)); got < want*0.98 || got > want*1.02 {
			t.Errorf("speed %v takes %.2f of the time, want %.2f", speed, got, want)
		}
		expect.Equal(t, chunkText(speech), text, "speed %v says", speed)
	}
}

// TestEspeakVoices: the program gets the voice, the language and the speed.
func TestEspeakVoices(t *testing.T) {
	dir := t.TempDir()
	program, log := filepath.Join(dir, "espeak-ng"), filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$*\" >> '" + log + "'\ncat > /dev/null\nexit 1\n"
	must.Do(t, os.WriteFile(program, []byte(script), 0o700))
	for _, tt := range []struct {
		how  Manner
		want []string // one for each call
	}{
		{Manner{}, []string{"-v en-us+f3 -p 50 -s 160 "}},
		{Manner{Name: "Deep", Language: "en", Speed: 1.25}, []string{"-v en-us+m3 -p 30 -s 200 "}},
		{Manner{Name: "Klar", Language: "de-DE"}, []string{"-v de+f2 -p 46 -s 160 ", "-v en-us+f2 -p 46 -s 160 "}},
		{Manner{Name: "Bright", Language: "english"}, []string{"-v en-us+f5 -p 68 -s 160 "}},
		{Manner{Name: "Bright", Language: "../de -w x"}, []string{"-v en-us+f5 -p 68 -s 160 "}},
	} {
		if _, err := (&espeak{program: program}).Speak(t.Context(), "Hello", tt.how); err == nil {
			t.Errorf("%+v: no error of a program that fails", tt.how)
		}
		said := must.Get(os.ReadFile(log))(t)
		calls := strings.Split(strings.TrimSpace(string(said)), "\n")
		for i, want := range tt.want {
			if len(calls) != len(tt.want) || !strings.HasPrefix(calls[i], want) {
				t.Errorf("%+v: calls %q, want %q", tt.how, calls, tt.want)
				break
			}
		}
		must.Do(t, os.Remove(log))
	}
}

// TestEndpointVoices: the endpoint is asked for the voice and the speed.
func TestEndpointVoices(t *testing.T) {
	for _, tt := range []struct {
		how  Manner
		want string
	}{
		{Manner{}, "coral 0"},
		{Manner{Name: "Deep"}, "onyx 0"},
		{Manner{Name: "Bright", Speed: 1.5}, "shimmer 1.5"},
		{Manner{Name: "Klar", Speed: 9}, "nova 2"},
	} {
		v := endpointTo(t, func(w http.ResponseWriter, r *http.Request) {
			var body struct {
				Voice string
				Speed float64
			}
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			expect.Equal(t, fmt.Sprint(body.Voice, " ", body.Speed), tt.want, "%+v asks for", tt.how)
			w.Header().Set("Content-Type", "audio/wav")
			_, _ = w.Write(audio.EncodeWAV([]int16{1, 2, 3}, 22050))
		})
		must.Get(v.Speak(t.Context(), "Hello", tt.how))(t)
	}
}
