//go:build js && wasm

package media

import (
	"context"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// The level's scale: the analyser gives levelBins bytes, whose sum is 0 to 4080
// (session-api A.1.1, localVadThreshold).
const (
	levelBins   = 16
	maxLevel    = levelBins * 255
	levelPeriod = 50 * time.Millisecond // session-api A.1.5, localMicLevel
)

// meter measures the level of one stream, with an AudioContext that lives as
// long as it.
type meter struct {
	stream  js.Value
	context js.Value
	stop    context.CancelFunc
}

// newMeter starts measuring the microphone's stream. Without Web Audio there is
// no level.
func newMeter(m *Microphone) *meter {
	ctx, stop := context.WithCancel(context.Background())
	mt := &meter{stream: m.capture.stream, stop: stop}
	analyser, err := mt.connect()
	if err != nil {
		m.plane.cfg.Log("warn", "the microphone's level can't be measured", map[string]any{"error": err.Error()})
		return mt
	}
	m.plane.spawn(func() {
		bins, err := jsbridge.New(property(js.Global(), "Uint8Array"), levelBins)
		ticker := time.NewTicker(levelPeriod)
		defer ticker.Stop()
		for err == nil {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if _, err = jsbridge.Call(analyser, "getByteFrequencyData", bins); err == nil {
				m.tell(Event{Kind: Level, Level: levelOf(bins)})
			}
		}
	})
	return mt
}

func (mt *meter) connect() (analyser js.Value, err error) {
	if mt.context, err = jsbridge.New(property(js.Global(), "AudioContext")); err != nil {
		return analyser, err
	}
	source, err := jsbridge.Call(mt.context, "createMediaStreamSource", mt.stream)
	if err != nil {
		return analyser, err
	}
	if analyser, err = jsbridge.Call(mt.context, "createAnalyser"); err != nil {
		return analyser, err
	}
	if err = jsbridge.Set(analyser, "fftSize", 2*levelBins); err != nil {
		return analyser, err
	}
	_, err = jsbridge.Call(source, "connect", analyser)
	return analyser, err
}

func levelOf(bins js.Value) float64 {
	var bytes [levelBins]byte
	js.CopyBytesToGo(bytes[:], bins)
	sum := 0
	for _, b := range bytes {
		sum += int(b)
	}
	return float64(sum) / maxLevel
}

// close gives the audio hardware back.
func (mt *meter) close() {
	mt.stop()
	if mt.context.Truthy() {
		_, _ = jsbridge.Call(mt.context, "close")
	}
}
