//go:build js && wasm

package media

import (
	"strings"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Platform has the settings of a page: elements, and options of the microphone.
// Undefined and null are the defaults.
type Platform struct {
	// VideoEl is the element that shows the picture, and plays the voice unless `audioEl` is
	// set.
	VideoEl js.Value `json:"videoEl" ts:"HTMLMediaElement | null" check:"element"`
	// AudioEl is the element that plays the voice.
	AudioEl js.Value `json:"audioEl" ts:"HTMLMediaElement | null" check:"element"`
	// MicConstraints are merged over the default constraints, which request echo
	// cancellation, noise suppression and automatic gain control; with false none of these
	// is requested (protocol §5.4).
	MicConstraints js.Value `json:"micConstraints" ts:"MediaTrackConstraints | false"`
	// NoiseProcessor is the page's own audio processing. It gets the microphone's stream
	// and returns the stream to send; a falsy result leaves the microphone's stream as it is.
	NoiseProcessor js.Value `json:"noiseProcessor" ts:"(stream: MediaStream) => Promised<MediaStream | { stream: MediaStream; stop(): void } | null | undefined | false>" check:"function"`
	// OnPanic is called with a bug that was caught in a callback of this package.
	OnPanic func(error) `json:"-"`
}

// Check returns a bad_request if VideoEl or AudioEl is no media element.
func (p *Platform) Check() error {
	if err := CheckElement("videoEl", p.VideoEl); err != nil {
		return err
	}
	return CheckElement("audioEl", p.AudioEl)
}

type platformEngine struct{ scope *jsbridge.Scope }

func (e *Engine) begin() {
	e.scope = jsbridge.NewScope(e.cfg.OnPanic)
	e.microphone = &microphone{engine: e, enabled: true, muteDelay: muteDelay}
	e.renderer = newRenderer(e)
}

// spawn runs fn on a goroutine; a panic in it is reported and does not end the
// page.
func (e *Engine) spawn(fn func()) { e.scope.Go(fn) }

// guard runs fn on the calling goroutine, and reports a panic as spawn does.
func (e *Engine) guard(fn func()) { e.scope.Do(fn) }

// Close releases the microphone and the elements.
func (e *Engine) Close() {
	e.MeasureLevel(false)
	e.StopMic()
	e.renderer.close()
	e.scope.End()
	e.free()
}

func isFirefox() bool {
	return strings.Contains(jsbridge.StringOf(navigator(), "userAgent"), "Firefox/")
}

func navigator() js.Value { return jsbridge.Property(js.Global(), "navigator") }

func document() js.Value { return jsbridge.Property(js.Global(), "document") }

// CheckElement returns a bad_request for a value that can't be a media element.
// Undefined and null, which mean no element, are allowed.
func CheckElement(name string, el js.Value) error {
	if jsbridge.Absent(el) {
		return nil
	}
	if !jsbridge.Property(el, "srcObject").IsUndefined() && jsbridge.IsFunction(jsbridge.Property(el, "play")) {
		return nil
	}
	return fault.New(fault.BadRequest, name+" must be a media element: it needs srcObject and play()")
}
