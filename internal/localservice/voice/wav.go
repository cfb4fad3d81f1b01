package voice

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	riffHeader  = 12 // "RIFF", length, "WAVE"
	chunkHeader = 8  // name, length
	formatSize  = 16
	formatPCM   = 1
	// WAVE_FORMAT_EXTENSIBLE; its sub-format is plain PCM wherever there are 16 bits.
	formatExtensible = 0xfffe

	lowestRate, highestRate = 8000, 96000
)

// decodeWAV reads 16 bit PCM, mixed to mono. Lengths that exceed the data are taken as "to the end", because a writer to
// a pipe has no way to fill them in.
func decodeWAV(data []byte) (pcm []int16, rate int, err error) {
	if len(data) < riffHeader || string(data[:4]) != "RIFF" || string(data[8:12]) != "WAVE" {
		return nil, 0, errors.New("decode WAV: no RIFF header")
	}
	channels := 0
	for data = data[riffHeader:]; len(data) >= chunkHeader; {
		name, length := string(data[:4]), int64(binary.LittleEndian.Uint32(data[4:]))
		data = data[chunkHeader:]
		body := data[:min(length, int64(len(data)))]
		switch name {
		case "fmt ":
			if channels, rate, err = decodeFormat(body); err != nil {
				return nil, 0, err
			}
		case "data":
			if channels == 0 {
				return nil, 0, errors.New("decode WAV: data without format")
			}
			return mono(body, channels), rate, nil
		}
		data = data[min(length+length%2, int64(len(data))):]
	}
	return nil, 0, errors.New("decode WAV: no data")
}

func decodeFormat(body []byte) (channels, rate int, err error) {
	if len(body) < formatSize {
		return 0, 0, errors.New("decode WAV: short format")
	}
	format := binary.LittleEndian.Uint16(body)
	channels = int(binary.LittleEndian.Uint16(body[2:]))
	rate64 := binary.LittleEndian.Uint32(body[4:])
	bits := binary.LittleEndian.Uint16(body[14:])
	if format != formatPCM && format != formatExtensible || bits != 16 || channels < 1 || channels > 8 ||
		rate64 < lowestRate || rate64 > highestRate {
		return 0, 0, fmt.Errorf("decode WAV: format %d with %d channels of %d bits at %d Hz", format, channels, bits, rate64)
	}
	return channels, int(rate64), nil
}

// mono is the mean of interleaved channels.
func mono(data []byte, channels int) []int16 {
	pcm := make([]int16, len(data)/2/channels)
	for i := range pcm {
		sum := 0
		for c := range channels {
			sum += int(int16(binary.LittleEndian.Uint16(data[2*(i*channels+c):])))
		}
		pcm[i] = int16(sum / channels)
	}
	return pcm
}
