package recognizer

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
)

// event is what a listener reports: a beginning, or an end with its words.
type event struct {
	started bool
	text    string
	err     error
}

// events collects what a listener reports.
type events struct {
	mu   sync.Mutex
	list []event
}

func (e *events) note(reported event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, reported)
}

// listen returns a listener that reports to e.
func (e *events) listen(t Transcriber) *Listener {
	return NewListener(t, func() { e.note(event{started: true}) }, func(text string, err error) { e.note(event{text: text, err: err}) })
}

func (e *events) all() []event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}

// said is a sentence between pauses.
func said(t testing.TB) []int16 {
	return slices.Concat(quiet(500*time.Millisecond), speech(t), quiet(time.Second))
}

func TestListenerReportsOnsetAndWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got events
		l := got.listen(NewScript("hello", "good bye"))
		defer l.Close()
		for range 3 {
			l.Hear(said(t))
			synctest.Wait()
		}
		list := got.all()
		want := []event{{started: true}, {text: "hello"}, {started: true}, {text: "good bye"}, {started: true}, {err: ErrNoTranscriber}}
		expect.List(t, list, want, "events")
	})
}

func TestTapWindowIsReportedWithAndWithoutWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got events
		l := got.listen(NewScript("hello"))
		defer l.Close()
		l.CloseTap(true) // was not open
		l.OpenTap()
		l.Hear(quiet(time.Second))
		l.CloseTap(true)
		synctest.Wait()
		l.OpenTap()
		l.Hear(said(t))
		l.CloseTap(false) // and what was said is not in the next window
		l.Hear(noise(time.Second, -60))
		l.OpenTap()
		l.Hear(said(t))
		l.CloseTap(true)
		synctest.Wait()
		list := got.all()
		if len(list) != 2 || list[0] != (event{}) || list[1].text != "hello" {
			t.Errorf("events %+v, want words of nothing and hello", list)
		}
	})
}

func TestSpeakingUntilThePauseOrTheSoundEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewListener(NewScript(), func() {}, func(string, error) {})
		defer l.Close()
		want := func(what string, want bool) {
			t.Helper()
			expect.Equal(t, l.Speaking(), want, "%s: speaking", what)
		}
		want("at first", false)
		sentence := said(t)
		l.Hear(sentence[:len(sentence)/2])
		want("in a sentence", true)
		l.Hear(sentence[len(sentence)/2:])
		want("after it", false)
		l.OpenTap()
		l.Hear(sentence[:FrameSamples])
		want("in a window", true)
		time.Sleep(stale)
		want("without a microphone", false)
	})
}

func TestMutedListenerDetectsNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got events
		l := got.listen(NewScript("before", "after"))
		defer l.Close()
		sentence := said(t)
		half := len(sentence) / 2
		l.Hear(sentence[:half])
		l.Mute(true)
		l.Hear(sentence[half:])
		l.Hear(sentence)
		synctest.Wait()
		if list := got.all(); len(list) != 2 || list[1].text != "before" {
			t.Fatalf("events %+v, want one turn", list)
		}
		l.Mute(false)
		l.Hear(sentence)
		synctest.Wait()
		if list := got.all(); len(list) != 4 || list[3].text != "after" {
			t.Errorf("events %+v, want another turn", list)
		}
	})
}

// waiting is a transcriber that blocks until release is signalled or its context ends.
type waiting struct{ release chan struct{} }

func (w waiting) Transcribe(ctx context.Context, _ []int16, _ int) (string, error) {
	select {
	case <-w.release:
		return "late", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func TestTurnsBeyondTheBacklogAreReportedAsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got events
		l := got.listen(waiting{make(chan struct{})})
		defer l.Close()
		l.Hear(noise(time.Second, -60))
		for range backlog + 2 { // one is being transcribed
			l.Hear(said(t))
			synctest.Wait()
		}
		list := got.all()
		if last := list[len(list)-1]; !errors.Is(last.err, errBacklog) {
			t.Errorf("last event %+v, want a lost turn", last)
		}
	})
}

func TestNothingIsReportedAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got events
		l := got.listen(waiting{make(chan struct{})})
		l.Hear(said(t))
		synctest.Wait()
		l.Close()
		before := len(got.all())
		l.Hear(said(t))
		l.Close()
		if after := got.all(); len(after) != before {
			t.Errorf("events after Close: %+v", after[before:])
		}
	})
}

// double is a transcription endpoint that notes what it was sent.
type double struct {
	form   map[string]string
	file   []byte
	name   string
	status int
	body   string
	calls  atomic.Int32
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.calls.Add(1)
	if r.URL.Path != "/v1/audio/transcriptions" || r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	d.form = map[string]string{"auth": r.Header.Get("Authorization")}
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for name, values := range r.MultipartForm.Value {
		d.form[name] = values[0]
	}
	file, header, err := r.FormFile("file")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer file.Close()
	d.name = header.Filename
	d.file, _ = io.ReadAll(file)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(d.status)
	_, _ = io.WriteString(w, d.body)
}

func TestEndpointIsSentAWAVFile(t *testing.T) {
	d := &double{status: 200, body: `{"text":" hello there \n"}`}
	server := httptest.NewServer(d)
	defer server.Close()
	e := NewEndpoint(endpoint.Endpoint{BaseURL: server.URL + "/v1", Key: "secret-key"}, server.Client())
	text, err := e.Transcribe(t.Context(), []int16{1, -2, 3}, 16000)
	if text != "hello there" || err != nil {
		t.Errorf("Transcribe = %q, %v; want hello there", text, err)
	}
	if d.form["auth"] != "Bearer secret-key" || d.form["model"] != "whisper-1" || d.name != "speech.wav" {
		t.Errorf("form %v, file %s", d.form, d.name)
	}
	want := "RIFF\x2a\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data\x06\x00\x00\x00"
	expect.Equal(t, string(d.file[:44]), want, "header")
	if got := int16(binary.LittleEndian.Uint16(d.file[46:])); len(d.file) != 50 || got != -2 {
		t.Errorf("%d bytes, second sample %d; want 50 and -2", len(d.file), got)
	}
}

func TestEndpointFailuresTellTheStatusOnly(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "key-of-another-service")
	for name, tc := range map[string]struct {
		status int
		body   string
		want   string
		calls  int32
	}{
		"refused":   {401, `{"error":{"message":"bad key secret-key for what was said"}}`, "transcribe: endpoint answers with status 401", 1},
		"down":      {503, `{}`, "transcribe: endpoint answers with status 503", 2},
		"endless":   {200, `{"text":"` + strings.Repeat("la ", maxText) + `"}`, "transcribe: endpoint returned 23999 bytes of text, more than can be said in a turn", 1},
		"not JSON":  {200, `<html>`, "", 1},
		"says none": {200, `{"text":""}`, "none", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := &double{status: tc.status, body: tc.body}
			server := httptest.NewServer(d)
			defer server.Close()
			e := NewEndpoint(endpoint.Endpoint{BaseURL: server.URL + "/v1", Model: "m"}, server.Client())
			text, err := e.Transcribe(t.Context(), []int16{1}, Rate)
			switch {
			case tc.want == "none":
				if text != "" || err != nil {
					t.Errorf("Transcribe = %q, %v; want nothing", text, err)
				}
			case err == nil, tc.want != "" && err.Error() != tc.want:
				t.Errorf("error %v, want %s", err, tc.want)
			}
			expect.Equal(t, d.form["auth"], "", "the endpoint was sent")
			expect.Equal(t, d.calls.Load(), tc.calls, "calls")
		})
	}
}
