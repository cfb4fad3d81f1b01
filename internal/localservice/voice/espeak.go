package voice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
)

const (
	espeakProgram = "espeak-ng"
	espeakEnglish = "en-us"
	espeakSpeed   = 160 // words a minute; the default of 175 sounds hurried

	// Every other phrase is marked up with these volumes, in the two renderings.
	espeakVolumeHeard, espeakVolumeProbe = "99", "50"
	// A window belongs to a marked phrase when the probe is softer than the sound by this much, in dB.
	espeakMarked = 2.5
	// Windows below this level are ignored, in dB of full scale.
	espeakQuiet = -70
	// A new phrase needs so many windows in a row: single ones are unreliable where a sound decays.
	espeakCertain = 4
	// Windows a second, which is also the resolution of the timing of phrases.
	espeakWindows = 200
)

// espeak runs the program espeak-ng.
//
// Its command line gives no word timing, so we measure it: the text is rendered twice, every other phrase marked up to
// be softer the second time. Volume doesn't change timing, so both sounds are synchronous, and the marked phrases are
// where the second one is softer.
type espeak struct {
	program string
}

var _ Voice = (*espeak)(nil)

func (e *espeak) Speak(ctx context.Context, text string, how Manner) (*Speech, error) {
	ctx, cancel := context.WithTimeout(ctx, speakTimeout)
	defer cancel()
	parts := phrases(text)
	pcm, rate, err := e.render(ctx, parts, how, espeakVolumeHeard)
	if err != nil && how.espeakLanguage() != espeakEnglish && ctx.Err() == nil { // it may not have the language
		how.Language = ""
		pcm, rate, err = e.render(ctx, parts, how, espeakVolumeHeard)
	}
	if err != nil {
		return nil, fmt.Errorf("speak: %w", err)
	}
	if len(parts) == 0 {
		return &Speech{Rate: rate}, nil
	}
	speech := &Speech{PCM: pcm, Rate: rate}
	if len(parts) == 1 {
		speech.Chunks = chunksAt(parts, []int{0}, len(pcm), rate)
		return speech, nil
	}
	probe, _, err := e.render(ctx, parts, how, espeakVolumeProbe)
	if err != nil {
		return nil, fmt.Errorf("time speech: %w", err)
	}
	starts := phraseStarts(pcm, probe, rate/espeakWindows)
	if len(starts) == len(parts) {
		speech.Chunks = chunksAt(parts, starts, len(pcm), rate)
	} else { // a phrase without a sound of its own
		speech.Chunks = apportion(parts, pcm, rate)
	}
	return speech, nil
}

// render speaks phrases, every second one at the given volume.
func (e *espeak) render(ctx context.Context, phrases []string, how Manner, volume string) (pcm []int16, rate int, err error) {
	t := how.timbre()
	command := exec.CommandContext(ctx, e.program, "-v", how.espeakLanguage()+"+"+t.variant, "-p", t.espeakPitch,
		"-s", strconv.Itoa(int(espeakSpeed*how.speed())), "-b", "1", "-m", "-z", "--stdin", "--stdout")
	command.WaitDelay = time.Second
	command.Stdin = strings.NewReader(markUp(phrases, volume))
	var sound, complaint bytes.Buffer
	command.Stdout = &limitedWriter{to: &sound, left: maxSound}
	command.Stderr = &limitedWriter{to: &complaint, left: 200, drop: true}
	err = command.Run()
	switch {
	case sound.Len() == maxSound: // the program's own error is only the closed pipe
		return nil, 0, errTooMuchSound
	case err != nil:
		return nil, 0, fmt.Errorf("run %s: %w: %s", espeakProgram, err, bytes.TrimSpace(complaint.Bytes()))
	}
	return audio.DecodeWAV(sound.Bytes())
}

var escapeXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// markUp returns SSML of phrases in which every second one has the given volume. A full stop at the end of a phrase is
// moved behind the tag that follows it, because espeak-ng 1.51 ignores a tag after a full stop.
func markUp(phrases []string, volume string) string {
	const end = "</prosody>"
	start := `<prosody volume="` + volume + `">`
	var ssml strings.Builder
	ssml.WriteString("<speak>")
	stop := ""
	for i, phrase := range phrases {
		tag := start
		if i%2 == 0 {
			tag = end
		}
		if i > 0 {
			ssml.WriteString(tag + stop + " ")
		}
		text := strings.TrimRight(phrase, ".")
		stop = phrase[len(text):]
		ssml.WriteString(escapeXML.Replace(text))
	}
	ssml.WriteString(stop)
	if len(phrases)%2 == 0 && len(phrases) > 0 {
		ssml.WriteString(end)
	}
	ssml.WriteString("</speak>")
	return ssml.String()
}

// phraseStarts finds the first sample of each run of windows in which the probe is, or is not, softer than the sound.
func phraseStarts(heard, probe []int16, window int) []int {
	if len(heard) != len(probe) || window <= 0 {
		return nil
	}
	starts := []int{0}
	marked, against, since := false, 0, 0 // the first phrase is not marked
	for at := 0; at+window <= len(heard); at += window {
		level := audio.Level(heard[at : at+window])
		if level < espeakQuiet {
			continue
		}
		if softer := audio.Level(probe[at:at+window]) < level-espeakMarked; softer == marked {
			against = 0
			continue
		}
		if against++; against == 1 {
			since = at
		}
		if against == espeakCertain {
			marked, against = !marked, 0
			starts = append(starts, since)
		}
	}
	return starts
}

// limitedWriter passes on at most left bytes. More is an error, or is dropped.
type limitedWriter struct {
	to   io.Writer
	left int
	drop bool
}

var errTooMuchSound = errors.New("more sound than allowed")

func (w *limitedWriter) Write(data []byte) (int, error) {
	allowed := data[:min(len(data), w.left)]
	w.left -= len(allowed)
	if n, err := w.to.Write(allowed); err != nil {
		return n, err
	}
	if len(allowed) < len(data) && !w.drop {
		return len(allowed), errTooMuchSound
	}
	return len(data), nil
}
