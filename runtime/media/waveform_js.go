//go:build js && wasm

package media

import (
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

const (
	// waveSamples is how many samples a waveform keeps, the most that an AnalyserNode can: 683 ms at 48 kHz.
	waveSamples = 32768
	// waveLeast is the fewest that are read at once, 85 ms at 48 kHz. A read takes 7 µs for these and 91 for all.
	waveLeast = 4096
)

// waveform has the newest samples of a stream, each a byte with 128 for zero. A nil one can be closed.
type waveform struct {
	source, analyser, array js.Value
	rate                    float64
	samples                 []byte
}

func newWaveform(context, stream js.Value) (*waveform, error) {
	w := &waveform{rate: float64(max(jsbridge.NumberOf(context, "sampleRate"), 1))}
	var err error
	if w.analyser, err = jsbridge.Call(context, "createAnalyser"); err != nil {
		return nil, err
	}
	if err = w.read(waveLeast); err != nil {
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

// read sets how many samples are read at once. The analyser keeps all of them in any case.
func (w *waveform) read(samples int) (err error) {
	if w.array, err = jsbridge.New(jsbridge.Property(js.Global(), "Uint8Array"), samples); err != nil {
		return err
	}
	w.samples = make([]byte, samples)
	return jsbridge.Set(w.analyser, "fftSize", samples)
}

// since returns the samples after a time, as many as there are, and the time of the last one. They are
// valid until the next call.
func (w *waveform) since(t time.Time) (samples []byte, now time.Time, err error) {
	size := waveLeast
	for size < waveSamples && size <= w.count(time.Since(t)) {
		size *= 2
	}
	if size != len(w.samples) {
		if err := w.read(size); err != nil {
			return nil, now, err
		}
	}
	if _, err := jsbridge.Call(w.analyser, "getByteTimeDomainData", w.array); err != nil {
		return nil, now, err
	}
	now = time.Now()
	js.CopyBytesToGo(w.samples, w.array)
	return w.samples[size-min(w.count(now.Sub(t)), size):], now, nil
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
