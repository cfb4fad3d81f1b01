//go:build js && wasm

package media

import (
	"testing"
	"time"
)

// A busy page may show no frame between the announcement of an utterance and its first sound.
func TestTheFirstFrameOfTheMeasurementMayComeWithTheSound(t *testing.T) {
	var reported []Event
	s := newRenderer(&Engine{cfg: Config{OnSpeech: func(ev Event) { reported = append(reported, ev) }}})
	picture := eval(t, "return new OffscreenCanvas(64, 36)")
	picture.Call("getContext", "2d")
	painter := eval(t, `return new OffscreenCanvas(64, 36).getContext("2d")`)
	sound := time.Now()
	s.speech.sound = sound
	first := sound.Add(10 * time.Millisecond)
	for _, at := range []time.Time{first, sound.Add(frameLag)} {
		s.compare(picture, painter, at)
	}
	if len(reported) != 1 || reported[0].Kind != FirstFrame || !reported[0].At.Equal(first) || !reported[0].Estimated {
		t.Errorf("reported %+v", reported)
	}
}
