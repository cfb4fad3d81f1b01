//go:build !js

package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/at-wat/ebml-go/mkvcore"
	"github.com/at-wat/ebml-go/webm"
	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/replay"
)

const (
	// pictureWait is how much sound waits for the first picture. After that the file has sound only.
	pictureWait = 3 * time.Second
	// voiceRate is the sample rate to which sound other than Opus is decoded.
	voiceRate = 16000
	// cuesSize is reserved for the index of a file, in bytes.
	cuesSize = 16 << 10
	// seekPreRoll and the fields of opusHead are those of RFC 7845.
	seekPreRoll = 80 * time.Millisecond
)

// stream is one track of the agent. Opus and pictures are recorded as they are; other sound is
// decoded, and encoded as Opus, which all players of WebM play.
type stream struct {
	picture bool
	start   time.Duration // of its first frame in the recording
	begun   bool          // a key frame was recorded

	decoder *av.Decoder // nil for what needs none
	encoder *av.Encoder
	next    time.Duration // of the next encoded packet
}

func newStream(codec string, start time.Duration) (*stream, error) {
	s := &stream{picture: strings.HasPrefix(codec, "video/"), start: start, next: start}
	if s.picture || codec == webrtc.MimeTypeOpus {
		return s, nil
	}
	var err error
	if s.decoder, err = av.NewDecoder(codec, voiceRate); err != nil {
		return nil, err
	}
	s.encoder, err = av.NewEncoder(voiceRate)
	return s, err
}

// block is one frame of a file.
type block struct {
	picture, key bool
	at           time.Duration // in the recording
	data         []byte
}

// largestSkew is how far the sound may be from its time before it is set right.
const largestSkew = 100 * time.Millisecond

// blocks converts a frame of sound.
func (s *stream) blocks(f av.Frame) ([]block, error) {
	at := s.start + f.Time
	if s.decoder == nil {
		return []block{{key: true, at: at, data: f.Data}}, nil
	}
	pcm, err := s.decoder.Decode(f)
	if err != nil {
		return nil, nil // a broken packet is a lost one
	}
	packets, err := s.encoder.Encode(pcm)
	if err != nil {
		return nil, err
	}
	if skew := at - s.next; skew > largestSkew || skew < -largestSkew {
		s.next = max(at, s.next)
	}
	var blocks []block
	for _, p := range packets {
		blocks = append(blocks, block{key: true, at: s.next, data: p.Data})
		s.next += p.Duration
	}
	return blocks, nil
}

// movie writes the agent's sound and picture to files: one, unless the codec or the size changes.
type movie struct {
	recorder *Recorder
	count    int
	open     *file
	waiting  []block // sound before the first picture
}

// file is one file of Matroska or WebM.
type file struct {
	writers map[bool]webm.BlockWriteCloser // by picture
	begin   time.Duration
	format  string // of the picture: its codec, size and parameters
	last    map[bool]int64

	mu  sync.Mutex
	err error
}

func (m *movie) add(s *stream, f av.Frame) error {
	if !s.picture {
		blocks, err := s.blocks(f)
		if err != nil {
			return err
		}
		if m.open == nil {
			m.waiting = append(m.waiting, blocks...)
			if len(m.waiting) > 0 && m.waiting[len(m.waiting)-1].at-m.waiting[0].at > pictureWait {
				return m.begin(m.waiting[0].at, "", nil)
			}
			return nil
		}
		return m.open.write(blocks...)
	}
	if !s.begun && !f.Key {
		return nil // can't be decoded
	}
	s.begun = true
	b := block{picture: true, key: f.Key, at: s.start + f.Time, data: f.Data}
	var private []byte
	if f.Codec == webrtc.MimeTypeH264 {
		b.data, private = avc(f.Data)
	}
	if f.Key && f.Picture != (media.Picture{}) {
		format := fmt.Sprint(f.Codec, f.Picture, private)
		if m.open == nil || m.open.format != format {
			begin := b.at
			if m.open == nil && len(m.waiting) > 0 {
				begin = min(begin, m.waiting[0].at)
			}
			if err := m.begin(begin, format, pictureEntry(f, private)); err != nil {
				return err
			}
		}
	}
	if m.open == nil || m.open.writers[true] == nil {
		return nil
	}
	return m.open.write(b)
}

// begin closes the present file and opens the next one, with a picture unless entry is nil.
func (m *movie) begin(at time.Duration, format string, entry *webm.TrackEntry) error {
	if err := m.close(); err != nil {
		return err
	}
	name, docType := "agent", "webm"
	if m.count++; m.count > 1 {
		name = fmt.Sprintf("agent-%d", m.count)
	} else {
		m.recorder.captions.begin = at
	}
	if entry != nil && entry.CodecPrivate != nil {
		name, docType = name+".mkv", "matroska"
	} else {
		name += ".webm"
	}
	out, err := os.OpenFile(filepath.Join(m.recorder.dir, name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	entries := []webm.TrackEntry{{
		Name: "voice", TrackNumber: 1, TrackUID: 1, TrackType: 2, CodecID: "A_OPUS", CodecPrivate: opusHead(),
		SeekPreRoll: uint64(seekPreRoll), Audio: &webm.Audio{SamplingFrequency: opusRate, Channels: 1},
	}}
	if entry != nil {
		entries = append(entries, *entry)
	}
	f := &file{writers: map[bool]webm.BlockWriteCloser{}, begin: at, format: format, last: map[bool]int64{}}
	header, info := *webm.DefaultEBMLHeader, *webm.DefaultSegmentInfo
	header.DocType, info.WritingApp = docType, "agentruntime"
	sorter, err := mkvcore.NewMultiTrackBlockSorter(mkvcore.WithMaxDelayedPackets(32), mkvcore.WithSortRule(mkvcore.BlockSorterWriteOutdated))
	if err != nil {
		return err
	}
	main := entries[len(entries)-1].TrackNumber
	writers, err := webm.NewSimpleBlockWriter(
		out, entries, mkvcore.WithEBMLHeader(&header), mkvcore.WithSegmentInfo(&info), mkvcore.WithBlockInterceptor(sorter),
		mkvcore.WithSeekHead(true), mkvcore.WithCues(cuesSize), mkvcore.WithMinMaxClusterDuration(main, 5000, 20000),
		mkvcore.WithOnFatalHandler(f.fail),
	)
	if err != nil {
		_ = out.Close()
		return err
	}
	f.writers[false] = writers[0]
	if entry != nil {
		f.writers[true] = writers[1]
	}
	m.open = f
	m.recorder.line(replay.Entry{At: at.Milliseconds(), File: name})
	waiting := m.waiting
	m.waiting = nil
	return f.write(waiting...)
}

// finish completes the last file.
func (m *movie) finish() error {
	if m.open == nil && len(m.waiting) > 0 { // a short sound without a picture
		if err := m.begin(m.waiting[0].at, "", nil); err != nil {
			return err
		}
	}
	return m.close()
}

func (m *movie) close() error {
	if m.open == nil {
		return nil
	}
	f := m.open
	m.open = nil
	for _, w := range f.writers {
		f.fail(w.Close())
	}
	return f.failure()
}

func (f *file) write(blocks ...block) error {
	for _, b := range blocks {
		// Times must not go back in one track, as they could where one track replaces another.
		at := max((b.at - f.begin).Milliseconds(), f.last[b.picture])
		f.last[b.picture] = at
		if _, err := f.writers[b.picture].Write(b.key, at, b.data); err != nil {
			return err
		}
	}
	return f.failure()
}

// fail keeps the first error; the muxer reports its own on another goroutine.
func (f *file) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = errors.Join(f.err, err)
}

func (f *file) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func pictureEntry(f av.Frame, private []byte) *webm.TrackEntry {
	id := "V_VP8"
	if f.Codec == webrtc.MimeTypeH264 {
		id = "V_MPEG4/ISO/AVC"
	}
	return &webm.TrackEntry{
		Name: "picture", TrackNumber: 2, TrackUID: 2, TrackType: 1, CodecID: id, CodecPrivate: private,
		Video: &webm.Video{PixelWidth: uint64(f.Picture.Width), PixelHeight: uint64(f.Picture.Height)},
	}
}

// opusHead is the codec's header (RFC 7845 §5.1): one channel, no delay.
func opusHead() []byte {
	head := append([]byte("OpusHead"), 1, 1, 0, 0)
	head = binary.LittleEndian.AppendUint32(head, opusRate)
	return append(head, 0, 0, 0)
}

// The types of H264 units that are the parameters of the decoder (H.264 §7.4.1).
const (
	nalType = 0x1F
	nalSPS  = 7
	nalPPS  = 8
)

// avc converts a picture from Annex B to units with their length, as Matroska has them, and returns the
// parameters of a key frame as AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3).
func avc(annexB []byte) (data, parameters []byte) {
	var sps, pps []byte
	for unit := range bytes.SplitSeq(annexB, []byte{0, 0, 1}) {
		unit = bytes.TrimRight(unit, "\x00") // of the next start code; a unit ends with a one
		if len(unit) == 0 {
			continue
		}
		switch unit[0] & nalType {
		case nalSPS:
			sps = unit
		case nalPPS:
			pps = unit
		}
		data = binary.BigEndian.AppendUint32(data, uint32(len(unit)))
		data = append(data, unit...)
	}
	if len(sps) < 4 || pps == nil {
		return data, nil
	}
	const (
		lengthSize = 0xFC | 3 // four bytes
		oneSPS     = 0xE0 | 1
	)
	parameters = []byte{1, sps[1], sps[2], sps[3], lengthSize, oneSPS}
	parameters = binary.BigEndian.AppendUint16(parameters, uint16(len(sps)))
	parameters = append(append(parameters, sps...), 1)
	parameters = binary.BigEndian.AppendUint16(parameters, uint16(len(pps)))
	return data, append(parameters, pps...)
}
