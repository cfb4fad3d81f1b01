//go:build js && wasm

package media

import (
	"context"
	"errors"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// Screen is the page's elements and the streams behind them (wire-protocol
// §6.9, session-api D.2). The streams live as long as the screen, and tracks
// are swapped inside them, so that elements keep their binding through
// recoveries. It is used by the page's one thread.
type Screen struct {
	plane        *Plane
	video, audio element

	// all is the merged stream that the page may have, pictures and voice are
	// its halves for separate elements. They are made with the first track.
	all, pictures, voice js.Value
	tracks               map[string]js.Value // by kind

	// What was chosen; nil leaves the element as the page made it.
	muted  *bool
	volume *float64
	output *string

	gate  *gate // of the present subscription, nil before the first
	on    func(Event)
	watch *jsbridge.Scope // what is observed for gate
}

func newScreen(p *Plane) *Screen {
	s := &Screen{plane: p, tracks: map[string]js.Value{}, on: func(Event) {}}
	s.video = element{screen: s, kind: "video", el: p.cfg.VideoEl}
	s.audio = element{screen: s, kind: "audio", el: p.cfg.AudioEl}
	s.watch = jsbridge.NewScope(p.cfg.OnPanic)
	return s
}

// Stream returns the MediaStream with picture and voice, undefined before the
// first track. It is the same object for the life of the screen.
func (s *Screen) Stream() js.Value { return s.all }

// VideoEl and AudioEl return the present elements.
func (s *Screen) VideoEl() js.Value { return s.video.el }

// AudioEl returns the present audio element.
func (s *Screen) AudioEl() js.Value { return s.audio.el }

// SetVideoEl takes another element for the picture; null takes none. The error
// is bad_request.
func (s *Screen) SetVideoEl(el js.Value) error { return s.swap(&s.video, "videoEl", el) }

// SetAudioEl takes another element for the voice; null merges it back into the
// picture's. The error is bad_request.
func (s *Screen) SetAudioEl(el js.Value) error { return s.swap(&s.audio, "audioEl", el) }

func (s *Screen) swap(e *element, name string, el js.Value) error {
	if err := CheckElement(name, el); err != nil {
		return err
	}
	if e.el.Equal(el) {
		return nil
	}
	e.unbind()
	e.el = el
	s.arrange(false)
	s.applyOutput()
	s.observe()
	return nil
}

// attach puts a new track into the streams, in place of the one of its kind.
// The picture's facts go to g, the rest to on. Resume plays an element again
// that stopped when the track before ended.
func (s *Screen) attach(t Track, resume bool, g *gate, on func(Event)) {
	track, ok := t.Native.(js.Value)
	if !ok || t.Kind != "video" && t.Kind != "audio" {
		return
	}
	s.gate, s.on = g, on
	if err := s.insert(t.Kind, track); err != nil {
		on(Event{Kind: AttachFailed, Media: t.Kind, Err: err})
		return
	}
	s.arrange(resume)
	s.applyOutput()
	s.observe()
}

func (s *Screen) insert(kind string, track js.Value) error {
	if s.all.IsUndefined() {
		constructor := property(js.Global(), "MediaStream")
		if !isFunction(constructor) {
			return errors.New("this browser has no MediaStream")
		}
		for _, stream := range []*js.Value{&s.all, &s.pictures, &s.voice} {
			var err error
			if *stream, err = jsbridge.New(constructor); err != nil {
				return err
			}
		}
	}
	before, had := s.tracks[kind]
	s.tracks[kind] = track
	for _, stream := range s.with(kind) {
		if had {
			_, _ = jsbridge.Call(stream, "removeTrack", before)
		}
		if _, err := jsbridge.Call(stream, "addTrack", track); err != nil {
			return err
		}
	}
	return nil
}

// with returns the streams that hold tracks of a kind.
func (s *Screen) with(kind string) []js.Value {
	if kind == "video" {
		return []js.Value{s.all, s.pictures}
	}
	return []js.Value{s.all, s.voice}
}

// arrange binds each element to its stream, once there is a track for it.
func (s *Screen) arrange(resume bool) {
	_, video := s.tracks["video"]
	_, audio := s.tracks["audio"]
	if missing(s.audio.el) {
		if video || audio {
			s.video.bind(s.all, resume)
		}
		return
	}
	if audio {
		s.audio.bind(s.voice, resume)
	}
	if video {
		s.video.bind(s.pictures, resume)
	}
}

// speaker is the element that the voice comes out of.
func (s *Screen) speaker() js.Value {
	if missing(s.audio.el) {
		return s.video.el
	}
	return s.audio.el
}

// applyOutput makes the present speaker as was chosen.
func (s *Screen) applyOutput() {
	el := s.speaker()
	if missing(el) {
		return
	}
	// A setter that throws is a page's own element, which is its business.
	if s.muted != nil {
		_ = jsbridge.Set(el, "muted", *s.muted)
	}
	if s.volume != nil {
		_ = jsbridge.Set(el, "volume", *s.volume)
	}
	if s.output != nil && stringOf(el, "sinkId") != *s.output {
		id := *s.output
		s.plane.spawn(func() { s.route(context.Background(), el, id) })
	}
}

// SetMuted silences the voice, or lets it be heard.
func (s *Screen) SetMuted(muted bool) {
	s.muted = &muted
	s.applyOutput()
}

// SetVolume sets the voice's volume, 0 to 1.
func (s *Screen) SetVolume(v float64) {
	s.volume = &v
	s.applyOutput()
}

// SetOutput chooses the speaker, "" for the default; false if that is refused
// or unsupported. It is remembered for an element that comes later.
func (s *Screen) SetOutput(ctx context.Context, deviceID string) bool {
	el := s.speaker()
	if missing(el) {
		el = property(property(js.Global(), "HTMLMediaElement"), "prototype")
		if !isFunction(property(el, "setSinkId")) {
			return false
		}
	} else if !s.route(ctx, el, deviceID) {
		return false
	}
	s.output = &deviceID
	return true
}

func (s *Screen) route(ctx context.Context, el js.Value, deviceID string) bool {
	if !isFunction(property(el, "setSinkId")) {
		return false
	}
	promise, err := jsbridge.Call(el, "setSinkId", deviceID)
	if err == nil {
		_, err = jsbridge.Await(ctx, promise)
	}
	if err != nil {
		s.plane.cfg.Log("warn", "the speaker can't be used", map[string]any{"error": err.Error()})
	}
	return err == nil
}

// Resume plays what the browser refused to play, and reports whether all of it
// plays now. The calls are made before Resume first waits, so that a click
// counts as their reason.
func (s *Screen) Resume(ctx context.Context) bool {
	type attempt struct {
		promise js.Value
		err     error
	}
	var attempts []attempt
	for _, e := range []*element{&s.video, &s.audio} {
		if e.bound {
			promise, err := jsbridge.Call(e.el, "play")
			attempts = append(attempts, attempt{promise, err})
		}
	}
	plays := len(attempts) > 0
	for _, a := range attempts {
		if a.err == nil {
			_, a.err = jsbridge.Await(ctx, a.promise)
		}
		plays = plays && a.err == nil
	}
	if plays && s.gate != nil {
		s.gate.learn(func(f *facts) { f.blocked = false })
	}
	return plays
}

// Clear takes the tracks off the elements and keeps the bindings for the next
// connect.
func (s *Screen) Clear() {
	s.watch.End()
	s.gate, s.on = nil, func(Event) {}
	for kind, track := range s.tracks {
		_, _ = jsbridge.Call(track, "stop")
		for _, stream := range s.with(kind) {
			_, _ = jsbridge.Call(stream, "removeTrack", track)
		}
	}
	clear(s.tracks)
	s.video.unbind()
	s.audio.unbind()
}

// close lets go of the page's objects, which an idle program would keep for long.
func (s *Screen) close() {
	s.Clear()
	s.video.el, s.audio.el = js.Null(), js.Null()
	s.all, s.pictures, s.voice = js.Undefined(), js.Undefined(), js.Undefined()
}
