//go:build !js

package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/replay"
)

func TestARecordingIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	first := must.Get(New(dir, Options{}))(t)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	expect.Fail(New(dir, Options{}))(t, fault.ValidationError, "a second one")
	o := avatar.Options{}
	o.Platform.OnTrack = func(*webrtc.TrackRemote) {}
	expect.Error(t, first.Attach(&o), fault.ValidationError, "another reader of the tracks")
}

func TestSecretsAreRemoved(t *testing.T) {
	for keep, want := range map[bool]bool{false: false, true: true} {
		dir := t.TempDir()
		r := must.Get(New(dir, Options{KeepSecrets: keep}))(t)
		r.Event(event.Transcript{Type: "user", Text: "Look at https://login.example/?token=abcdef0123456789"})
		must.Do(t, r.Close())
		for _, name := range []string{replay.EventsFile, replay.CaptionsFile, replay.TurnsFile} {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			expect.Equal(t, strings.Contains(string(text), "abcdef0123456789"), want, "keep %v: %s: %s", keep, name, text)
		}
	}
}

// BenchmarkSecond records one second of a conversation: 50 packets of voice and 25 pictures.
func BenchmarkSecond(b *testing.B) {
	for _, codec := range []string{webrtc.MimeTypeG722, webrtc.MimeTypeOpus} {
		b.Run(codec, func(b *testing.B) {
			wav := must.Get(os.ReadFile("../../e2e/testdata/speech.wav"))(b)
			pcm, rate, err := audio.DecodeWAV(wav)
			must.Do(b, err)
			pcm = audio.Resample(pcm, rate, voiceRate)
			opus := must.Get(av.NewEncoder(voiceRate))(b)
			g722 := audio.NewG722()
			var sounds [][]byte
			for len(sounds) < 50 {
				frame := pcm[320*len(sounds) : 320*(len(sounds)+1)]
				if codec == webrtc.MimeTypeG722 {
					sounds = append(sounds, g722.Encode(nil, frame))
					continue
				}
				packets := must.Get(opus.Encode(frame))(b)
				sounds = append(sounds, packets[0].Data)
			}
			r := must.Get(New(b.TempDir(), Options{}))(b)
			voice := must.Get(newStream(codec, 0))(b)
			picture, _ := newStream(webrtc.MimeTypeVP8, 0)
			at := time.Duration(0)
			for b.Loop() {
				for i := range 50 {
					must.Do(b, r.movie.add(voice, av.Frame{Codec: codec, Data: sounds[i], Time: at, Key: true}))
					if i%2 == 0 {
						f := av.Frame{Codec: webrtc.MimeTypeVP8, Data: make([]byte, 2000), Time: at, Key: i == 0, Picture: media.Picture{Width: 640, Height: 360}}
						must.Do(b, r.movie.add(picture, f))
					}
					at += 20 * time.Millisecond
					r.microphoneSample(media.Silence())
				}
				for range 20 {
					r.Event(event.Transcript{Type: "partial", Text: "some words of an answer"})
				}
			}
			must.Do(b, r.Close())
		})
	}
}
