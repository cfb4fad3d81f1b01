//go:build !js

package media

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// packets collects what a track sends.
type packets struct {
	webrtc.TrackLocalContext
	start time.Time
	at    []time.Duration
	data  []string
}

func (p *packets) ID() string { return "packets" }
func (p *packets) CodecParameters() []webrtc.RTPCodecParameters {
	return []webrtc.RTPCodecParameters{{RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}, PayloadType: 111}}
}
func (p *packets) SSRC() webrtc.SSRC                       { return 1 }
func (p *packets) SSRCRetransmission() webrtc.SSRC         { return 0 }
func (p *packets) SSRCForwardErrorCorrection() webrtc.SSRC { return 0 }
func (p *packets) WriteStream() webrtc.TrackLocalWriter    { return p }
func (p *packets) Write(b []byte) (int, error)             { return len(b), nil }

func (p *packets) WriteRTP(_ *rtp.Header, payload []byte) (int, error) {
	p.at = append(p.at, time.Since(p.start))
	p.data = append(p.data, string(payload))
	return len(payload), nil
}

// script is a source of given samples and an end.
type script struct {
	samples []Sample
	end     error
	closed  bool
}

func (s *script) Next(context.Context) (Sample, error) {
	if len(s.samples) == 0 {
		return Sample{}, s.end
	}
	next := s.samples[0]
	s.samples = s.samples[1:]
	return next, nil
}

func (s *script) Close() error {
	s.closed = true
	return nil
}

func TestMicrophoneSendsInRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &script{end: io.EOF, samples: []Sample{
			{Data: []byte("a"), Duration: 20 * time.Millisecond},
			{Data: []byte("b"), Duration: 60 * time.Millisecond},
			{}, // no sound, no time
			{Data: []byte("c"), Duration: 40 * time.Millisecond},
		}}
		p := New(Config{Platform: Platform{OpenMicrophone: func(string) (Source, error) { return source, nil }}})
		sent := &packets{start: time.Now()}
		must.Get(p.microphone.track.Bind(sent))(t)
		must.Do(t, p.StartMic(t.Context()))
		time.Sleep(50 * time.Millisecond)
		p.SetMicEnabled(false) // "c" is not heard
		time.Sleep(80 * time.Millisecond)
		p.SetMicEnabled(true)
		time.Sleep(20 * time.Millisecond)
		p.Close()
		quiet := string(Silence().Data)
		wantData := []string{"a", "b", quiet, quiet, quiet}
		wantAt := []time.Duration{0, 20 * time.Millisecond, 80 * time.Millisecond, 120 * time.Millisecond, 140 * time.Millisecond}
		if len(sent.data) != len(wantData) {
			t.Fatalf("sent %q at %v", sent.data, sent.at)
		}
		for i := range wantData {
			if sent.data[i] != wantData[i] || sent.at[i] != wantAt[i] {
				t.Errorf("packet %d: %q at %v, want %q at %v", i, sent.data[i], sent.at[i], wantData[i], wantAt[i])
			}
		}
		if !source.closed || p.MicStarted() {
			t.Error("the source was not closed")
		}
	})
}

// TestASourceThatIsOpenedLateIsClosed: after StopMic or the end of the context, no source is sent.
func TestASourceThatIsOpenedLateIsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(p *Engine, abort func())
		want      error
	}{
		"stopped": {func(p *Engine, _ func()) { p.StopMic() }, fault.InvalidState},
		"aborted": {func(_ *Engine, abort func()) { abort() }, context.Canceled},
	} {
		ctx, abort := context.WithCancel(t.Context())
		first, late := &script{end: io.EOF}, &script{end: io.EOF}
		var p *Engine
		p = newTestEngine(t, func(cfg *Config) {
			cfg.OpenMicrophone = func(id string) (Source, error) {
				if id == "" {
					return first, nil
				}
				c.meanwhile(p, abort)
				return late, nil
			}
		})
		must.Do(t, p.StartMic(t.Context()))
		if err := p.SwitchMic(ctx, "slow"); !errors.Is(err, c.want) || !late.closed {
			t.Errorf("%s: %v, closed %v", name, err, late.closed)
		}
		expect.Equal(t, p.MicStarted(), (name == "aborted"), "%s: started", name)
	}
}

func TestMicrophoneErrors(t *testing.T) {
	expect.Error(t, newTestEngine(t, nil).StartMic(t.Context()), fault.MicNotFound, "no source")
	broken := errors.New("broken")
	p := newTestEngine(t, func(c *Config) {
		c.OpenMicrophone = func(string) (Source, error) { return nil, broken }
	})
	if err := p.StartMic(t.Context()); !errors.Is(err, fault.MicNotFound) || !errors.Is(err, broken) || p.MicStarted() {
		t.Errorf("broken source: %v", err)
	}
	j := newJournal()
	p = newTestEngine(t, func(c *Config) { // without a publisher
		c.OpenMicrophone = func(string) (Source, error) { return &script{end: broken}, nil }
		c.OnMicrophone = j.notify
	})
	must.Do(t, p.StartMic(t.Context()))
	j.await(t, describe(Event{Kind: MicEnded, Channel: event.ChannelASR, Err: fault.New(fault.MicNotFound, "the microphone's source failed").Wrap(broken)}))
	if p.MicStarted() {
		t.Error("still started")
	}
}

// page makes an Ogg page.
func page(flags byte, lacing []byte, body ...byte) []byte {
	p := append([]byte("OggS\x00"), flags)
	p = append(p, make([]byte, 20)...)
	p = append(p, byte(len(lacing)))
	return append(append(p, lacing...), body...)
}

func TestOggPackets(t *testing.T) {
	fill := func(n int, first byte) []byte { return append([]byte{first}, bytes.Repeat([]byte{7}, n-1)...) }
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	head := join(page(2, []byte{19}, append([]byte("OpusHead"), make([]byte, 11)...)...), page(0, []byte{16}, append([]byte("OpusTags"), make([]byte, 8)...)...))
	const celt20 = 0xF8
	for _, test := range []struct {
		name string
		file []byte
		want []int // lengths
		err  error
	}{
		{"empty", nil, nil, io.ErrUnexpectedEOF},
		{"only headers", head, nil, io.EOF},
		{"two packets in a page", join(head, page(0, []byte{3, 5}, join(fill(3, celt20), fill(5, celt20))...)), []int{3, 5}, io.EOF},
		{"laced", join(head, page(0, []byte{255, 45, 4}, join(fill(300, celt20), fill(4, celt20))...)), []int{300, 4}, io.EOF},
		{"laced to the byte", join(head, page(0, []byte{255, 0, 4}, join(fill(255, celt20), fill(4, celt20))...)), []int{255, 4}, io.EOF},
		{"over two pages", join(head, page(0, []byte{2, 255}, join(fill(2, celt20), fill(255, celt20))...), page(1, []byte{10}, fill(10, 1)...)), []int{2, 265}, io.EOF},
		{"its end is missing", join(head, page(0, []byte{255}, fill(255, celt20)...), page(0, []byte{4}, fill(4, celt20)...)), []int{4}, io.EOF},
		{"an empty page", join(head, page(0, nil), page(0, []byte{4}, fill(4, celt20)...)), []int{4}, io.EOF},
		{"cut in a page", join(head, page(0, []byte{9}, 1, 2)), nil, io.ErrUnexpectedEOF},
		{"cut between pages", join(head, page(0, []byte{255}, fill(255, celt20)...)), nil, io.ErrUnexpectedEOF},
		{"no Opus", page(2, []byte{9}, []byte("\x01vorbis\x00\x00")...), nil, errNotOpus},
		{"no Ogg", bytes.Repeat([]byte("RIFF"), 20), nil, errNotOgg},
	} {
		t.Run(test.name, func(t *testing.T) {
			source, err := Ogg(bytes.NewReader(test.file))
			if err != nil {
				if len(test.want) > 0 || !errors.Is(err, test.err) {
					t.Errorf("refused: %v", err)
				}
				return
			}
			defer source.(io.Closer).Close()
			for i := 0; ; i++ {
				s, err := source.Next(t.Context())
				if err != nil {
					if i != len(test.want) || !errors.Is(err, test.err) {
						t.Errorf("after %d packets: %v", i, err)
					}
					return
				}
				if i >= len(test.want) || len(s.Data) != test.want[i] || s.Duration != 20*time.Millisecond {
					t.Fatalf("packet %d: %d bytes of %v", i, len(s.Data), s.Duration)
				}
			}
		})
	}
}

func TestSpeechFileLasts(t *testing.T) {
	source := must.Get(openSpeech())(t)
	defer source.(io.Closer).Close()
	var total time.Duration
	for {
		s, err := source.Next(t.Context())
		if err == io.EOF {
			break
		}
		must.Do(t, err)
		total += s.Duration
	}
	if total < time.Second || total > time.Minute {
		t.Errorf("%v of speech", total)
	}
}

func TestOpusDuration(t *testing.T) {
	ms := time.Millisecond
	for _, test := range []struct {
		packet []byte
		want   time.Duration
	}{
		{nil, 0},
		{[]byte{0 << 3}, 10 * ms},
		{[]byte{3 << 3}, 60 * ms},
		{[]byte{5<<3 | 1}, 40 * ms},
		{[]byte{12 << 3}, 10 * ms},
		{[]byte{15<<3 | 2}, 40 * ms},
		{[]byte{16 << 3}, 2500 * time.Microsecond},
		{[]byte{31 << 3}, 20 * ms},
		{[]byte{31<<3 | 3}, 0},
		{[]byte{31<<3 | 3, 6}, 120 * ms},
	} {
		expect.Equal(t, opusDuration(test.packet), test.want, "%v", test.packet)
	}
}

func FuzzOgg(f *testing.F) {
	f.Add(page(0, []byte{255, 0, 4}, 1, 2, 3))
	f.Fuzz(func(t *testing.T, file []byte) {
		source, err := Ogg(bytes.NewReader(file))
		if err != nil {
			return
		}
		defer source.(io.Closer).Close()
		for read := 0; ; {
			s, err := source.Next(t.Context())
			if err != nil {
				return
			}
			if read += len(s.Data); read > len(file) || len(s.Data) == 0 || s.Duration <= 0 {
				t.Fatalf("%d bytes out of %d", read, len(file))
			}
		}
	})
}
