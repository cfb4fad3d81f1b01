package audio

import (
	"math"
	"math/big"
)

const (
	// The interpolating filter reaches this many zero crossings to either side; with the window below, its stop band
	// is 80 dB down.
	resampleCrossings = 16
	resampleBeta      = 8.0
	// Share of the smaller Nyquist band that passes; the rest is the filter's transition band.
	resamplePassband = 0.92
)

// Resample converts a whole sound from one sample rate to another, band-limited, without delay. Rates must be positive;
// equal rates return pcm itself.
func Resample(pcm []int16, from, to int) []int16 {
	if from == to || len(pcm) == 0 {
		return pcm
	}
	r := NewResampler(from, to)
	out := make([]int16, 0, int64(len(pcm))*int64(r.up)/int64(r.down))
	return r.Flush(r.Resample(out, pcm))
}

// Resampler converts a sound that arrives in pieces. It is not safe for concurrent use.
type Resampler struct {
	up, down int64
	filters  [][]float64
	reach    int
	recent   []int16 // the samples that filters can still reach
	first    int64   // index of recent[0] in the sound
	read     int64   // samples so far
	written  int64
}

// NewResampler returns a Resampler at the beginning of a sound. Rates must be positive.
func NewResampler(from, to int) *Resampler {
	divisor := new(big.Int).GCD(nil, nil, big.NewInt(int64(from)), big.NewInt(int64(to))).Int64()
	r := &Resampler{up: int64(to) / divisor, down: int64(from) / divisor}
	if r.up != r.down {
		r.filters, r.reach = phaseFilters(int(r.up), min(1, float64(to)/float64(from))*resamplePassband)
	}
	return r
}

// Resample appends to dst what the samples so far determine: it is behind pcm by less than 3 ms at 8 kHz, and by nothing
// with equal rates.
func (r *Resampler) Resample(dst, pcm []int16) []int16 {
	if r.filters == nil {
		return append(dst, pcm...)
	}
	r.recent = append(r.recent, pcm...)
	r.read += int64(len(pcm))
	return r.write(dst, ((r.read-int64(r.reach))*r.up+r.down-1)/r.down)
}

// Flush appends the rest of the sound to dst, and begins another sound.
func (r *Resampler) Flush(dst []int16) []int16 {
	if r.filters == nil {
		return dst
	}
	dst = r.write(dst, r.read*r.up/r.down)
	r.recent, r.first, r.read, r.written = r.recent[:0], 0, 0, 0
	return dst
}

// write appends the output samples before the one with the index end.
func (r *Resampler) write(dst []int16, end int64) []int16 {
	for ; r.written < end; r.written++ {
		position := r.written * r.down
		start := int(position/r.up-r.first) - r.reach + 1
		var sum float64
		for k, tap := range r.filters[position%r.up] {
			if j := start + k; j >= 0 && j < len(r.recent) {
				sum += tap * float64(r.recent[j])
			}
		}
		dst = append(dst, clip16(sum))
	}
	if old := int(r.written*r.down/r.up-r.first) - r.reach + 1; old > 0 {
		old = min(old, len(r.recent))
		r.recent = append(r.recent[:0], r.recent[old:]...)
		r.first += int64(old)
	}
	return dst
}

// phaseFilters returns the windowed sinc's taps for each of the positions that an output sample can have between two
// input samples. A filter spans the reach samples before its position and as many after.
func phaseFilters(phases int, cutoff float64) (filters [][]float64, reach int) {
	half := resampleCrossings / cutoff
	reach = int(math.Ceil(half))
	filters = make([][]float64, phases)
	for phase := range filters {
		taps := make([]float64, 2*reach)
		var sum float64
		for k := range taps {
			distance := float64(k-reach+1) - float64(phase)/float64(phases)
			if math.Abs(distance) < half {
				taps[k] = sinc(distance*cutoff) * kaiser(distance/half)
			}
			sum += taps[k]
		}
		for k := range taps { // unit gain in each phase; otherwise a constant input would become a tone
			taps[k] /= sum
		}
		filters[phase] = taps
	}
	return filters, reach
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

func kaiser(x float64) float64 {
	return bessel(resampleBeta*math.Sqrt(max(0, 1-x*x))) / bessel(resampleBeta)
}

// bessel is the modified Bessel function of the first kind and order zero.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-12; k++ {
		term *= (x / (2 * k)) * (x / (2 * k))
		sum += term
	}
	return sum
}

func clip16(v float64) int16 {
	return int16(math.Round(min(max(v, math.MinInt16), math.MaxInt16)))
}
