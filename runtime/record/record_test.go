//go:build !js

package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/replay"
)

func TestARecordingIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	first, err := New(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if _, err := New(dir, Options{}); !errors.Is(err, fault.ValidationError) {
		t.Errorf("a second one: %v", err)
	}
	o := avatar.Options{}
	o.Platform.OnTrack = func(*webrtc.TrackRemote) {}
	if err := first.Attach(&o); !errors.Is(err, fault.ValidationError) {
		t.Errorf("another reader of the tracks: %v", err)
	}
}

func TestSecretsAreRemoved(t *testing.T) {
	for keep, want := range map[bool]bool{false: false, true: true} {
		dir := t.TempDir()
		r, err := New(dir, Options{KeepSecrets: keep})
		if err != nil {
			t.Fatal(err)
		}
		r.Event(event.Transcript{Type: "user", Text: "Look at https://login.example/?token=abcdef0123456789"})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{replay.EventsFile, replay.CaptionsFile, replay.TurnsFile} {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			if got := strings.Contains(string(text), "abcdef0123456789"); got != want {
				t.Errorf("keep %v: %s: %s", keep, name, text)
			}
		}
	}
}

// BenchmarkSecond records one second of a conversation: 50 packets of voice and 25 pictures.
func BenchmarkSecond(b *testing.B) {
	for _, codec := range []string{webrtc.MimeTypeG722, webrtc.MimeTypeOpus} {
		b.Run(codec, func(b *testing.B) {
			wav, err := os.ReadFile("../../e2e/testdata/speech.wav")
			if err != nil {
				b.Fatal(err)
			}
			pcm, rate, err := audio.DecodeWAV(wav)
			if err != nil {
				b.Fatal(err)
			}
			pcm = audio.Resample(pcm, rate, voiceRate)
			opus, err := av.NewEncoder(voiceRate)
			if err != nil {
				b.Fatal(err)
			}
			g722 := audio.NewG722()
			var sounds [][]byte
			for len(sounds) < 50 {
				frame := pcm[320*len(sounds) : 320*(len(sounds)+1)]
				if codec == webrtc.MimeTypeG722 {
					sounds = append(sounds, g722.Encode(nil, frame))
					continue
				}
				packets, err := opus.Encode(frame)
				if err != nil {
					b.Fatal(err)
				}
				sounds = append(sounds, packets[0].Data)
			}
			r, err := New(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			voice, err := newStream(codec, 0)
			if err != nil {
				b.Fatal(err)
			}
			picture, _ := newStream(webrtc.MimeTypeVP8, 0)
			at := time.Duration(0)
			for b.Loop() {
				for i := range 50 {
					if err := r.movie.add(voice, av.Frame{Codec: codec, Data: sounds[i], Time: at, Key: true}); err != nil {
						b.Fatal(err)
					}
					if i%2 == 0 {
						f := av.Frame{Codec: webrtc.MimeTypeVP8, Data: make([]byte, 2000), Time: at, Key: i == 0, Picture: media.Picture{Width: 640, Height: 360}}
						if err := r.movie.add(picture, f); err != nil {
							b.Fatal(err)
						}
					}
					at += 20 * time.Millisecond
					r.microphoneSample(media.Silence())
				}
				for range 20 {
					r.Event(event.Transcript{Type: "partial", Text: "some words of an answer"})
				}
			}
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
