//go:build js && wasm

package media

import (
	"context"
	"errors"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// capture is a device that is open.
type capture struct {
	raw       js.Value // the device's stream, ours to stop
	stream    js.Value // what is sent: raw, or what the page's processor made of it
	track     js.Value
	stopExtra js.Value // the processor's stop function
	scope     *jsbridge.Scope
	muting    *time.Timer // runs while a mute is not reported yet
	muted     bool        // reported
	announced bool        // MicStarted was reported
}

// process hands the device's stream to the page's processor. What that returns
// belongs to the page: only its own stop function ends it.
func (c *capture) process(processor js.Value) error {
	if !isFunction(processor) {
		return nil
	}
	result, err := jsbridge.Invoke(processor, c.raw)
	if err == nil {
		result, err = jsbridge.Await(context.Background(), result)
	}
	if err != nil || !result.Truthy() {
		return err
	}
	c.stream = result
	if stream := property(result, "stream"); !missing(stream) {
		c.stream = stream
		if stop := property(result, "stop"); isFunction(stop) {
			c.stopExtra = result
		}
	}
	return nil
}

func audioTrack(stream js.Value) (js.Value, error) {
	tracks, err := jsbridge.Call(stream, "getAudioTracks")
	if err != nil {
		return tracks, err
	}
	track := property(tracks, "0")
	if missing(track) {
		return track, errors.New("no audio track")
	}
	return track, nil
}

func (c *capture) stopMuting() {
	if c.muting != nil {
		c.muting.Stop()
		c.muting = nil
	}
}

// end closes the device, and has the page's processor end.
func (c *capture) end() {
	c.scope.End()
	c.stopMuting()
	if tracks, err := jsbridge.Call(c.raw, "getTracks"); err == nil {
		for i := range numberOf(tracks, "length") {
			if track, err := jsbridge.Get(tracks, i); err == nil {
				_, _ = jsbridge.Call(track, "stop")
			}
		}
	}
	if c.stopExtra.IsUndefined() {
		return
	}
	if result, err := jsbridge.Call(c.stopExtra, "stop"); err == nil {
		// Awaited so that a rejection isn't an unhandled one in the page.
		c.scope.Go(func() { _, _ = jsbridge.Await(context.Background(), result) })
	}
}
