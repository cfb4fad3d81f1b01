//go:build !js

package media

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"
	pionmedia "github.com/pion/webrtc/v4/pkg/media"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Source is a microphone outside a page: Opus samples, which are sent in real
// time however fast they come.
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

// silence is what is sent while muted and after the end of the source, because
// a browser's microphone never stops sending either: one frame of 20 ms.
var silence = Sample{Data: []byte{0xF8, 0xFF, 0xFE}, Duration: 20 * time.Millisecond}

// maxBehind is how far sending may be behind the clock and still catch up. After
// more, as when a laptop slept, it goes on from where it is.
const maxBehind = time.Second

// Microphone sends a [Source] to the uplinks.
type Microphone struct {
	plane *Plane
	track *webrtc.TrackLocalStaticSample // the same one in every uplink

	mu        sync.Mutex
	uplink    *Uplink
	enabled   bool
	playing   *playing // nil while not started
	announced bool
}

// playing is a source that is being sent.
type playing struct {
	source Source
	stop   context.CancelFunc
}

func newMicrophone(p *Plane) *Microphone {
	// The parameters are constant; the constructor has nothing to refuse.
	track, _ := webrtc.NewTrackLocalStaticSample(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "audio", "microphone")
	return &Microphone{plane: p, track: track, enabled: true}
}

// Start opens the default device and sends it. With a live microphone it does
// nothing. The error is mic_not_found.
func (m *Microphone) Start(ctx context.Context) error {
	if m.Started() {
		return nil
	}
	return m.Switch(ctx, "")
}

// Switch takes another device in place of the present one; that stays if there
// is an error, which is mic_not_found.
func (m *Microphone) Switch(_ context.Context, deviceID string) error {
	if m.plane.cfg.OpenMicrophone == nil {
		return fault.New(fault.MicNotFound, "this session was given no microphone")
	}
	source, err := m.plane.cfg.OpenMicrophone(deviceID)
	if err != nil {
		return fault.New(fault.MicNotFound, "the microphone's source can't be opened").Because(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &playing{source: source, stop: stop}
	m.mu.Lock()
	before := m.playing
	m.playing = p
	m.mu.Unlock()
	if before != nil {
		before.end()
	}
	m.plane.spawn(func() { m.send(ctx, p) })
	m.announce()
	return nil
}

func (p *playing) end() {
	p.stop()
	if closer, ok := p.source.(io.Closer); ok {
		_ = closer.Close()
	}
}

// Started reports whether a source is being sent.
func (m *Microphone) Started() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.playing != nil
}

// SetEnabled mutes and unmutes; a muted source goes on unheard.
func (m *Microphone) SetEnabled(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.enabled = on
}

// Stop closes the source.
func (m *Microphone) Stop() {
	m.mu.Lock()
	p := m.playing
	m.playing, m.announced = nil, false
	m.mu.Unlock()
	if p != nil {
		p.end()
	}
}

// WantLevel does nothing: the samples are encoded.
func (m *Microphone) WantLevel(bool) {}

// send sends the source of p in real time.
func (m *Microphone) send(ctx context.Context, p *playing) {
	due := time.Now()
	for spoken := false; ; {
		sample := silence
		if !spoken {
			next, err := p.source.Next(ctx)
			switch {
			case ctx.Err() != nil:
				return
			case errors.Is(err, io.EOF):
				spoken = true
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

// write sends a sample, or silence as long as it.
func (m *Microphone) write(s Sample) {
	m.mu.Lock()
	enabled := m.enabled
	m.mu.Unlock()
	if !enabled {
		s.Data = silence.Data
	}
	// A peer that can't take it says so by its state.
	_ = m.track.WriteSample(pionmedia.Sample{Data: s.Data, Duration: s.Duration})
}

// lose ends a microphone whose source failed.
func (m *Microphone) lose(p *playing, err error) {
	m.mu.Lock()
	present := m.playing == p
	u := m.uplink
	m.mu.Unlock()
	if !present {
		return
	}
	m.Stop()
	if u != nil {
		u.receive(Event{Kind: MicEnded, Err: fault.New(fault.MicNotFound, "the microphone's source failed").Because(err)})
	}
}

// announce says once that the microphone is attached: it always is to an uplink
// that is there.
func (m *Microphone) announce() {
	m.mu.Lock()
	u := m.uplink
	first := u != nil && m.playing != nil && !m.announced
	m.announced = m.announced || first
	m.mu.Unlock()
	if first {
		u.receive(Event{Kind: MicStarted})
	}
}

// join makes u the present uplink.
func (m *Microphone) join(u *Uplink) {
	m.mu.Lock()
	m.uplink = u
	m.mu.Unlock()
	m.announce()
}

func (m *Microphone) leave(u *Uplink) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.uplink == u {
		m.uplink = nil
	}
}
