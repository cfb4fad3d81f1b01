package media

import (
	"math"
	"testing"
)

// throughHalf returns the gain in dB of a tone that is halved slot by slot.
func throughHalf(hertz float64) float64 {
	const amplitude, slots = 10000, 20
	var n narrowing
	var power float64
	for slot := range slots {
		pcm := make([]int16, samplesPerSlot)
		for i := range pcm {
			pcm[i] = int16(math.Round(amplitude * math.Sin(2*math.Pi*hertz*float64(slot*samplesPerSlot+i)/voiceRate)))
		}
		for _, sample := range n.halve(pcm) {
			if slot > 0 { // the filter has settled
				power += float64(sample) * float64(sample)
			}
		}
	}
	power /= float64((slots - 1) * samplesPerSlot / 2)
	return 10 * math.Log10(power/(amplitude*amplitude/2))
}

func TestNarrowingKeepsTheTelephoneBand(t *testing.T) {
	for _, hertz := range []float64{200, 1000, 3000, 3400} {
		if gain := throughHalf(hertz); math.Abs(gain) > 0.5 {
			t.Errorf("gain at %v Hz is %.2f dB, want 0 within 0.5", hertz, gain)
		}
	}
	for _, hertz := range []float64{5000, 6000, 7500} {
		if gain := throughHalf(hertz); gain > -40 {
			t.Errorf("gain at %v Hz is %.1f dB, want at most -40", hertz, gain)
		}
	}
}
