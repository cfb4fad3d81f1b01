package audio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	riffHeader  = 12 // "RIFF", length, "WAVE"
	chunkHeader = 8  // name, length
	formatPCM   = 1
	// WAVE_FORMAT_EXTENSIBLE; with 16 bits its sub-format is always plain PCM.
	formatExtensible = 0xfffe

	lowestRate, highestRate = 8000, 96000
)

// wavFormat is the chunk "fmt " of a WAV file.
type wavFormat struct {
	Format, Channels uint16
	Rate, ByteRate   uint32
	Block, Bits      uint16
}

// IsWAV reports whether data begins like a WAV file.
func IsWAV(data []byte) bool {
	return len(data) >= riffHeader && string(data[:4]) == "RIFF" && string(data[8:12]) == "WAVE"
}

// EncodeWAV returns a WAV file of mono sound with rate samples a second.
func EncodeWAV(pcm []int16, rate int) []byte {
	format := wavFormat{formatPCM, 1, uint32(rate), uint32(2 * rate), 2, 16}
	formatSize := binary.Size(format)
	var file bytes.Buffer
	for _, part := range []any{
		[]byte("RIFF"), uint32(riffHeader + formatSize + 2*chunkHeader - 8 + 2*len(pcm)), []byte("WAVEfmt "), uint32(formatSize), format,
		[]byte("data"), uint32(2 * len(pcm)), pcm,
	} {
		_ = binary.Write(&file, binary.LittleEndian, part) // a bytes.Buffer returns no error
	}
	return file.Bytes()
}

// DecodeWAV reads 16 bit PCM, mixed to mono. Lengths that exceed the data are taken as "to the end", because a writer to
// a pipe has no way to fill them in.
func DecodeWAV(data []byte) (pcm []int16, rate int, err error) {
	if !IsWAV(data) {
		return nil, 0, errors.New("decode WAV: no RIFF header")
	}
	var f wavFormat
	for data = data[riffHeader:]; len(data) >= chunkHeader; {
		name, length := string(data[:4]), int64(binary.LittleEndian.Uint32(data[4:]))
		data = data[chunkHeader:]
		body := data[:min(length, int64(len(data)))]
		switch name {
		case "fmt ":
			if _, err := binary.Decode(body, binary.LittleEndian, &f); err != nil {
				return nil, 0, fmt.Errorf("decode WAV: short format: %w", err)
			}
			if f.Format != formatPCM && f.Format != formatExtensible || f.Bits != 16 || f.Channels < 1 || f.Channels > 8 ||
				f.Rate < lowestRate || f.Rate > highestRate {
				return nil, 0, fmt.Errorf("decode WAV: format %d with %d channels of %d bits at %d Hz", f.Format, f.Channels, f.Bits, f.Rate)
			}
		case "data":
			if f.Channels == 0 {
				return nil, 0, errors.New("decode WAV: data without format")
			}
			return mono(PCM(body), int(f.Channels)), int(f.Rate), nil
		}
		data = data[min(length+length%2, int64(len(data))):]
	}
	return nil, 0, errors.New("decode WAV: no data")
}

// PCM reads samples in little-endian order.
func PCM(data []byte) []int16 {
	pcm := make([]int16, len(data)/2)
	_, _ = binary.Decode(data, binary.LittleEndian, pcm) // can't fail: pcm is as long as the data
	return pcm
}

// mono is the mean of interleaved channels.
func mono(pcm []int16, channels int) []int16 {
	mixed := make([]int16, len(pcm)/channels)
	for i := range mixed {
		sum := 0
		for _, sample := range pcm[i*channels : (i+1)*channels] {
			sum += int(sample)
		}
		mixed[i] = int16(sum / channels)
	}
	return mixed
}
