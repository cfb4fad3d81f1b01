package voice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
)

const (
	// DefaultModel is requested when the endpoint has no model, DefaultVoice for the service's usual voice.
	DefaultModel = "gpt-4o-mini-tts"
	DefaultVoice = "coral"

	// The rate of the headerless PCM that the API defines, which some servers send although they were asked for WAV.
	endpointRate = 24000
	// The API takes no more than this many characters.
	endpointMaxText = 4096
)

// endpointVoice speaks by HTTP. The sound comes without timing, so its chunks are estimates.
type endpointVoice struct {
	client *openai.Client
	model  string
}

var _ Voice = (*endpointVoice)(nil)

func newEndpointVoice(e endpoint.Endpoint, h *http.Client) *endpointVoice {
	return &endpointVoice{client: e.Client(h), model: cmp.Or(e.Model, DefaultModel)}
}

func (v *endpointVoice) Speak(ctx context.Context, text string, how Manner) (*Speech, error) {
	ctx, cancel := context.WithTimeout(ctx, speakTimeout)
	defer cancel()
	whole := &Speech{Rate: endpointRate}
	for _, parts := range requests(phrases(text)) {
		pcm, rate, err := v.request(ctx, strings.Join(parts, " "), how)
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

func (v *endpointVoice) request(ctx context.Context, text string, how Manner) (pcm []int16, rate int, err error) {
	speed := how.speed()
	if speed == 1 {
		speed = 0 // leave it out: not every server supports it
	}
	response, err := v.client.CreateSpeech(ctx, openai.CreateSpeechRequest{
		Input:          text,
		Model:          openai.SpeechModel(v.model),
		Voice:          openai.SpeechVoice(how.timbre().endpoint),
		Speed:          speed,
		ResponseFormat: openai.SpeechResponseFormatWav,
	})
	if err != nil {
		return nil, 0, endpoint.WithoutBody(err)
	}
	defer response.Close()
	data, err := io.ReadAll(io.LimitReader(response, maxSound+1))
	if err != nil {
		return nil, 0, fmt.Errorf("read sound: %w", err)
	}
	switch {
	case len(data) > maxSound:
		return nil, 0, errTooMuchSound
	case audio.IsWAV(data):
		if pcm, rate, err = audio.DecodeWAV(data); err != nil {
			return nil, 0, err
		}
	case strings.Contains(response.Header().Get("Content-Type"), "pcm"):
		pcm, rate = audio.PCM(data), endpointRate
	default:
		return nil, 0, fmt.Errorf("endpoint answers with %q instead of WAV or PCM", response.Header().Get("Content-Type"))
	}
	if len(pcm) == 0 {
		return nil, 0, errors.New("the endpoint returned a reply without sound; check its model and voice")
	}
	return pcm, rate, nil
}
