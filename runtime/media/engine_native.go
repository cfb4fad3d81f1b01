//go:build !js

package media

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/webrtc/v4"
)

// Platform has the functions that a native program uses in place of elements and devices.
type Platform struct {
	// OnTrack receives the agent's tracks, each on a goroutine of its own. Packets that
	// it has not read when it returns, or all if it is nil, are read and discarded. The
	// track ends with the peer.
	OnTrack func(*webrtc.TrackRemote)
	// OpenMicrophone opens the source of the visitor's voice; "" is the default device.
	// Without it there is no microphone. The source is closed when the microphone is
	// stopped or switched, if it is an io.Closer.
	OpenMicrophone func(deviceID string) (Source, error)
	// OnMicrophoneSample receives what the microphone sends, also the silence while it is
	// muted. It must not block.
	OnMicrophoneSample func(Sample)
}

type platformEngine struct {
	tasks  sync.WaitGroup
	speech atomic.Bool // the first sound of an utterance is awaited
}

// WatchSpeech reports the first packet of the voice that is not silent, once per call. The
// packets are not decoded, so that this is an estimate: silence has few different bytes,
// whatever the codec.
func (e *Engine) WatchSpeech(on bool) { e.speech.Store(on) }

// hear handles the payload of a packet of the voice.
func (e *Engine) hear(payload []byte) {
	if e.speech.Load() && !silent(payload) && e.speech.CompareAndSwap(true, false) {
		e.cfg.OnSpeech(Event{Kind: FirstSound, At: time.Now(), Estimated: true})
	}
}

// silentBytes is the most different byte values in a packet of silence.
const silentBytes = 16

func silent(payload []byte) bool {
	var seen [256]bool
	different := 0
	for _, b := range payload {
		if !seen[b] {
			seen[b] = true
			different++
		}
	}
	return different <= silentBytes
}

func (e *Engine) begin() {
	e.microphone = newMicrophone(e)
	e.renderer = &renderer{}
}

func (e *Engine) spawn(fn func()) { e.tasks.Go(fn) }

// guard runs fn; natively a panic is not recovered.
func (e *Engine) guard(fn func()) { fn() }

// Close stops the microphone and waits until the closed peers have ended. It
// must not be called from OnTrack.
func (e *Engine) Close() {
	e.StopMic()
	e.tasks.Wait()
	e.free()
}

func isFirefox() bool { return false }

// renderer replaces the renderer of a page. Natively tracks go to
// [Platform].OnTrack, and there is nothing to set.
type renderer struct{}

// attach only lets the readiness wait for a frame, because the peer reports the first key frame.
// The tracks go to OnTrack.
func (r *renderer) attach(_ Track, _ bool, ready *readiness, _ func(Event)) {
	ready.update(func(f *facts) { f.element, f.frames = true, true })
}

// SetOutputMuted does nothing.
func (r *renderer) SetOutputMuted(bool) {}

// SetOutputVolume does nothing.
func (r *renderer) SetOutputVolume(float64) {}

// SetOutputDevice returns false: there is no speaker.
func (r *renderer) SetOutputDevice(context.Context, string) bool { return false }

// ResumePlayback returns true: nothing waits for a click.
func (r *renderer) ResumePlayback(context.Context) bool { return true }

// ClearTracks does nothing.
func (r *renderer) ClearTracks() {}
