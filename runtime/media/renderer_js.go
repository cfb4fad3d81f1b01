//go:build js && wasm

package media

import (
	"context"
	"errors"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// renderer has the page's elements and the streams that they play (protocol
// §6.9, session §D.2). The streams live as long as the renderer, and tracks
// are swapped inside them, so that elements keep their binding through
// recoveries. It needs no lock, because a page has one thread.
type renderer struct {
	engine       *Engine
	video, audio element

	// all is the stream with both tracks, which AvatarStream returns; pictures and voice
	// have one track each, for separate elements. They are made with the first track.
	all, pictures, voice js.Value
	tracks               map[string]js.Value // by kind

	// The output settings; nil leaves the element as the page made it.
	muted  *bool
	volume *float64
	output *string

	readiness *readiness // of the present subscription, nil before the first
	on        func(Event)
	watch     *jsbridge.Scope // has the listeners that collect the facts of readiness

	speech speechWatch
	closed bool // for good
}

func newRenderer(p *Engine) *renderer {
	s := &renderer{engine: p, tracks: map[string]js.Value{}, on: func(Event) {}}
	s.video = element{renderer: s, kind: "video", el: p.cfg.VideoEl}
	s.audio = element{renderer: s, kind: "audio", el: p.cfg.AudioEl}
	s.watch = jsbridge.NewScope(p.cfg.OnPanic)
	return s
}

// AvatarStream returns the MediaStream with picture and voice, undefined before the
// first track. It is the same object for the life of the renderer.
func (s *renderer) AvatarStream() js.Value { return s.all }

// VideoEl returns the present element for the picture.
func (s *renderer) VideoEl() js.Value { return s.video.el }

// AudioEl returns the present element for the voice.
func (s *renderer) AudioEl() js.Value { return s.audio.el }

// SetVideoEl replaces the element for the picture; null removes it. The error is
// bad_request.
func (s *renderer) SetVideoEl(el js.Value) error { return s.swap(&s.video, "videoEl", el) }

// SetAudioEl replaces the element for the voice; with null the picture's element plays
// the voice. The error is bad_request.
func (s *renderer) SetAudioEl(el js.Value) error { return s.swap(&s.audio, "audioEl", el) }

func (s *renderer) swap(e *element, name string, el js.Value) error {
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

// attach puts a new track into the streams, in place of the track of its kind.
// ready gets the facts about the picture, on the events. With resume an element that
// stopped when the track before ended is played again.
func (s *renderer) attach(t Track, resume bool, ready *readiness, on func(Event)) {
	track, ok := t.Native.(js.Value)
	if !ok || t.Kind != "video" && t.Kind != "audio" {
		return
	}
	s.readiness, s.on = ready, on
	if err := s.insert(t.Kind, track); err != nil {
		on(Event{Kind: AttachFailed, Media: t.Kind, Err: err})
		return
	}
	if t.Kind == "audio" {
		s.measureVoice()
	}
	s.arrange(resume)
	s.applyOutput()
	s.observe()
}

func (s *renderer) insert(kind string, track js.Value) error {
	if s.all.IsUndefined() {
		constructor := jsbridge.Property(js.Global(), "MediaStream")
		if !jsbridge.IsFunction(constructor) {
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

// with returns the streams that contain the track of a kind.
func (s *renderer) with(kind string) []js.Value {
	if kind == "video" {
		return []js.Value{s.all, s.pictures}
	}
	return []js.Value{s.all, s.voice}
}

// arrange binds each element to its stream, once there is a track for it.
func (s *renderer) arrange(resume bool) {
	_, video := s.tracks["video"]
	_, audio := s.tracks["audio"]
	if jsbridge.Absent(s.audio.el) {
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

// speaker returns the element that plays the voice.
func (s *renderer) speaker() js.Value {
	if jsbridge.Absent(s.audio.el) {
		return s.video.el
	}
	return s.audio.el
}

// applyOutput applies the output settings to the element that plays the voice.
func (s *renderer) applyOutput() {
	el := s.speaker()
	if jsbridge.Absent(el) {
		return
	}
	// Only an element of the page's own class can throw here; that is ignored.
	if s.muted != nil {
		_ = jsbridge.Set(el, "muted", *s.muted)
	}
	if s.volume != nil {
		_ = jsbridge.Set(el, "volume", *s.volume)
	}
	if s.output != nil && jsbridge.StringOf(el, "sinkId") != *s.output {
		id := *s.output
		s.engine.spawn(func() { s.route(context.Background(), el, id) })
	}
}

// SetOutputMuted mutes the voice and unmutes it.
func (s *renderer) SetOutputMuted(muted bool) {
	s.muted = &muted
	s.applyOutput()
}

// SetOutputVolume sets the voice's volume, 0 to 1.
func (s *renderer) SetOutputVolume(v float64) {
	s.volume = &v
	s.applyOutput()
}

// SetOutputDevice chooses the speaker, "" for the default. It returns false if that is
// refused or unsupported. The choice is kept for an element that is set later.
func (s *renderer) SetOutputDevice(ctx context.Context, deviceID string) bool {
	el := s.speaker()
	if jsbridge.Absent(el) {
		el = jsbridge.Property(jsbridge.Property(js.Global(), "HTMLMediaElement"), "prototype")
		if !jsbridge.IsFunction(jsbridge.Property(el, "setSinkId")) {
			return false
		}
	} else if !s.route(ctx, el, deviceID) {
		return false
	}
	s.output = &deviceID
	return true
}

func (s *renderer) route(ctx context.Context, el js.Value, deviceID string) bool {
	if !jsbridge.IsFunction(jsbridge.Property(el, "setSinkId")) {
		return false
	}
	promise, err := jsbridge.Call(el, "setSinkId", deviceID)
	if err == nil {
		_, err = jsbridge.Await(ctx, promise)
	}
	if err != nil {
		s.engine.cfg.Log("warn", "the speaker can't be used", map[string]any{"error": err.Error()})
	}
	return err == nil
}

// ResumePlayback plays the elements after the browser refused to, and reports whether all
// of them play now. It calls play before it first waits, so that the visitor's click permits
// the calls.
func (s *renderer) ResumePlayback(ctx context.Context) bool {
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
	if plays && s.readiness != nil {
		s.readiness.update(func(f *facts) { f.blocked = false })
	}
	return plays
}

// ClearTracks stops the tracks and removes them from the streams and the elements. The
// streams and the elements are kept for the next connect.
func (s *renderer) ClearTracks() {
	s.WatchSpeech(false)
	s.watch.End()
	s.readiness, s.on = nil, func(Event) {}
	for kind, track := range s.tracks {
		_, _ = jsbridge.Call(track, "stop")
		for _, stream := range s.with(kind) {
			_, _ = jsbridge.Call(stream, "removeTrack", track)
		}
	}
	clear(s.tracks)
	s.measureVoice()
	s.video.unbind()
	s.audio.unbind()
}

// close drops the references to the page's objects, which an idle program would keep alive
// for long.
func (s *renderer) close() {
	s.ClearTracks()
	s.MeasureSpeech(false)
	s.closed = true
	s.video.el, s.audio.el = js.Null(), js.Null()
	s.all, s.pictures, s.voice = js.Undefined(), js.Undefined(), js.Undefined()
}

// readyToPlay is HTMLMediaElement.HAVE_FUTURE_DATA, the state that canplay reports.
const readyToPlay = 3

// element is one of the page's media elements, or none.
type element struct {
	renderer *renderer
	kind     string // "video" or "audio"
	el       js.Value
	bound    bool
	stream   js.Value // what it is bound to
	stop     context.CancelFunc
}

// bind shows stream in the element. srcObject is written once per binding, and
// play called once; after a recovery an element that stopped is played again.
func (e *element) bind(stream js.Value, resume bool) {
	if jsbridge.Absent(e.el) {
		return
	}
	if e.bound && e.stream.Equal(stream) {
		if resume && jsbridge.Property(e.el, "paused").Truthy() {
			e.play()
		}
		return
	}
	e.unbind()
	// Without playsInline an iPhone plays the picture in full screen.
	_ = jsbridge.Set(e.el, "playsInline", true)
	if err := jsbridge.Set(e.el, "srcObject", stream); err != nil {
		e.renderer.on(Event{Kind: AttachFailed, Media: e.kind, Err: err})
		return
	}
	e.bound, e.stream = true, stream
	e.play()
}

func (e *element) play() {
	if e.stop != nil {
		e.stop()
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	on := e.renderer.on
	promise, err := jsbridge.Call(e.el, "play")
	e.renderer.engine.spawn(func() {
		if err == nil {
			_, err = jsbridge.Await(ctx, promise) // pending until there is something to play
		}
		var thrown *jsbridge.Error
		switch {
		case err == nil || ctx.Err() != nil || !errors.As(err, &thrown):
		case thrown.Name == "NotAllowedError":
			on(Event{Kind: PlaybackBlocked, Media: e.kind})
		case thrown.Name == "AbortError": // the page paused, moved or loaded the element itself
		default:
			on(Event{Kind: AttachFailed, Media: e.kind, Err: err})
		}
	})
}

func (e *element) unbind() {
	if !e.bound {
		return
	}
	e.stop()
	e.bound, e.stream = false, js.Undefined()
	_ = jsbridge.Set(e.el, "srcObject", js.Null())
}

// observe collects the facts of the readiness from the picture's element.
func (s *renderer) observe() {
	s.watch.End()
	if s.readiness == nil {
		return
	}
	s.watch = jsbridge.NewScope(s.engine.cfg.OnPanic)
	ready, el := s.readiness, s.video.el
	s.listen(document(), "visibilitychange", func() { ready.update(func(f *facts) { f.hidden = hidden() }) })
	frames := jsbridge.IsFunction(jsbridge.Property(el, "requestVideoFrameCallback"))
	ready.update(func(f *facts) { f.element, f.frames, f.hidden = s.video.bound, frames, hidden() })
	if !s.video.bound {
		return
	}
	canPlay := func() {
		if jsbridge.NumberOf(el, "readyState") >= readyToPlay {
			ready.update(func(f *facts) {
				if f.canPlay.IsZero() {
					f.canPlay = time.Now()
				}
			})
		}
		s.size(false, jsbridge.NumberOf(el, "videoWidth"), jsbridge.NumberOf(el, "videoHeight"))
	}
	s.listen(el, "canplay", canPlay)
	s.listen(el, "resize", canPlay) // when the size becomes known, or changes
	canPlay()
	if frames {
		s.awaitFrame(el)
	}
}

func (s *renderer) listen(target js.Value, event string, fn func()) {
	// Without a listener the timers of the readiness are enough.
	_ = s.watch.Listen(target, event, func(js.Value) { fn() })
}

// awaitFrame reports the size of the next frame that is painted.
func (s *renderer) awaitFrame(el js.Value) {
	painted := s.watch.Func(func(_ js.Value, args []js.Value) any {
		if len(args) > 1 {
			s.size(true, jsbridge.NumberOf(args[1], "width"), jsbridge.NumberOf(args[1], "height"))
		}
		return nil
	})
	handle, err := jsbridge.Call(el, "requestVideoFrameCallback", painted)
	if err == nil {
		s.watch.OnEnd(func() { _, _ = jsbridge.Call(el, "cancelVideoFrameCallback", handle) })
	}
}

func (s *renderer) size(painted bool, width, height int) {
	if width > 0 {
		s.on(Event{Kind: VideoSize, Picture: Picture{Width: width, Height: height}, painted: painted})
	}
}

func hidden() bool { return jsbridge.StringOf(document(), "visibilityState") == "hidden" }
