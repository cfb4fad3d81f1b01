//go:build !js

package av

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// longestFile bounds the sound of a WAV or MP3 file, which is decoded as a whole.
const longestFile = time.Hour

// FromFile opens a WAV file of 16 bit, an MP3 file, or a file of Opus in Ogg, by what it contains, not by its name. Ogg is
// sent as it is; the others are encoded, up to an hour of sound. Error: validation_error, with the cause.
func FromFile(path string) (media.Source, error) {
	refuse := func(err error) (media.Source, error) {
		return nil, fault.New(fault.ValidationError, "the sound of "+path+" can't be read; use WAV of 16 bit, MP3, or Opus in Ogg").Wrap(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return refuse(err)
	}
	var head [4]byte
	n, _ := io.ReadFull(f, head[:]) // what is too short has no known head
	if string(head[:n]) == "OggS" {
		source, err := media.Ogg(struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head[:]), f), f})
		if err != nil {
			_ = f.Close()
			return refuse(err)
		}
		return source, nil
	}
	defer f.Close()
	rest, err := io.ReadAll(f)
	if err != nil {
		return refuse(err)
	}
	pcm, rate, err := audio.DecodeFile(append(head[:n:n], rest...), longestFile)
	if err != nil {
		return refuse(err)
	}
	return FromPCM(pcm, rate)
}

// FromPCM returns a source of mono samples with rate samples a second, 8,000 to 96,000. Error: validation_error.
func FromPCM(pcm []int16, rate int) (media.Source, error) {
	rest := pcm
	return newEncoded(rate, nil, func(dst []int16) (int, error) {
		if len(rest) == 0 {
			return 0, io.EOF
		}
		n := copy(dst, rest)
		rest = rest[n:]
		return n, nil
	})
}

// FromReader returns a source of mono samples of 16 bit, little endian, with rate samples a second, 8,000 to 96,000. While r
// has nothing to read, nothing is sent. The source closes r if it is an [io.Closer]; otherwise a microphone that is stopped waits
// until the present Read returns. An error of r, or half a sample at its end, ends the microphone. Error: validation_error.
func FromReader(r io.Reader, rate int) (media.Source, error) {
	closer, _ := r.(io.Closer)
	var raw []byte
	return newEncoded(rate, closer, func(dst []int16) (int, error) {
		raw = slices.Grow(raw[:0], 2*len(dst))[:2*len(dst)]
		n, err := io.ReadFull(r, raw)
		if errors.Is(err, io.ErrUnexpectedEOF) && n%2 == 0 {
			err = nil // the next read reports the end
		}
		if err != nil {
			return 0, err
		}
		return copy(dst, audio.PCM(raw[:n])), nil
	})
}

// encoded is a source of what read returns, encoded. It reads as much as one frame needs, so that a slow reader
// delays a frame by its own length only.
type encoded struct {
	read    func([]int16) (int, error)
	closer  io.Closer
	encoder *Encoder
	raw     []int16
	samples []media.Sample // not yet returned
	ended   bool
}

func newEncoded(rate int, closer io.Closer, read func([]int16) (int, error)) (media.Source, error) {
	e, err := NewEncoder(rate)
	if err != nil {
		return nil, err
	}
	return &encoded{read: read, closer: closer, encoder: e, raw: make([]int16, audio.Samples(audio.FrameDuration, rate))}, nil
}

// Next implements [media.Source].
func (e *encoded) Next(ctx context.Context) (media.Sample, error) {
	for len(e.samples) == 0 {
		if ctx.Err() != nil {
			return media.Sample{}, ctx.Err()
		}
		if e.ended {
			return media.Sample{}, io.EOF
		}
		n, err := e.read(e.raw)
		switch {
		case errors.Is(err, io.EOF):
			e.ended = true
			e.samples, err = e.encoder.Flush()
		case err == nil:
			e.samples, err = e.encoder.Encode(e.raw[:n])
		}
		if err != nil {
			return media.Sample{}, err
		}
	}
	next := e.samples[0]
	e.samples = e.samples[1:]
	return next, nil
}

// Close closes the reader.
func (e *encoded) Close() error {
	if e.closer == nil {
		return nil
	}
	return e.closer.Close()
}
