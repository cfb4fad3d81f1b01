package voice

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/must"
)

func endpointTo(t *testing.T, answer http.HandlerFunc) *endpointVoice {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return newEndpointVoice(endpoint.Endpoint{BaseURL: server.URL + "/v1", Key: "secret-key"}, http.DefaultClient)
}

func TestEndpointVoiceSpeaksTheAPI(t *testing.T) {
	pcm := slices.Repeat([]int16{5000, -5000}, 8000)
	v := endpointTo(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input, Model, Voice string
			ResponseFormat      string `json:"response_format"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if r.Method != http.MethodPost || r.URL.Path != "/v1/audio/speech" || r.Header.Get("Authorization") != "Bearer secret-key" {
			t.Errorf("request is %s %s with %q", r.Method, r.URL.Path, r.Header.Get("Authorization"))
		}
		if body.Input != "Good morning to you." || body.Model != DefaultModel || body.Voice != "coral" || body.ResponseFormat != "wav" {
			t.Errorf("body is %+v", body)
		}
		w.Header().Set("Content-Type", "audio/wav")
		_, _ = w.Write(audio.EncodeWAV(pcm, 22050))
	})
	speech := must.Get(v.Speak(t.Context(), "Good morning\nto you.", Manner{}))(t)
	if !slices.Equal(speech.PCM, pcm) || speech.Rate != 22050 {
		t.Errorf("%d samples at %d Hz", len(speech.PCM), speech.Rate)
	}
	if len(speech.Chunks) != 2 || speech.Chunks[0].Text != "Good morning" || speech.Chunks[1].Text != "to you." {
		t.Errorf("chunks are %v", speech.Chunks)
	}
	checkSum(t, speech)
}

func TestEndpointVoiceTakesRawPCM(t *testing.T) {
	v := endpointTo(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "audio/pcm")
		_, _ = w.Write([]byte{1, 0, 0xff, 0xff, 7})
	})
	speech := must.Get(v.Speak(t.Context(), "Hi", Manner{}))(t)
	if !slices.Equal(speech.PCM, []int16{1, -1}) || speech.Rate != 24000 {
		t.Errorf("samples %v at %d Hz", speech.PCM, speech.Rate)
	}
}

func TestEndpointVoiceSplitsLongText(t *testing.T) {
	requests := 0
	v := endpointTo(t, func(w http.ResponseWriter, r *http.Request) {
		requests++
		var body struct{ Input string }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Input) > endpointMaxText {
			t.Errorf("input has %d characters, error %v", len(body.Input), err)
		}
		_, _ = w.Write(audio.EncodeWAV(make([]int16, 800), 8000))
	})
	speech := must.Get(v.Speak(t.Context(), strings.Repeat("something ", 700), Manner{}))(t)
	if requests != 2 || len(speech.PCM) != 1600 || len(speech.Chunks) != 700 {
		t.Errorf("%d requests, %d samples, %d chunks", requests, len(speech.PCM), len(speech.Chunks))
	}
	checkSum(t, speech)
}

func TestEndpointVoiceFailures(t *testing.T) {
	for want, answer := range map[string]http.HandlerFunc{
		"status 401": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"wrong key secret-key for Hello"}}`, http.StatusUnauthorized)
		},
		`answers with "text/html"`: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>"))
		},
		"without sound": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(audio.EncodeWAV(nil, 8000)) },
		"decode WAV":    func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(audio.EncodeWAV(nil, 0)) },
	} {
		_, err := endpointTo(t, answer).Speak(t.Context(), "Hello", Manner{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
			continue
		}
		if text := err.Error(); strings.Contains(text, "secret") || strings.Contains(text, "Hello") {
			t.Errorf("error gives away the key or the text: %v", err)
		}
	}
}
