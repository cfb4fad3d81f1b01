// Package voice turns a sentence into sound, together with the timing of its words.
//
// There are three voices: an OpenAI-compatible endpoint where one is configured, espeak-ng where it is installed, and a
// small built-in synthesiser, so that there is always a sound. The package does not split an answer into sentences,
// encode, or play; it is independent of sessions. It must not be linked into WebAssembly.
package voice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
)

// Speech is the sound of a text.
type Speech struct {
	PCM  []int16 // mono
	Rate int     // of PCM, samples a second
	// Chunks are the text in order, in words or short phrases. A pause counts to the chunk before it, so that the
	// durations add up to the length of the sound.
	Chunks []Chunk
}

// Duration is how long the sound plays.
func (s *Speech) Duration() time.Duration { return audio.Duration(len(s.PCM), s.Rate) }

// Chunk is a piece of a text and the time that it takes to say.
type Chunk struct {
	Text     string
	Duration time.Duration
}

// Voice speaks. Implementations are safe for concurrent use.
type Voice interface {
	// Speak returns the sound of a sentence or a few, which others may get too and which must not be changed. Text beyond MaxText is not spoken; a text without anything to say
	// gives a Speech without sound.
	Speak(ctx context.Context, text string, how Manner) (*Speech, error)
}

// MaxText is the longest text that is spoken in one call, in characters: the clamp of protocol §7.4.
const MaxText = 8000

// speakTimeout bounds one call of a voice outside our process.
const speakTimeout = 30 * time.Second

// maxSound bounds what a voice outside our process may return, in bytes: ten minutes at 48 kHz.
const maxSound = 10 * 60 * 48000 * 2

// The kinds of voices.
const (
	Auto    = "auto" // the best there is: the endpoint, else espeak-ng, else the built-in one
	Builtin = "builtin"
	Espeak  = "espeak"
	OpenAI  = "openai"
)

// Config chooses a voice. The zero value is Auto without an endpoint.
type Config struct {
	Kind     string // empty is Auto
	Endpoint endpoint.Endpoint
	HTTP     *http.Client // for the endpoint, whose idle connections the caller closes; nil is http.DefaultClient
	// Log gets a warning when the built-in voice replaces one that failed; nil is slog.Default.
	Log *slog.Logger
}

// Open returns the voice that cfg asks for. A voice that was asked for by name and isn't there is an error. A voice that
// fails later on is replaced by the built-in one for that text.
func Open(cfg Config) (Voice, error) {
	log := cfg.Log
	if log == nil {
		log = slog.Default()
	}
	program, missing := exec.LookPath(espeakProgram)
	kind := cfg.Kind
	if kind == "" || kind == Auto {
		switch {
		case cfg.Endpoint.BaseURL != "":
			kind = OpenAI
		case missing == nil:
			kind = Espeak
		default:
			kind = Builtin
		}
	}
	switch kind {
	case Builtin:
		return cached(synthesiser{}), nil
	case Espeak:
		if missing != nil {
			return nil, fmt.Errorf("open voice: %w", missing)
		}
		return &covered{cached(&espeak{program: program}), kind, log}, nil
	case OpenAI:
		if cfg.Endpoint.BaseURL == "" {
			return nil, errors.New("open voice: no speech endpoint is configured")
		}
		return &covered{cached(newEndpointVoice(cfg.Endpoint, cmp.Or(cfg.HTTP, http.DefaultClient))), kind, log}, nil
	default:
		return nil, fmt.Errorf("open voice: unknown kind %q, want %s, %s, %s or %s", cfg.Kind, Auto, Builtin, Espeak, OpenAI)
	}
}

// covered is a voice with the built-in one as a fallback for the texts on which it fails.
type covered struct {
	Voice
	kind string
	log  *slog.Logger
}

func (c *covered) Speak(ctx context.Context, text string, how Manner) (*Speech, error) {
	speech, err := c.Voice.Speak(ctx, text, how)
	if err == nil || ctx.Err() != nil {
		return speech, err
	}
	c.log.WarnContext(ctx, "voice failed, the built-in one speaks instead", "voice", c.kind, "error", err)
	return synthesiser{}.Speak(ctx, text, how)
}
