package recognizer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

const (
	// DefaultModel is the transcription model that compatible servers know.
	DefaultModel = "whisper-1"
	// transcribeTimeout bounds a transcription with its retry. Whoever waits longer has asked again.
	transcribeTimeout = 30 * time.Second
	// maxText bounds what an endpoint may have understood, in bytes: a minute of speech has about 1000 characters.
	maxText = 8000
)

// EndpointConfig says where an OpenAI-compatible transcription endpoint is.
type EndpointConfig struct {
	BaseURL string // up to and including the version, such as "https://api.openai.com/v1"
	Key     string // may be empty for servers that need none
	Model   string // default DefaultModel
}

// Endpoint understands speech by HTTP. It may be used concurrently.
type Endpoint struct {
	service openai.AudioTranscriptionService
	client  *http.Client
	model   openai.AudioModel
}

// NewEndpoint returns a transcriber that uses the endpoint. It must be closed.
func NewEndpoint(cfg EndpointConfig) *Endpoint {
	e := &Endpoint{
		client: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()},
		model:  cfg.Model,
	}
	if e.model == "" {
		e.model = DefaultModel
	}
	// Not openai.NewClient, which would send the key in OPENAI_API_KEY to any server.
	options := []option.RequestOption{option.WithBaseURL(cfg.BaseURL), option.WithHTTPClient(e.client), option.WithMaxRetries(1)}
	if cfg.Key != "" {
		options = append(options, option.WithAPIKey(cfg.Key))
	}
	e.service = openai.NewAudioTranscriptionService(options...)
	return e
}

// Close ends idle connections to the endpoint.
func (e *Endpoint) Close() {
	e.client.CloseIdleConnections()
}

// Transcribe implements [Transcriber].
func (e *Endpoint) Transcribe(ctx context.Context, pcm []int16, rate int) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, transcribeTimeout)
	defer cancel()
	params := openai.AudioTranscriptionNewParams{
		File: openai.File(bytes.NewReader(wav(pcm, rate)), "speech.wav", "audio/wav"), Model: e.model,
	}
	answer, err := e.service.New(ctx, params)
	if err != nil {
		return "", fmt.Errorf("transcribe: %w", withoutBody(err))
	}
	text := strings.TrimSpace(answer.Text)
	if len(text) > maxText {
		return "", fmt.Errorf("transcribe: endpoint understood %d bytes of text, more than was said", len(text))
	}
	return text, nil
}

// withoutBody keeps an answer's status only: its text may quote the key or what was said.
func withoutBody(err error) error {
	var answer *openai.Error
	if errors.As(err, &answer) {
		return fmt.Errorf("endpoint answers with status %d", answer.StatusCode)
	}
	return err
}

// wav returns pcm as a RIFF file.
func wav(pcm []int16, rate int) []byte {
	const (
		formatSize     = 16
		headerSize     = 44
		formatPCM      = 1
		channels       = 1
		bytesPerSample = 2
	)
	size := len(pcm) * bytesPerSample
	b := make([]byte, 0, headerSize+size)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(headerSize-8+size))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, formatSize)
	b = binary.LittleEndian.AppendUint16(b, formatPCM)
	b = binary.LittleEndian.AppendUint16(b, channels)
	b = binary.LittleEndian.AppendUint32(b, uint32(rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(rate*channels*bytesPerSample))
	b = binary.LittleEndian.AppendUint16(b, channels*bytesPerSample)
	b = binary.LittleEndian.AppendUint16(b, 8*bytesPerSample)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	for _, sample := range pcm {
		b = binary.LittleEndian.AppendUint16(b, uint16(sample))
	}
	return b
}
