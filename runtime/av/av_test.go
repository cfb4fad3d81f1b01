//go:build !js

package av

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// received is a track of given packets.
type received struct {
	codec   string
	clock   uint32
	packets []*rtp.Packet
}

func (r *received) Codec() webrtc.RTPCodecParameters {
	return webrtc.RTPCodecParameters{RTPCodecCapability: webrtc.RTPCodecCapability{MimeType: r.codec, ClockRate: r.clock}}
}

func (r *received) ReadRTP() (*rtp.Packet, interceptor.Attributes, error) {
	if len(r.packets) == 0 {
		return nil, nil, io.EOF
	}
	p := r.packets[0]
	r.packets = r.packets[1:]
	return p, nil, nil
}

func packet(sequence uint16, timestamp uint32, payload ...byte) *rtp.Packet {
	return &rtp.Packet{Header: rtp.Header{SequenceNumber: sequence, Timestamp: timestamp}, Payload: payload}
}

func tone(hz, rate int, length time.Duration) []int16 {
	pcm := make([]int16, audio.Samples(length, rate))
	for i := range pcm {
		pcm[i] = int16(8192 * math.Sin(2*math.Pi*float64(hz*i)/float64(rate)))
	}
	return pcm
}

// pitch counts the upward crossings of zero in a second.
func pitch(pcm []int16, rate int) int {
	n := 0
	for i := 1; i < len(pcm); i++ {
		if pcm[i-1] < 0 && pcm[i] >= 0 {
			n++
		}
	}
	return n * rate / len(pcm)
}

func TestFramesAreInOrder(t *testing.T) {
	base := uint32(math.MaxUint32 - 200) // the timestamps overflow
	track := &received{codec: webrtc.MimeTypePCMU, clock: 8000, packets: []*rtp.Packet{
		packet(65534, base, 1), packet(0, base+320, 3), packet(65535, base+160, 2), packet(0, base+320), // padding repeats a number
		packet(3, base+800, 6), packet(4, base+960, 7), packet(5, base+1120, 8), packet(6, base+1280, 9), packet(7, base+1440, 10),
	}}
	type got struct {
		data byte
		at   time.Duration
		lost int
	}
	var all []got
	for f, err := range Frames(track) {
		must.Do(t, err)
		if !f.Key || f.Codec != webrtc.MimeTypePCMU {
			t.Errorf("%+v", f)
		}
		all = append(all, got{f.Data[0], f.Time, f.Lost})
	}
	ms := time.Millisecond
	want := []got{{1, 0, 0}, {2, 20 * ms, 0}, {3, 40 * ms, 0}, {6, 100 * ms, 2}, {7, 120 * ms, 0}, {8, 140 * ms, 0}, {9, 160 * ms, 0}, {10, 180 * ms, 0}}
	if !slices.Equal(all, want) {
		t.Errorf("got  %v\nwant %v", all, want)
	}
}

func TestPicturesAreJoined(t *testing.T) {
	key := append([]byte{0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0x68, 0x01}, bytes.Repeat([]byte{5}, 3000)...)
	delta := append([]byte{0x11}, bytes.Repeat([]byte{6}, 50)...)
	payloader := &codecs.VP8Payloader{}
	track := &received{codec: webrtc.MimeTypeVP8, clock: 90000}
	for i, frame := range [][]byte{key, delta, delta} {
		payloads := payloader.Payload(1000, frame)
		for k, payload := range payloads {
			p := packet(uint16(len(track.packets)), uint32(3600*i), payload...)
			p.Marker = k == len(payloads)-1
			track.packets = append(track.packets, p)
		}
	}
	i := 0
	for f, err := range Frames(track) {
		must.Do(t, err)
		if want := [][]byte{key, delta, delta}[i]; !bytes.Equal(f.Data, want) || f.Key != (i == 0) || f.Time != time.Duration(i)*40*time.Millisecond {
			t.Errorf("frame %d: %d bytes, key %v, at %v", i, len(f.Data), f.Key, f.Time)
		}
		if want := (media.Picture{Width: 640, Height: 360}); i == 0 && f.Picture != want {
			t.Errorf("%+v", f.Picture)
		}
		i++
	}
	expect.Equal(t, i, 3, "frames")
}

// TestSoundComesBack: what a source sends is what the decoder returns, at every rate of both.
func TestSoundComesBack(t *testing.T) {
	for _, rates := range [][2]int{{8000, 48000}, {16000, 16000}, {22050, 44100}, {44100, 8000}, {48000, 16000}, {96000, 24000}} {
		source := must.Get(FromPCM(tone(440, rates[0], time.Second), rates[0]))(t)
		track := &received{codec: webrtc.MimeTypeOpus, clock: 48000}
		for {
			s, err := source.Next(t.Context())
			if err == io.EOF {
				break
			}
			if err != nil || s.Duration != 20*time.Millisecond {
				t.Fatal(s.Duration, err)
			}
			n := uint16(len(track.packets))
			track.packets = append(track.packets, packet(n, uint32(n)*960, s.Data...))
		}
		var pcm []int16
		for piece, err := range Samples(track, rates[1]) {
			must.Do(t, err)
			pcm = append(pcm, piece...)
		}
		length := audio.Duration(len(pcm), rates[1])
		middle := pcm[len(pcm)/4 : 3*len(pcm)/4]
		if hz, level := pitch(middle, rates[1]), audio.Level(middle); hz < 420 || hz > 460 || level < -18 || level > -12 || length < 980*time.Millisecond || length > 1040*time.Millisecond {
			t.Errorf("%d Hz sent, %d read: a tone of %d Hz at %.1f dB for %v", rates[0], rates[1], hz, level, length)
		}
	}
}

func TestLostSoundIsSilence(t *testing.T) {
	encoder := audio.NewG722()
	sound := encoder.Encode(nil, tone(440, 16000, 20*time.Millisecond))
	track := &received{codec: webrtc.MimeTypeG722, clock: 8000}
	for n := range uint32(40) {
		if n < 10 || n > 14 {
			track.packets = append(track.packets, packet(uint16(n), n*160, sound...))
		}
	}
	total := 0
	for pcm, err := range Samples(track, 16000) {
		must.Do(t, err)
		total += len(pcm)
	}
	expect.Equal(t, total, 40*320, "samples")
}

func TestWrongInputIsRefused(t *testing.T) {
	file := func(content []byte) string {
		name := filepath.Join(t.TempDir(), "sound")
		must.Do(t, os.WriteFile(name, content, 0o600))
		return name
	}
	wav := audio.EncodeWAV(tone(440, 16000, time.Second), 16000)
	for name, refuse := range map[string]func() error{
		"no file":    func() error { _, err := FromFile("testdata/none"); return err },
		"empty file": func() error { _, err := FromFile(file(nil)); return err },
		"text":       func() error { _, err := FromFile(file([]byte("hello"))); return err },
		"24 bit":     func() error { w := slices.Clone(wav); w[34] = 24; _, err := FromFile(file(w)); return err },
		"Ogg Vorbis": func() error {
			_, err := FromFile(file(append(append([]byte("OggS\x00\x02"), make([]byte, 20)...), "\x01\x07\x01vorbis"...)))
			return err
		},
		"PCM too slow":     func() error { _, err := FromPCM(nil, 4000); return err },
		"reader too fast":  func() error { _, err := FromReader(bytes.NewReader(nil), 192000); return err },
		"rate of samples":  func() error { _, err := NewDecoder(webrtc.MimeTypeG722, 0); return err },
		"no decoder":       func() error { _, err := NewDecoder("audio/telephone-event", 8000); return err },
		"nothing to say":   func() error { return new(Microphone).Say(t.Context(), nil) },
		"unreadable track": func() error { return first(Frames(&received{codec: webrtc.MimeTypeAV1, clock: 90000})) },
		"unheard track":    func() error { return first(Samples(&received{codec: webrtc.MimeTypeVP8, clock: 90000}, 16000)) },
	} {
		expect.Error(t, refuse(), fault.ValidationError, "%s", name)
	}
	expect.Fail(FromFile("testdata/none"))(t, os.ErrNotExist, "the cause is lost")
	if s, err := FromFile(file(wav)); err != nil {
		t.Error(err)
	} else if d := lengthOf(t, s); d != time.Second {
		t.Errorf("a WAV of 1 s is %v long", d)
	}
}

func first[T any](all func(func(T, error) bool)) (found error) {
	for _, err := range all {
		return err
	}
	return nil
}

func lengthOf(t *testing.T, s media.Source) (total time.Duration) {
	t.Helper()
	for {
		sample, err := s.Next(t.Context())
		if err == io.EOF {
			return total
		}
		must.Do(t, err)
		total += sample.Duration
	}
}

func TestAReaderIsReadToItsEnd(t *testing.T) {
	raw := make([]byte, 16000*2/10+2) // 100 ms and one sample
	s := must.Get(FromReader(bytes.NewReader(raw), 16000))(t)
	if d := lengthOf(t, s); d != 120*time.Millisecond {
		t.Errorf("%v", d)
	}
	half, _ := FromReader(bytes.NewReader(raw[:3]), 16000)
	expect.Fail(half.Next(t.Context()))(t, io.ErrUnexpectedEOF, "half a sample")
	r, w := io.Pipe()
	live, _ := FromReader(r, 16000)
	_ = live.(io.Closer).Close()
	expect.Fail(w.Write(raw))(t, io.ErrClosedPipe, "the reader stays open")
}

func TestMicrophoneSaysOneAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mic := &Microphone{}
		source := must.Get(mic.Open(""))(t)
		quiet := string(media.Silence().Data)
		var sent []bool // sound, not silence
		live, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			for live.Err() == nil {
				s, err := source.Next(live)
				if err != nil {
					t.Error(err)
					return
				}
				sent = append(sent, string(s.Data) != quiet)
				time.Sleep(s.Duration)
			}
		}()
		say := func(ctx context.Context, d time.Duration) error {
			s := must.Get(FromPCM(tone(300, 16000, d), 16000))(t)
			return mic.Say(ctx, s)
		}
		start := time.Now()
		time.Sleep(50 * time.Millisecond)
		if err := say(t.Context(), 100*time.Millisecond); err != nil {
			t.Error(err)
		}
		expect.Equal(t, time.Since(start), 160*time.Millisecond, "100 ms were said after")
		synctest.Wait() // the packet of this moment is silence
		enough := errors.New("enough")
		short, cancel := context.WithTimeoutCause(t.Context(), 90*time.Millisecond, enough)
		defer cancel()
		second := make(chan error)
		go func() {
			time.Sleep(time.Millisecond)
			second <- say(t.Context(), 40*time.Millisecond) // waits for its turn
		}()
		expect.Equal(t, say(short, time.Second), enough, "interrupted")
		if err := <-second; err != nil {
			t.Error(err)
		}
		broken := errors.New("broken")
		bad, _ := FromReader(iotest{broken}, 8000)
		expect.Equal(t, mic.Say(t.Context(), bad), broken, "a broken source")
		stop()
		<-done
		n := 0
		for _, sound := range sent {
			if sound {
				n++
			}
		}
		if want := 5 + 4 + 2; n != want { // packets of 20 ms; a sound begins with the packet after the one before
			t.Errorf("%d packets of sound, want %d: %v", n, want, sent)
		}
	})
}

type iotest struct{ err error }

func (r iotest) Read([]byte) (int, error) { return 0, r.err }

// untilCanceled is a sound that never comes.
type untilCanceled struct{}

func (untilCanceled) Next(ctx context.Context) (media.Sample, error) {
	<-ctx.Done()
	return media.Sample{}, ctx.Err()
}

// TestAMicrophoneStopsWhileASoundIsAwaited: a stopped microphone waits for no sound, and says it when it is live again.
func TestAMicrophoneStopsWhileASoundIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mic := &Microphone{}
		enough := errors.New("enough")
		saying, giveUp := context.WithCancelCause(t.Context())
		said := make(chan error, 1)
		go func() { said <- mic.Say(saying, untilCanceled{}) }()
		synctest.Wait()
		for range 2 {
			live, stop := context.WithTimeout(t.Context(), time.Second)
			expect.Fail(mic.Next(live))(t, context.DeadlineExceeded, "a stopped microphone")
			stop()
			synctest.Wait()
			if len(said) != 0 {
				t.Fatalf("the sound ended with its microphone: %v", <-said)
			}
		}
		giveUp(enough)
		expect.Equal(t, <-said, enough, "an interrupted sound")
		if s, err := mic.Next(t.Context()); err != nil || !bytes.Equal(s.Data, media.Silence().Data) {
			t.Errorf("after it: %v, %v", s, err)
		}
	})
}
