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

// Resample converts pcm from one sample rate to another, band-limited, without delay. It is meant for whole
// utterances: consecutive pieces of one signal would have artefacts where they meet. Rates must be positive; equal
// rates return pcm itself.
func Resample(pcm []int16, from, to int) []int16 {
	if from == to || len(pcm) == 0 {
		return pcm
	}
	divisor := int(new(big.Int).GCD(nil, nil, big.NewInt(int64(from)), big.NewInt(int64(to))).Int64())
	up, down := to/divisor, from/divisor
	filters, reach := phaseFilters(up, min(1, float64(to)/float64(from))*resamplePassband)

	out := make([]int16, int(int64(len(pcm))*int64(up)/int64(down)))
	for i := range out {
		position := int64(i) * int64(down)
		filter := filters[position%int64(up)]
		first := int(position/int64(up)) - reach + 1
		var sum float64
		for k, tap := range filter {
			if j := first + k; j >= 0 && j < len(pcm) {
				sum += tap * float64(pcm[j])
			}
		}
		out[i] = clip16(sum)
	}
	return out
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
