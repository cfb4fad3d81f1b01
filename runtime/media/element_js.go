//go:build js && wasm

package media

import (
	"context"
	"errors"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// readyToPlay is HTMLMediaElement.HAVE_FUTURE_DATA: what canplay announces.
const readyToPlay = 3

// element is one of the page's media elements, or none.
type element struct {
	screen *Screen
	kind   string // "video" or "audio"
	el     js.Value
	bound  bool
	stream js.Value // what it is bound to
	stop   context.CancelFunc
}

// bind shows stream in the element. srcObject is written once per binding, and
// play called once; after a recovery an element that stopped is played again.
func (e *element) bind(stream js.Value, resume bool) {
	if missing(e.el) {
		return
	}
	if e.bound && e.stream.Equal(stream) {
		if resume && property(e.el, "paused").Truthy() {
			e.play()
		}
		return
	}
	e.unbind()
	// Without it an iPhone takes the picture to the full screen.
	_ = jsbridge.Set(e.el, "playsInline", true)
	if err := jsbridge.Set(e.el, "srcObject", stream); err != nil {
		e.screen.on(Event{Kind: AttachFailed, Media: e.kind, Err: err})
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
	on := e.screen.on
	promise, err := jsbridge.Call(e.el, "play")
	e.screen.plane.spawn(func() {
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

// observe collects the facts of the playable gate from the picture's element.
func (s *Screen) observe() {
	s.watch.End()
	if s.gate == nil {
		return
	}
	s.watch = jsbridge.NewScope(s.plane.cfg.OnPanic)
	g, el := s.gate, s.video.el
	s.listen(document(), "visibilitychange", func() { g.learn(func(f *facts) { f.hidden = hidden() }) })
	frames := isFunction(property(el, "requestVideoFrameCallback"))
	g.learn(func(f *facts) { f.element, f.frames, f.hidden = s.video.bound, frames, hidden() })
	if !s.video.bound {
		return
	}
	canPlay := func() {
		if numberOf(el, "readyState") >= readyToPlay {
			g.learn(func(f *facts) {
				if f.canPlay.IsZero() {
					f.canPlay = time.Now()
				}
			})
		}
		s.size(false, numberOf(el, "videoWidth"), numberOf(el, "videoHeight"))
	}
	s.listen(el, "canplay", canPlay)
	s.listen(el, "resize", canPlay) // when the size becomes known, or changes
	canPlay()
	if frames {
		s.awaitFrame(el)
	}
}

func (s *Screen) listen(target js.Value, event string, fn func()) {
	// A target that can't be listened to says nothing; the gate has its timers.
	_, _ = s.watch.Listen(target, event, func(js.Value) { fn() })
}

// awaitFrame is told of the next frame that is painted.
func (s *Screen) awaitFrame(el js.Value) {
	painted := s.watch.Func(func(_ js.Value, args []js.Value) any {
		if len(args) > 1 {
			s.size(true, numberOf(args[1], "width"), numberOf(args[1], "height"))
		}
		return nil
	})
	handle, err := jsbridge.Call(el, "requestVideoFrameCallback", painted)
	if err == nil {
		s.watch.OnEnd(func() { _, _ = jsbridge.Call(el, "cancelVideoFrameCallback", handle) })
	}
}

func (s *Screen) size(painted bool, width, height int) {
	if width > 0 {
		s.on(Event{Kind: VideoSize, Picture: Picture{Width: width, Height: height}, painted: painted})
	}
}

func hidden() bool { return stringOf(document(), "visibilityState") == "hidden" }
