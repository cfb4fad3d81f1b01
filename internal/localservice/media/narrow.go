package media

import "math"

// halfBandReach is how many samples the filter reaches to either side. Together with the window it leaves the telephone band up to
// 3.4 kHz alone and takes 5 kHz, which would fold to 3 kHz, down by more than 40 dB.
const halfBandReach = 23

// halfBand is a windowed sinc at a quarter of the sample rate.
var halfBand = func() (taps [2*halfBandReach + 1]float64) {
	var sum float64
	for i := range taps {
		x := float64(i - halfBandReach)
		taps[i] = 0.5
		if x != 0 {
			taps[i] = math.Sin(math.Pi*x/2) / (math.Pi * x)
		}
		taps[i] *= 0.54 + 0.46*math.Cos(math.Pi*x/(halfBandReach+1)) // Hamming
		sum += taps[i]
	}
	for i := range taps {
		taps[i] /= sum
	}
	return taps
}()

// narrowing halves the sample rate of a continuous signal, slot by slot.
type narrowing struct {
	input [2*halfBandReach + samplesPerSlot]float64 // begins with the end of the slot before
	out   [samplesPerSlot / 2]int16
}

// halve converts a slot; nil is silence. The result is valid until the next call.
func (n *narrowing) halve(pcm []int16) []int16 {
	const history = 2 * halfBandReach
	copy(n.input[:history], n.input[samplesPerSlot:])
	clear(n.input[history:])
	for i, sample := range pcm {
		n.input[history+i] = float64(sample)
	}
	for i := range n.out {
		var sum float64
		for k, tap := range halfBand {
			sum += tap * n.input[2*i+k]
		}
		n.out[i] = int16(math.Round(min(max(sum, math.MinInt16), math.MaxInt16)))
	}
	return n.out[:]
}
