package audio

import (
	"encoding/binary"
	"slices"
	"testing"
)

// wav makes a file as a writer to a pipe does, without lengths.
func wav(rate, channels int, pcm []int16) []byte {
	file := []byte("RIFF\xff\xff\xff\xffWAVEfmt \x10\x00\x00\x00\x01\x00")
	file = binary.LittleEndian.AppendUint16(file, uint16(channels))
	file = binary.LittleEndian.AppendUint32(file, uint32(rate))
	file = binary.LittleEndian.AppendUint32(file, uint32(2*channels*rate))
	file = binary.LittleEndian.AppendUint16(file, uint16(2*channels))
	file = append(file, "\x10\x00LIST\x03\x00\x00\x00abc\x00data\xff\xff\xff\xff"...)
	for _, sample := range pcm {
		file = binary.LittleEndian.AppendUint16(file, uint16(sample))
	}
	return file
}

func TestDecodeWAVMixesChannels(t *testing.T) {
	pcm, rate, err := DecodeWAV(wav(48000, 2, []int16{100, 300, -5, -7}))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(pcm, []int16{200, -6}) || rate != 48000 {
		t.Errorf("samples %v at %d Hz", pcm, rate)
	}
}

func TestDecodeWAVReadsWhatEncodeWAVWrites(t *testing.T) {
	want := []int16{1, -2, 30000}
	pcm, rate, err := DecodeWAV(EncodeWAV(want, 16000))
	if !slices.Equal(pcm, want) || rate != 16000 || err != nil {
		t.Errorf("samples %v at %d Hz, %v", pcm, rate, err)
	}
}

func FuzzDecodeWAV(f *testing.F) {
	f.Add(wav(22050, 1, []int16{1, 2, 3}))
	f.Add(wav(48000, 2, []int16{1, 2, 3, 4})[:40])
	f.Add([]byte("RIFF\x00\x00\x00\x00WAVEdata\x02\x00\x00\x00ab"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pcm, rate, err := DecodeWAV(data)
		if err == nil && (rate < lowestRate || rate > highestRate || 2*len(pcm) > len(data)) {
			t.Errorf("%d samples at %d Hz of %d bytes", len(pcm), rate, len(data))
		}
	})
}
