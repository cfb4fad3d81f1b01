package audio

// PCMURate is the sample rate of PCMU, in samples a second.
const PCMURate = 8000

const (
	// µ-law adds a bias so that every segment starts at a power of two, and clips where the bias would overflow
	// (ITU-T G.711).
	ulawBias = 0x84
	ulawClip = 32635
)

// EncodePCMU appends one frame of [FrameDuration] in G.711 µ-law, 160 bytes, to dst. It takes the same 16 kHz samples as
// [G722.Encode] and halves their rate by the mean of each pair: enough for the few clients that offer nothing better.
func EncodePCMU(dst []byte, pcm []int16) []byte {
	for i := 0; i < g722FrameSamples; i += 2 {
		dst = append(dst, ulaw((int(sampleAt(pcm, i))+int(sampleAt(pcm, i+1)))/2))
	}
	return dst
}

// ulaw encodes one sample as a sign bit, three bits of segment and four of mantissa, all inverted.
func ulaw(value int) byte {
	sign := byte(0)
	if value < 0 {
		value, sign = -value, 0x80
	}
	value = min(value, ulawClip) + ulawBias
	segment := 7
	for mask := 0x4000; segment > 0 && value&mask == 0; mask >>= 1 {
		segment--
	}
	return ^(sign | byte(segment)<<4 | byte(value>>(segment+3))&0x0f)
}

// DecodePCMU appends one 8 kHz sample to dst for each byte of payload.
func DecodePCMU(dst []int16, payload []byte) []int16 {
	for _, code := range payload {
		code = ^code
		value := (int(code&0x0f)<<3+ulawBias)<<(code>>4&7) - ulawBias
		if code&0x80 != 0 {
			value = -value
		}
		dst = append(dst, int16(value))
	}
	return dst
}
