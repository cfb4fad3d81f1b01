//go:build js && wasm

package media

import (
	"context"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// The measurement of the first sound.
const (
	soundPoll = 20 * time.Millisecond
	// soundPolls is how many polls with the first sound there are. Its time is the earliest of theirs, because
	// the newest sample is an old one when the browser processes sound late.
	soundPolls = 5
	soundLeast = 2 // of 128, -36 dB: the difference from zero that is sound
	// soundQuiet is how long it must be silent before, because the end of the utterance before
	// may still be played when the next one is announced.
	soundQuiet = 60 * time.Millisecond
)

// The measurement of the first frame. Without lip reading, the frame that moves is the first
// one around the first sound that changes much more than the frames before it.
const (
	frameWidth, frameHeight = 64, 36
	framePixel              = 16 // of 255: the difference that changes a pixel
	framePixels             = 4  // the fewest changed pixels of a movement
	frameLead               = 200 * time.Millisecond
	frameLag                = 300 * time.Millisecond
	framesBefore            = 3 // needed for a comparison; the first of them changes nothing
)

// speechWatch measures what the page plays. The AudioContext and the waveform exist while a page
// requests the measurement, so that a page that is late still has the samples of the beginning; the
// rest exists while the first sound of an utterance is awaited.
type speechWatch struct {
	wanted  bool
	context js.Value
	voice   *waveform       // nil without a voice
	since   time.Time       // the end of the watch before
	scope   *jsbridge.Scope // nil while nothing is awaited
	stop    context.CancelFunc

	sound   time.Time
	pixels  []byte // of the last frame
	changes []change
}

// change is how many pixels a frame changed.
type change struct {
	at     time.Time
	pixels int
}

// MeasureSpeech allows [Engine.WatchSpeech] to measure, which costs a part of a processor
// core during the first second of an utterance. A closed engine measures nothing: a page may
// add a listener while its session is closed.
func (s *renderer) MeasureSpeech(on bool) {
	w := &s.speech
	if on == w.wanted || s.closed {
		return
	}
	w.wanted = on
	if on {
		constructor := jsbridge.Property(js.Global(), "AudioContext")
		if jsbridge.IsFunction(constructor) {
			w.context, _ = jsbridge.New(constructor)
		}
		s.measureVoice()
		return
	}
	s.WatchSpeech(false)
	s.measureVoice()
	if !jsbridge.Absent(w.context) {
		_, _ = jsbridge.Call(w.context, "close")
		w.context = js.Undefined()
	}
}

// measureVoice keeps the samples of the voice that is played now, while a page requests the measurement.
func (s *renderer) measureVoice() {
	w := &s.speech
	w.voice.close()
	w.voice = nil
	if _, audio := s.tracks["audio"]; !audio || !w.wanted || jsbridge.Absent(w.context) {
		return
	}
	_, _ = jsbridge.Call(w.context, "resume") // allowed once the visitor has clicked
	var err error
	if w.voice, err = newWaveform(w.context, s.voice); err != nil {
		s.engine.cfg.Log("warn", "the first sound can't be measured", map[string]any{"error": err.Error()})
	}
	w.since = time.Now()
}

// WatchSpeech reports the first sound that is played, and the first frame that moves with it,
// once per call.
func (s *renderer) WatchSpeech(on bool) {
	w := &s.speech
	if w.scope != nil {
		w.stop()
		w.scope.End()
		w.scope = nil
	}
	if !on {
		w.since = time.Now()
	}
	if !on || w.voice == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	w.scope, w.stop = jsbridge.NewScope(s.engine.cfg.OnPanic), stop
	w.sound, w.pixels, w.changes = time.Time{}, nil, nil
	_, _ = jsbridge.Call(w.context, "resume") // allowed once the visitor has clicked
	s.engine.spawn(func() { s.awaitSound(ctx, w.voice, w.since) })
	s.awaitMovement(w.scope)
}

// awaitSound awaits the first sound after since.
func (s *renderer) awaitSound(ctx context.Context, voice *waveform, since time.Time) {
	poll := time.NewTicker(soundPoll)
	defer poll.Stop()
	last := time.Now()
	var sound time.Time
	late := false
	for found := 0; found < soundPolls; {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		samples, now, err := voice.since(since)
		if err != nil {
			return
		}
		first, loud := onset(samples, voice.count(soundQuiet))
		if found > 0 && !loud {
			break // a page that is so late that the first sound is not kept any more
		}
		if loud {
			if at := voice.at(now, len(samples)-first); found == 0 || at.Before(sound) {
				sound = at
			}
			if found == 0 { // a page that was late by more than the length has not seen all samples
				late = now.Sub(last) > voice.length()
			}
			found++
		}
		last = now
	}
	s.hear(sound, late)
}

// onset returns the first sample that is no silence and has that many silent samples before it.
func onset(samples []byte, quiet int) (first int, found bool) {
	silent := 0
	for i, b := range samples {
		if amplitude(b) < soundLeast {
			silent++
		} else if silent >= quiet {
			return i, true
		} else {
			silent = 0
		}
	}
	return 0, false
}

func (s *renderer) hear(at time.Time, estimated bool) {
	s.speech.sound = at
	s.engine.cfg.OnSpeech(Event{Kind: FirstSound, At: at, Estimated: estimated})
}

// awaitMovement compares the frames that are shown, until the first that moves is found.
func (s *renderer) awaitMovement(scope *jsbridge.Scope) {
	el := s.video.el
	if !s.video.bound || !jsbridge.IsFunction(jsbridge.Property(el, "requestVideoFrameCallback")) {
		return
	}
	canvas, err := jsbridge.New(jsbridge.Property(js.Global(), "OffscreenCanvas"), frameWidth, frameHeight)
	if err != nil {
		return // an older browser
	}
	painter, err := jsbridge.Call(canvas, "getContext", "2d", map[string]any{"willReadFrequently": true})
	if err != nil {
		return
	}
	over := false
	var handle js.Value
	var shown js.Value
	next := func() { handle, _ = jsbridge.Call(el, "requestVideoFrameCallback", shown) }
	shown = scope.Func(func(_ js.Value, args []js.Value) any {
		if over || len(args) < 2 {
			return nil
		}
		at := time.Now()
		if t := jsbridge.Property(args[1], "presentationTime"); t.Type() == js.TypeNumber {
			at = jsbridge.TimeOf(t.Float())
		}
		if s.compare(el, painter, at) {
			over = true
			return nil
		}
		next()
		return nil
	})
	scope.OnEnd(func() {
		over = true
		_, _ = jsbridge.Call(el, "cancelVideoFrameCallback", handle)
	})
	next()
}

// compare adds a frame, and reports whether the first that moves is known.
func (s *renderer) compare(el, painter js.Value, at time.Time) bool {
	w := &s.speech
	if _, err := jsbridge.Call(painter, "drawImage", el, 0, 0, frameWidth, frameHeight); err != nil {
		return true
	}
	image, err := jsbridge.Call(painter, "getImageData", 0, 0, frameWidth, frameHeight)
	if err != nil {
		return true
	}
	pixels := make([]byte, 4*frameWidth*frameHeight)
	js.CopyBytesToGo(pixels, jsbridge.Property(image, "data"))
	// The first frame has none to be compared with, but on a busy page it may be the one shown with the sound.
	n := 0
	if w.pixels != nil {
		n = changed(w.pixels, pixels)
	}
	w.changes = append(w.changes, change{at, n})
	w.pixels = pixels
	if w.sound.IsZero() {
		return false
	}
	frame, estimated, found := firstMoved(w.changes, w.sound, at)
	if found {
		s.engine.cfg.OnSpeech(Event{Kind: FirstFrame, At: frame, Estimated: estimated})
	}
	return found
}

// changed counts the pixels that differ.
func changed(a, b []byte) (n int) {
	for i := 0; i < len(a); i += 4 {
		if d := int(a[i+1]) - int(b[i+1]); d >= framePixel || -d >= framePixel { // green is most of the brightness
			n++
		}
	}
	return n
}

// firstMoved returns the first frame of changes that moves with a sound. If none does by
// frameLag after the sound, it is the first one that was shown with the sound.
func firstMoved(changes []change, sound, now time.Time) (at time.Time, estimated, found bool) {
	most, before := 0, 0
	for _, c := range changes {
		if c.at.Before(sound.Add(-frameLead)) {
			most, before = max(most, c.pixels), before+1
		} else if before >= framesBefore && c.pixels >= max(framePixels, 2*most+1) {
			return c.at, false, true
		}
	}
	if now.Before(sound.Add(frameLag)) {
		return at, false, false
	}
	for _, c := range changes {
		if !c.at.Before(sound) {
			return c.at, true, true
		}
	}
	return at, false, false
}
