//go:build !js

package media

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"
	pionmedia "github.com/pion/webrtc/v4/pkg/media"

	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Source is a microphone outside a page. It has Opus samples, which are sent in real
// time however fast Next returns them.
type Source interface {
	// Next returns the next sample. io.EOF is the end of the speech, after
	// which the microphone is silent; another error ends the microphone.
	Next(ctx context.Context) (Sample, error)
}

// Sample is one Opus packet.
type Sample struct {
	Data     []byte
	Duration time.Duration
}

// Silence returns what is sent while muted and after the end of the source, because
// a browser's microphone never stops sending either: one frame of 20 ms.
func Silence() Sample {
	return Sample{Data: []byte{0xF8, 0xFF, 0xFE}, Duration: 20 * time.Millisecond}
}

// maxBehind is the greatest delay that sending catches up on. After a longer one, as
// when a laptop slept, the schedule begins again.
const maxBehind = time.Second

// microphone sends a [Source] to the publishers.
type microphone struct {
	engine *Engine
	track  *webrtc.TrackLocalStaticSample // the same one in every publisher

	mu        sync.Mutex
	publisher *Publisher
	enabled   bool
	playing   *playing // nil while not started
	stops     int      // counts the calls of StopMic
	announced bool
}

// playing is a source that is being sent.
type playing struct {
	source Source
	stop   context.CancelFunc
}

func newMicrophone(p *Engine) *microphone {
	// The constructor can't fail, because its parameters are constant.
	track, _ := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "audio", "microphone")
	return &microphone{engine: p, track: track, enabled: true}
}

// StartMic opens the default device and sends it. With a live microphone it does
// nothing. Errors are those of SwitchMic.
func (m *microphone) StartMic(ctx context.Context) error {
	if m.MicStarted() {
		return nil
	}
	return m.SwitchMic(ctx, "")
}

// SwitchMic replaces the present device, which stays in use if there is an error. A source
// that is opened when ctx has ended, or after StopMic, is closed at once. Errors: mic_not_found;
// invalid_state when StopMic was called meanwhile; the cause of the end of ctx.
func (m *microphone) SwitchMic(ctx context.Context, deviceID string) error {
	m.mu.Lock()
	stops := m.stops
	m.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.engine.cfg.OpenMicrophone == nil {
		return fault.New(fault.MicNotFound, "this session has no microphone; set OpenMicrophone")
	}
	source, err := m.engine.cfg.OpenMicrophone(deviceID)
	if err != nil {
		return fault.New(fault.MicNotFound, "the microphone's source can't be opened").Wrap(err)
	}
	sending, stop := context.WithCancel(context.Background())
	p := &playing{source: source, stop: stop}
	if before, err := m.use(ctx, p, stops); err != nil {
		p.end()
		return err
	} else if before != nil {
		before.end()
	}
	m.engine.spawn(func() { m.send(sending, p) })
	m.announce()
	return nil
}

// use makes p the source that is sent, unless ctx has ended or StopMic was called since there
// were that many stops, and returns the source before.
func (m *microphone) use(ctx context.Context, p *playing, stops int) (before *playing, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.stops != stops:
		return nil, errMicStopped
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	before, m.playing = m.playing, p
	return before, nil
}

func (p *playing) end() {
	p.stop()
	if closer, ok := p.source.(io.Closer); ok {
		_ = closer.Close()
	}
}

// MicStarted reports whether a source is being sent.
func (m *microphone) MicStarted() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.playing != nil
}

// SetMicEnabled mutes and unmutes; the samples of a muted source are read and discarded.
func (m *microphone) SetMicEnabled(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.enabled = on
}

// StopMic closes the source.
func (m *microphone) StopMic() {
	m.mu.Lock()
	p := m.playing
	m.playing, m.announced = nil, false
	m.stops++
	m.mu.Unlock()
	if p != nil {
		p.end()
	}
}

// MeasureLevel does nothing: the samples are encoded.
func (m *microphone) MeasureLevel(bool) {}

// send sends the source of p in real time.
func (m *microphone) send(ctx context.Context, p *playing) {
	due := time.Now()
	for spoken := false; ; {
		sample := Silence()
		if !spoken {
			next, err := p.source.Next(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(err, io.EOF):
				spoken = true
				m.report(Event{Kind: SourceEnded, At: time.Now()})
			case err != nil:
				m.lose(p, err)
				return
			case next.Duration <= 0:
				continue
			default:
				sample = next
			}
		}
		m.write(sample)
		due = due.Add(sample.Duration)
		if time.Since(due) > maxBehind {
			due = time.Now()
		}
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return
		}
	}
}

// write sends a sample, or silence of the same duration while muted.
func (m *microphone) write(s Sample) {
	m.mu.Lock()
	enabled := m.enabled
	m.mu.Unlock()
	if !enabled {
		s.Data = Silence().Data
	}
	if observe := m.engine.cfg.OnMicrophoneSample; observe != nil {
		observe(s)
	}
	// If sending fails, the state of the peer reports it.
	_ = m.track.WriteSample(pionmedia.Sample{Data: s.Data, Duration: s.Duration})
}

// lose ends a microphone whose source failed.
func (m *microphone) lose(p *playing, err error) {
	m.mu.Lock()
	present := m.playing == p
	m.mu.Unlock()
	if !present {
		return
	}
	m.StopMic()
	m.report(Event{Kind: MicEnded, Err: fault.New(fault.MicNotFound, "the microphone's source failed").Wrap(err)})
}

// announce reports MicStarted once, when there is a source and a publisher: the track is
// attached to every publisher.
func (m *microphone) announce() {
	m.mu.Lock()
	first := m.publisher != nil && m.playing != nil && !m.announced
	m.announced = m.announced || first
	m.mu.Unlock()
	if first {
		m.report(Event{Kind: MicStarted})
	}
}

func (m *microphone) report(ev Event) {
	ev.Channel = event.ChannelASR
	m.engine.cfg.OnMicrophone(ev)
}

// join makes p the present publisher.
func (m *microphone) join(p *Publisher) {
	m.mu.Lock()
	m.publisher = p
	m.mu.Unlock()
	m.announce()
}

func (m *microphone) leave(p *Publisher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.publisher == p {
		m.publisher = nil
	}
}

// maxPacket bounds an Opus packet, which a broken file could make endless.
const maxPacket = 64 << 10

// The parts of an Ogg page (RFC 3533 §6).
const (
	oggHeader    = 27
	oggSegments  = 26 // where the number of segments is
	oggContinued = 1  // flag: begins in the middle of a packet
	oggFull      = 255
)

// opusHead begins the first packet of a stream of Opus (RFC 7845 §5.1), opusTags the second.
const (
	opusHead = "OpusHead"
	opusTags = "OpusTags"
)

var (
	errNotOgg  = errors.New("not an Ogg stream")
	errNotOpus = errors.New("an Ogg stream without Opus")
)

// Ogg returns the Opus packets of an Ogg stream (RFC 7845), such as opusenc and ffmpeg write, as a
// source, which closes r if it is an [io.Closer]. The error says what else r has.
func Ogg(r io.Reader) (Source, error) {
	o := &oggSource{from: r, reader: bufio.NewReader(r)}
	switch head, err := o.packet(); {
	case err != nil:
		return nil, noEOF(err)
	case !strings.HasPrefix(string(head), opusHead):
		return nil, errNotOpus
	}
	return o, nil
}

// oggSource reads packets from pages. A page contains many packets, and a packet
// may continue in the next page.
type oggSource struct {
	from    io.Reader
	reader  *bufio.Reader
	lacing  []byte // what is left of the page's segment table
	resumed bool   // the page begins with the rest of a packet of the page before
}

// Next implements [Source].
func (o *oggSource) Next(ctx context.Context) (Sample, error) {
	for ctx.Err() == nil {
		data, err := o.packet()
		if err != nil {
			return Sample{}, err
		}
		if head := string(data[:min(len(data), 8)]); head == opusHead || head == opusTags {
			continue
		}
		if d := opusDuration(data); d > 0 {
			return Sample{Data: data, Duration: d}, nil
		}
	}
	return Sample{}, ctx.Err()
}

// Close closes the reader.
func (o *oggSource) Close() error {
	if closer, ok := o.from.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

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

// opusDuration returns the duration of a packet, by its first bytes (RFC 6716 §3.1
// and §3.2); 0 for an invalid packet.
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
