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
	soundPoll    = 20 * time.Millisecond
	soundSamples = 2048 // of the analyser: 43 ms at 48 kHz, more than two polls
	soundLeast   = 2    // of 128, -36 dB: the difference from zero that is sound
	// soundQuiet is how long the end of the utterance before must be silent, which may still
	// be played when the next one is announced.
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
	framesBefore            = 3 // needed for a comparison
)

// speechWatch measures what the page plays. The AudioContext exists while a page wants the
// measurement, the rest while the first sound of an utterance is awaited.
type speechWatch struct {
	wanted  bool
	context js.Value
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
// core during the first second of an utterance.
func (s *renderer) MeasureSpeech(on bool) {
	w := &s.speech
	if on == w.wanted {
		return
	}
	w.wanted = on
	if on {
		constructor := property(js.Global(), "AudioContext")
		if isFunction(constructor) {
			w.context, _ = jsbridge.New(constructor)
		}
		return
	}
	s.WatchSpeech(false)
	if !missing(w.context) {
		_, _ = jsbridge.Call(w.context, "close")
		w.context = js.Undefined()
	}
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
	if _, audio := s.tracks["audio"]; !on || !w.wanted || !audio || missing(w.context) {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	w.scope, w.stop = jsbridge.NewScope(s.engine.cfg.OnPanic), stop
	w.sound, w.pixels, w.changes = time.Time{}, nil, nil
	if analyser, err := s.analyser(w.scope); err == nil {
		s.engine.spawn(func() { s.awaitSound(ctx, analyser) })
	} else {
		s.engine.cfg.Log("warn", "the first sound can't be measured", map[string]any{"error": err.Error()})
	}
	s.awaitMovement(w.scope)
}

// analyser returns a new analyser of the voice, until the scope ends.
func (s *renderer) analyser(scope *jsbridge.Scope) (js.Value, error) {
	_, _ = jsbridge.Call(s.speech.context, "resume") // allowed once the visitor has clicked
	source, err := jsbridge.Call(s.speech.context, "createMediaStreamSource", s.voice)
	if err != nil {
		return source, err
	}
	analyser, err := jsbridge.Call(s.speech.context, "createAnalyser")
	if err == nil {
		err = jsbridge.Set(analyser, "fftSize", soundSamples)
	}
	if err == nil {
		_, err = jsbridge.Call(source, "connect", analyser)
	}
	scope.OnEnd(func() { _, _ = jsbridge.Call(source, "disconnect") })
	return analyser, err
}

func (s *renderer) awaitSound(ctx context.Context, analyser js.Value) {
	array, err := jsbridge.New(property(js.Global(), "Uint8Array"), soundSamples)
	if err != nil {
		return
	}
	rate := max(numberOf(s.speech.context, "sampleRate"), 1)
	samples := make([]byte, soundSamples)
	length := time.Second * soundSamples / time.Duration(rate)
	poll := time.NewTicker(soundPoll)
	defer poll.Stop()
	last := time.Now()
	quiet := last
	silent := false
	for {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		if _, err := jsbridge.Call(analyser, "getByteTimeDomainData", array); err != nil {
			return
		}
		now := time.Now()
		js.CopyBytesToGo(samples, array)
		first, loud := onset(samples)
		switch {
		case !loud:
			silent = silent || now.Sub(quiet) >= soundQuiet
		case silent:
			at := now.Add(-length * time.Duration(soundSamples-first) / soundSamples)
			// A slow page has not seen all samples since the last poll.
			s.hear(at, now.Sub(last) > length)
			return
		default:
			quiet = now
		}
		last = now
	}
}

// onset returns the first sample that is no silence.
func onset(samples []byte) (first int, found bool) {
	for i, b := range samples {
		if d := int(b) - 128; d >= soundLeast || -d >= soundLeast {
			return i, true
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
	if !s.video.bound || !isFunction(property(el, "requestVideoFrameCallback")) {
		return
	}
	canvas, err := jsbridge.New(property(js.Global(), "OffscreenCanvas"), frameWidth, frameHeight)
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
		if t := property(args[1], "presentationTime"); t.Type() == js.TypeNumber {
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
	js.CopyBytesToGo(pixels, property(image, "data"))
	if w.pixels != nil {
		w.changes = append(w.changes, change{at, changed(w.pixels, pixels)})
	}
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
