package audio

import "math"

const (
	// Windows this far below the loudest one count as silent.
	loudnessRange = 32.0 // dB
	// Below this level everything is silent, however quiet the rest.
	loudnessFloor = -50.0 // dB of full scale
)

// Loudness measures consecutive windows of pcm, each window samples long (the last may be shorter), on a scale from 0,
// silent, to 1, the loudest window of pcm. The scale is logarithmic, as hearing is, and relative, so that a quiet voice
// moves a mouth as much as a loud one.
func Loudness(pcm []int16, window int) []float64 {
	if window <= 0 || len(pcm) == 0 {
		return nil
	}
	levels := make([]float64, 0, (len(pcm)+window-1)/window)
	loudest := loudnessFloor
	for start := 0; start < len(pcm); start += window {
		level := Level(pcm[start:min(start+window, len(pcm))])
		levels = append(levels, level)
		loudest = max(loudest, level)
	}
	silent := max(loudest-loudnessRange, loudnessFloor)
	for i, level := range levels {
		levels[i] = 0
		if level > silent {
			levels[i] = (level - silent) / (loudest - silent)
		}
	}
	return levels
}

// Level is the RMS level of pcm in dB of full scale; digital silence is negative infinity.
func Level(pcm []int16) float64 {
	var sum float64
	for _, sample := range pcm {
		sum += float64(sample) * float64(sample)
	}
	if sum == 0 {
		return math.Inf(-1)
	}
	return 10 * math.Log10(sum/float64(len(pcm))/(-math.MinInt16*-math.MinInt16))
}
