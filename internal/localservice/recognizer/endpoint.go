package recognizer

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
)

const (
	// DefaultModel is the transcription model that compatible servers have.
	DefaultModel = "whisper-1"
	// transcribeTimeout bounds a transcription with its retry: after that time the user has probably repeated the question.
	transcribeTimeout = 30 * time.Second
	// maxText bounds the text of a transcription, in bytes: a minute of speech has about 1000 characters.
	maxText = 8000
)

// Endpoint transcribes by HTTP. It may be used concurrently.
type Endpoint struct {
	client *openai.Client
	model  string
}

// NewEndpoint returns a transcriber that uses the endpoint, and sends its requests with h.
func NewEndpoint(e endpoint.Endpoint, h *http.Client) *Endpoint {
	return &Endpoint{client: e.Client(h), model: cmp.Or(e.Model, DefaultModel)}
}

// Transcribe implements [Transcriber].
func (e *Endpoint) Transcribe(ctx context.Context, pcm []int16, rate int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, transcribeTimeout)
	defer cancel()
	answer, err := e.client.CreateTranscription(ctx, openai.AudioRequest{
		Model: e.model, Reader: bytes.NewReader(audio.EncodeWAV(pcm, rate)), FilePath: "speech.wav",
	})
	if err != nil {
		return "", fmt.Errorf("transcribe: %w", endpoint.WithoutBody(err))
	}
	text := strings.TrimSpace(answer.Text)
	if len(text) > maxText {
		return "", fmt.Errorf("transcribe: endpoint returned %d bytes of text, more than can be said in a turn", len(text))
	}
	return text, nil
}
