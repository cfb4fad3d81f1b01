package audio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hajimehoshi/go-mp3"
)

// ErrTooLong means that a file plays longer than it may.
var ErrTooLong = errors.New("the sound is too long")

// DecodeFile reads a WAV file of 16 bit, or an MP3 file, mixed to mono. It stops with
// [ErrTooLong] once the sound is longer than limit.
func DecodeFile(data []byte, limit time.Duration) (pcm []int16, rate int, err error) {
	if IsWAV(data) {
		pcm, rate, err = DecodeWAV(data)
		if err == nil && Duration(len(pcm), rate) > limit {
			err = ErrTooLong
		}
		return pcm, rate, err
	}
	defer func() {
		if p := recover(); p != nil { // the library reads beyond its tables for some damaged frames
			pcm, rate, err = nil, 0, fmt.Errorf("decode MP3: %v", p)
		}
	}()
	decoder, err := mp3.NewDecoder(bytes.NewReader(data))
	if err != nil {
		return nil, 0, fmt.Errorf("decode MP3: %w", err)
	}
	rate = decoder.SampleRate()
	most := int64(Samples(limit, rate)) + 1
	const frame = 4 // bytes of a sample of both channels
	raw, err := io.ReadAll(io.LimitReader(decoder, most*frame))
	if err != nil {
		return nil, 0, fmt.Errorf("decode MP3: %w", err)
	}
	if int64(len(raw)) >= most*frame {
		return nil, 0, ErrTooLong
	}
	if pcm = mono(PCM(raw), 2); len(pcm) == 0 {
		return nil, 0, errors.New("decode MP3: no sound")
	}
	return pcm, rate, nil
}
