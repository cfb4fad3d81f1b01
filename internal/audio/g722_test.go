package audio

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// What ffmpeg decodes testdata/speech.g722 to (testdata/README.md).
const decodedSHA256 = "1323794010f20b912993dfd7a5e9f59a05808b6f4481559bf59224820903b2f4"

func TestG722EncodesLikeFFmpeg(t *testing.T) {
	want := readFile(t, "testdata/speech.g722")
	pcm := speech(t)
	encoder := NewG722()
	var got []byte
	for i := 0; i < len(pcm); i += 2 { // pair by pair, because the reference has no constant silence
		got = append(got, encoder.encodePair(pcm[i], pcm[i+1]))
	}
	if !bytes.Equal(got, want) {
		t.Errorf("encoded speech differs from the reference at byte %d", firstDifference(got, want))
	}
}

func TestG722DecodesLikeFFmpeg(t *testing.T) {
	pcm := NewG722Decoder().Decode(nil, readFile(t, "testdata/speech.g722"))
	sum := sha256.New()
	must.Do(t, binary.Write(sum, binary.LittleEndian, pcm))
	expect.Equal(t, hex.EncodeToString(sum.Sum(nil)), decodedSHA256, "decoded speech has sum")
}

func TestG722KeepsSpeechIntelligible(t *testing.T) {
	pcm := speech(t)
	got := NewG722Decoder().Decode(nil, encodeWith(NewG722(), pcm))
	const delay = 22 // samples: the two 24-tap filters
	var signal, noise float64
	for i := delay; i < len(got); i++ {
		want := float64(pcm[i-delay])
		signal += want * want
		noise += (float64(got[i]) - want) * (float64(got[i]) - want)
	}
	if snr := 10 * math.Log10(signal/noise); snr < 20 {
		t.Errorf("speech comes back with a signal-to-noise ratio of %.1f dB, want at least 20", snr)
	}
}

// The decoder's predictor must be where the encoder believes it is, also after the silence that is not encoded.
func TestG722SilenceKeepsBothSidesInStep(t *testing.T) {
	pcm := speech(t)
	encoder, decoder := NewG722(), NewG722Decoder()
	play := func(frame []int16) []int16 { return decoder.Decode(nil, encoder.Encode(nil, frame)) }
	for _, silence := range []int{0, 1, 2, 7, 20} {
		for start := 0; start < 8000; start += g722FrameSamples { // a cut in the middle of a vowel
			play(pcm[start : start+g722FrameSamples])
		}
		for range silence {
			play(nil)
		}
		if encoder.low != decoder.low || encoder.high != decoder.high {
			t.Fatalf("states differ after %d frames of silence", silence)
		}
	}
}

func TestG722SilenceIsConstantAndInaudible(t *testing.T) {
	pcm := speech(t)
	encoder, decoder := NewG722(), NewG722Decoder()
	decoder.Decode(nil, encodeWith(encoder, pcm[:8000]))
	decoder.Decode(nil, encoder.Encode(nil, nil)) // the end of what the filter holds
	constant := bytes.Repeat([]byte{g722Silence}, g722FrameBytes)
	for frame := range 15 {
		payload := encoder.Encode(nil, nil)
		if !bytes.Equal(payload, constant) {
			t.Fatalf("frame %d of silence is not the constant one", frame)
		}
		heard := decoder.Decode(nil, payload)
		limit := int16(200) // -44 dB of full scale
		if frame >= 10 {
			limit = 32 // -60 dB: rounding may leave a constant, which has no sound at all
		}
		for _, sample := range heard {
			if sample > limit || sample < -limit {
				t.Fatalf("frame %d of silence has a sample of %d, want at most %d", frame, sample, limit)
			}
		}
	}
	if !encoder.resting {
		t.Error("encoder still computes silence after 300 ms")
	}
}

func TestG722CompletesShortFrame(t *testing.T) {
	pcm := speech(t)[4000:4100]
	padded := make([]int16, g722FrameSamples)
	copy(padded, pcm)
	got, want := NewG722().Encode(nil, pcm), NewG722().Encode(nil, padded)
	if len(got) != g722FrameBytes || !bytes.Equal(got, want) {
		t.Errorf("short frame gave %d bytes, different from the padded frame", len(got))
	}
}

func encodeWith(e *G722, pcm []int16) []byte {
	const frame = g722FrameSamples
	var payload []byte
	for start := 0; start < len(pcm); start += frame {
		payload = e.Encode(payload, pcm[start:min(start+frame, len(pcm))])
	}
	return payload
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func speech(tb testing.TB) []int16 {
	tb.Helper()
	raw := readFile(tb, "testdata/speech.s16")
	pcm := make([]int16, len(raw)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(raw[2*i:]))
	}
	return pcm
}

func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	data := must.Get(os.ReadFile(name))(tb)
	return data
}
