package voice

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const (
	// DefaultModel and DefaultVoice are what an Endpoint asks for when it names none.
	DefaultModel = "gpt-4o-mini-tts"
	DefaultVoice = "coral"

	// The rate of the headerless PCM that the API defines, which some servers send although they were asked for WAV.
	endpointRate = 24000
	// The API takes no more than this many characters.
	endpointMaxText = 4096
)

// Endpoint is an OpenAI-compatible speech endpoint.
type Endpoint struct {
	BaseURL string // up to and including the version, such as "https://api.openai.com/v1"
	Key     string // may be empty for servers that need none
	Model   string // empty is DefaultModel
	Voice   string // empty is DefaultVoice
}

// endpointVoice speaks by HTTP. The sound comes without timing, so its chunks are estimates.
type endpointVoice struct {
	speech openai.AudioSpeechService
	model  string
	voice  string
}

var _ Voice = (*endpointVoice)(nil)

func newEndpointVoice(e Endpoint) *endpointVoice {
	v := &endpointVoice{
		model: e.Model,
		voice: e.Voice,
	}
	// Not openai.NewClient, which would send the key in OPENAI_API_KEY to any server.
	options := []option.RequestOption{option.WithBaseURL(e.BaseURL), option.WithMaxRetries(1)}
	if e.Key != "" {
		options = append(options, option.WithAPIKey(e.Key))
	}
	v.speech = openai.NewAudioSpeechService(options...)
	if v.model == "" {
		v.model = DefaultModel
	}
	if v.voice == "" {
		v.voice = DefaultVoice
	}
	return v
}

func (*endpointVoice) Name() string { return OpenAI }

func (v *endpointVoice) Speak(ctx context.Context, text string) (*Speech, error) {
	ctx, cancel := context.WithTimeout(ctx, speakTimeout)
	defer cancel()
	whole := &Speech{Rate: endpointRate}
	for _, parts := range requests(phrases(text)) {
		pcm, rate, err := v.request(ctx, strings.Join(parts, " "))
		if err != nil {
			return nil, fmt.Errorf("speak: %w", err)
		}
		if len(whole.Chunks) > 0 && rate != whole.Rate {
			return nil, fmt.Errorf("speak: endpoint changes its rate from %d to %d Hz", whole.Rate, rate)
		}
		whole.Rate = rate
		whole.PCM = append(whole.PCM, pcm...)
		whole.Chunks = append(whole.Chunks, apportion(parts, pcm, rate)...)
	}
	return whole, nil
}

// requests groups phrases into what the API takes at once.
func requests(phrases []string) [][]string {
	var groups [][]string
	length := endpointMaxText
	for _, phrase := range phrases {
		if length+len(phrase) >= endpointMaxText {
			groups, length = append(groups, nil), 0
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], phrase)
		length += len(phrase) + 1
	}
	return groups
}

func (v *endpointVoice) request(ctx context.Context, text string) (pcm []int16, rate int, err error) {
	response, err := v.speech.New(ctx, openai.AudioSpeechNewParams{
		Input:          text,
		Model:          v.model,
		Voice:          openai.AudioSpeechNewParamsVoiceUnion{OfString: openai.String(v.voice)},
		ResponseFormat: openai.AudioSpeechNewParamsResponseFormatWAV,
	})
	if err != nil {
		return nil, 0, withoutBody(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxSound+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read sound: %w", err)
	}
	switch {
	case len(data) > maxSound:
		return nil, 0, errTooMuchSound
	case len(data) >= riffHeader && string(data[:4]) == "RIFF":
		if pcm, rate, err = decodeWAV(data); err != nil {
			return nil, 0, err
		}
	case strings.Contains(response.Header.Get("Content-Type"), "pcm"):
		pcm, rate = rawPCM(data), endpointRate
	default:
		return nil, 0, fmt.Errorf("endpoint answers with %q instead of WAV or PCM", response.Header.Get("Content-Type"))
	}
	if len(pcm) == 0 {
		return nil, 0, errors.New("endpoint answers without sound")
	}
	return pcm, rate, nil
}

func rawPCM(data []byte) []int16 {
	pcm := make([]int16, len(data)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return pcm
}

// withoutBody keeps an answer's status only: its text may quote the key or what was said.
func withoutBody(err error) error {
	var answer *openai.Error
	if errors.As(err, &answer) {
		return fmt.Errorf("endpoint answers with status %d", answer.StatusCode)
	}
	return err
}
