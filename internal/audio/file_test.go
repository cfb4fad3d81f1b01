package audio

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// silentMP3 returns a file of silence: frames of MPEG-1 layer III with 128 kbit/s, 44.1 kHz and two channels, without any
// side information.
func silentMP3(frames int) []byte {
	const size = 144 * 128000 / 44100
	frame := make([]byte, size)
	copy(frame, []byte{0xff, 0xfb, 0x90, 0x00})
	return bytes.Repeat(frame, frames)
}

// TestNoiseIsNoPanic: a frame of MPEG-2 with noise in it, in which the library reads beyond its tables now and then.
func TestNoiseIsNoPanic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		file := []byte{0xff, 0xf3, 0x80, 0x00}
		for range 1500 {
			file = append(file, byte(random.Uint32()))
		}
		DecodeFile(file, time.Second) //nolint:errcheck // an error, or sound
	}
}

func TestDecodeFile(t *testing.T) {
	speech := make([]int16, 8000)
	for i := range speech {
		speech[i] = int16(i)
	}
	pcm, rate, err := DecodeFile(EncodeWAV(speech, 8000), time.Second)
	if err != nil || rate != 8000 || len(pcm) != len(speech) || pcm[7999] != 7999 {
		t.Errorf("WAV: %d samples at %d, %v", len(pcm), rate, err)
	}
	pcm, rate, err = DecodeFile(silentMP3(50), 2*time.Second)
	if length := Duration(len(pcm), max(rate, 1)); err != nil || rate != 44100 || length < time.Second || length > 1400*time.Millisecond {
		t.Errorf("MP3: %s at %d, %v", length, rate, err)
	}
	for name, file := range map[string][]byte{"WAV": EncodeWAV(speech, 8000), "MP3": silentMP3(50)} {
		if _, _, err := DecodeFile(file, 500*time.Millisecond); !errors.Is(err, ErrTooLong) {
			t.Errorf("a long %s: %v", name, err)
		}
	}
	for name, file := range map[string][]byte{"nothing": nil, "text": []byte("hello"), "a tag alone": []byte("ID3")} {
		if _, _, err := DecodeFile(file, time.Second); err == nil || errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
