//go:build js && wasm

package media

import (
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// waveSamples is how many samples a waveform keeps, the most that an AnalyserNode can: 683 ms at 48 kHz.
const waveSamples = 32768

// waveform has the newest samples of a stream, each a byte with 128 for zero. A nil one can be closed.
type waveform struct {
	source, analyser, array js.Value
	rate                    float64
	samples                 []byte
}

func newWaveform(context, stream js.Value) (*waveform, error) {
	w := &waveform{rate: float64(max(numberOf(context, "sampleRate"), 1)), samples: make([]byte, waveSamples)}
	var err error
	if w.array, err = jsbridge.New(property(js.Global(), "Uint8Array"), waveSamples); err != nil {
		return nil, err
	}
	if w.analyser, err = jsbridge.Call(context, "createAnalyser"); err != nil {
		return nil, err
	}
	if err = jsbridge.Set(w.analyser, "fftSize", waveSamples); err != nil {
		return nil, err
	}
	if w.source, err = jsbridge.Call(context, "createMediaStreamSource", stream); err != nil {
		return nil, err
	}
	if _, err = jsbridge.Call(w.source, "connect", w.analyser); err != nil {
		return nil, err
	}
	return w, nil
}

// since returns the samples after a time, as many as there are, and the time of the last one. They are
// valid until the next call.
func (w *waveform) since(t time.Time) (samples []byte, now time.Time, err error) {
	if _, err := jsbridge.Call(w.analyser, "getByteTimeDomainData", w.array); err != nil {
		return nil, now, err
	}
	now = time.Now()
	js.CopyBytesToGo(w.samples, w.array)
	return w.samples[waveSamples-min(w.count(now.Sub(t)), waveSamples):], now, nil
}

// amplitude is a sample's difference from zero, of 128.
func amplitude(sample byte) int {
	d := int(sample) - 128
	return max(d, -d)
}

// at returns the time of the sample that many before now.
func (w *waveform) at(now time.Time, before int) time.Time {
	return now.Add(-time.Duration(float64(before) / w.rate * float64(time.Second)))
}

// count returns how many samples are recorded in d.
func (w *waveform) count(d time.Duration) int { return max(int(d.Seconds()*w.rate), 0) }

// length is how long the samples last that are kept.
func (w *waveform) length() time.Duration {
	return time.Duration(waveSamples / w.rate * float64(time.Second))
}

func (w *waveform) close() {
	if w != nil {
		_, _ = jsbridge.Call(w.source, "disconnect")
	}
}
