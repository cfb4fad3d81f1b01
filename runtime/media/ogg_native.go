//go:build !js

package media

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// maxPacket bounds an Opus packet, which a lying file could make endless.
const maxPacket = 64 << 10

// The parts of an Ogg page (RFC 3533 §6).
const (
	oggHeader    = 27
	oggSegments  = 26 // where the number of segments is
	oggContinued = 1  // flag: begins in the middle of a packet
	oggFull      = 255
)

var errNotOgg = errors.New("not an Ogg stream")

// OggFile opens a file of Opus in Ogg, such as opusenc and ffmpeg write, as a
// source for OpenMicrophone.
func OggFile(path string) (Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &oggSource{file: f, reader: bufio.NewReader(f)}, nil
}

// oggSource takes packets out of pages. A page holds many packets, and a packet
// may go on in the next page.
type oggSource struct {
	file    io.Closer
	reader  *bufio.Reader
	lacing  []byte // what is left of the page's segment table
	resumed bool   // the page goes on with a packet of the page before
}

// Next implements [Source].
func (o *oggSource) Next(ctx context.Context) (Sample, error) {
	for ctx.Err() == nil {
		data, err := o.packet()
		if err != nil {
			return Sample{}, err
		}
		if head := string(data[:min(len(data), 8)]); head == "OpusHead" || head == "OpusTags" {
			continue
		}
		if d := opusDuration(data); d > 0 {
			return Sample{Data: data, Duration: d}, nil
		}
	}
	return Sample{}, ctx.Err()
}

// Close closes the file.
func (o *oggSource) Close() error { return o.file.Close() }

// packet returns the next packet, put together from its segments.
func (o *oggSource) packet() ([]byte, error) {
	var data []byte
	for {
		for len(o.lacing) == 0 {
			if err := o.page(); err != nil {
				if err == io.EOF && len(data) > 0 {
					err = io.ErrUnexpectedEOF
				}
				return nil, err
			}
			if !o.resumed {
				data = nil // the rest of a packet whose page is missing
			}
		}
		n := int(o.lacing[0])
		o.lacing = o.lacing[1:]
		start := len(data)
		if start+n > maxPacket {
			return nil, fmt.Errorf("ogg: a packet is longer than %d bytes", maxPacket)
		}
		data = append(data, make([]byte, n)...)
		if _, err := io.ReadFull(o.reader, data[start:]); err != nil {
			return nil, noEOF(err)
		}
		if n < oggFull {
			return data, nil
		}
	}
}

// page reads the header of a page.
func (o *oggSource) page() error {
	var header [oggHeader]byte
	if _, err := io.ReadFull(o.reader, header[:]); err != nil {
		return err // io.EOF between pages is the end
	}
	if !strings.HasPrefix(string(header[:]), "OggS") {
		return errNotOgg
	}
	o.resumed = header[5]&oggContinued != 0
	o.lacing = make([]byte, header[oggSegments])
	_, err := io.ReadFull(o.reader, o.lacing)
	return noEOF(err)
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// opusDuration is how long a packet sounds, by its first bytes (RFC 6716 §3.1
// and §3.2); 0 for one that can't be.
func opusDuration(packet []byte) time.Duration {
	if len(packet) == 0 {
		return 0
	}
	toc := packet[0]
	config := toc >> 3
	var frame time.Duration
	switch {
	case config < 12: // SILK
		frame = []time.Duration{10, 20, 40, 60}[config%4] * time.Millisecond
	case config < 16: // hybrid
		frame = []time.Duration{10, 20}[config%2] * time.Millisecond
	default: // CELT
		frame = 2500 * time.Microsecond << (config % 4)
	}
	frames := 1
	switch toc & 3 {
	case 1, 2:
		frames = 2
	case 3:
		if len(packet) < 2 {
			return 0
		}
		frames = int(packet[1] & 0x3F)
	}
	return time.Duration(frames) * frame
}
