//go:build !js

package converse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

var update = flag.Bool("update", false, "write the golden turn of the recorded replies again")

// open returns a reply with status 200, the content type and the body.
func open(t testing.TB, contentType string, body io.Reader) *Reply {
	t.Helper()
	header := fetch.Header{}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	return must.Get(newReply(&fetch.Response{Status: 200, Header: header, Body: io.NopCloser(body)}, false))(t)
}

// drain reads r to its end.
func drain(r *Reply) ([]Segment, error) {
	var segments []Segment
	for {
		seg, err := r.Next()
		if err == io.EOF {
			return segments, nil
		}
		if err != nil {
			return segments, err
		}
		segments = append(segments, seg)
	}
}

func segmentsOf(t testing.TB, contentType, body string) []Segment {
	t.Helper()
	return must.Get(drain(open(t, contentType, strings.NewReader(body))))(t)
}

// recording is a reply in the shape of a real one.
type recording struct {
	name, contentType string // the name without its extension
	data              []byte
}

// recordings are turns with every type of segment and every widget, each in both
// framings.
func recordings(t testing.TB) []recording {
	t.Helper()
	var list []recording
	for extension, contentType := range map[string]string{".ndjson": ndjsonType, ".sse": sseType} {
		names, err := filepath.Glob("testdata/*" + extension)
		if err != nil || len(names) == 0 {
			t.Fatalf("no recordings %s: %v", extension, err)
		}
		for _, name := range names {
			data := must.Get(os.ReadFile(name))(t)
			list = append(list, recording{strings.TrimSuffix(name, extension), contentType, data})
		}
	}
	return list
}

// Both framings of a turn are held against one file.
func TestRecordingsGiveTheirTurn(t *testing.T) {
	for _, r := range recordings(t) {
		var c Collector
		for _, seg := range segmentsOf(t, r.contentType, string(r.data)) {
			c.Add(seg)
		}
		c.End()
		got := must.Get(json.MarshalIndent(c.Turn(), "", "  "))(t)
		golden := r.name + ".turn.json"
		if *update {
			must.Do(t, os.WriteFile(golden, append(got, '\n'), 0o644))
		}
		want := must.Get(os.ReadFile(golden))(t)
		if string(got)+"\n" != string(want) {
			t.Errorf("%s as %s gives another turn than %s (-update writes it):\n%s", r.name, r.contentType, golden, got)
		}
	}
}

// TestChunksMayEndAtAnyByte: a cut after each third byte of a recording, from another one on in
// each, and then every byte in a chunk of its own.
func TestChunksMayEndAtAnyByte(t *testing.T) {
	for i, r := range recordings(t) {
		t.Run(filepath.Base(r.name)+" "+r.contentType, func(t *testing.T) {
			t.Parallel()
			want := segmentsOf(t, r.contentType, string(r.data))
			for at := 1 + i%3; at < len(r.data); at += 3 {
				cut := io.MultiReader(bytes.NewReader(r.data[:at]), bytes.NewReader(r.data[at:]))
				got, err := drain(open(t, r.contentType, cut))
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("cut at byte %d: %v, and\n%q\ninstead of\n%q", at, err, outline(got), outline(want))
				}
			}
			got, err := drain(open(t, r.contentType, iotest.OneByteReader(bytes.NewReader(r.data))))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("byte for byte: %v, and\n%q\ninstead of\n%q", err, outline(got), outline(want))
			}
		})
	}
}

func TestFramings(t *testing.T) {
	const hi, you = `{"type":"text","content":"hi"}`, `{"type":"text","content":"you"}`
	html := "<html>\n" + strings.Repeat("<p>\n", 100) + "</html>"
	for _, c := range []struct {
		name, contentType, body string
		want                    []string
	}{
		{"lines", ndjsonType, hi + "\n" + you + "\n", []string{"text hi", "text you"}},
		{"last line without its end", ndjsonType, hi + "\n" + you, []string{"text hi", "text you"}},
		{"carriage returns, blank lines, spaces", ndjsonType, "\r\n \t" + hi + " \r\n\r\n\n" + you + "\r\n", []string{"text hi", "text you"}},
		{"byte order mark", ndjsonType, "\uFEFF" + hi, []string{"text hi"}},
		{"no content type", "", hi + "\n" + you, []string{"text hi", "text you"}},
		{"another content type", "text/plain", hi + "\n" + you, []string{"text hi", "text you"}},
		{"nothing", ndjsonType, "", nil},
		{"blank lines only", "", "\n\n", nil},
		{"a line that is no JSON", ndjsonType, "oops\u0007\n" + hi, []string{"error/unparseable_stream_line oops", "text hi"}},
		{"JSON that is not an object", ndjsonType, "7\nnull\n[" + hi + "]\n\"x\"", []string{
			"error/unparseable_stream_line 7", "error/unparseable_stream_line null",
			"error/unparseable_stream_line [" + hi + "]", `error/unparseable_stream_line "x"`,
		}},
		{"a line that was cut off", ndjsonType, hi + "\n" + `{"type":"te`, []string{"text hi", `error/unparseable_stream_line {"type":"te`}},
		{"a page of HTML", "text/html", html, append([]string{"error/unparseable_stream_line <html>"}, repeat("error/unparseable_stream_line <p>", maxBadLines-1)...)},
		{"a long line that is no JSON", ndjsonType, strings.Repeat("é", 300), []string{"error/unparseable_stream_line " + strings.Repeat("é", 200)}},
		{"an exception in mid-stream", ndjsonType, hi + "\n" + `{"success":false,"message":"boom"}`, []string{"text hi", "error/api_exception boom"}},
		{"a type that nobody knows", ndjsonType, `{"type":"sql","content":"select 1"}`, []string{"sql select 1"}},
		{"no type", ndjsonType, `{"event":"ping"}`, []string{" "}},

		{"events", sseType, "data: " + hi + "\n\ndata:" + you + "\n\n", []string{"text hi", "text you"}},
		{"events with carriage returns", "text/event-stream; charset=utf-8", "data: " + hi + "\r\n\r\ndata: " + you + "\r\n\r\n", []string{"text hi", "text you"}},
		{"other fields and comments", sseType, "\uFEFF: hello\nevent: x\nid: 1\nretry: 2\ndata\ndatax: {}\n" + hi + "\ndata: " + hi, []string{"text hi"}},
		{"end mark", sseType, "data: " + hi + "\n\ndata: [DONE]\n\n", []string{"text hi"}},
		{"two objects in one event", sseType, "data: " + hi + "\ndata: " + you + "\n\n", []string{"text hi", "text you"}},
		{"data that is no JSON", sseType, "data: oops\n\ndata:\n\ndata: \n\n", []string{"error/unparseable_stream_line oops"}},
		{"no events", sseType, "", nil},

		{"a body of JSON", "application/json", "{\n \"type\": \"text\",\n \"content\": \"hi\"\n}\n", []string{"text hi"}},
		{"a body of JSON lines", "application/json; charset=utf-8", hi + "\n" + you, []string{"text hi", "text you"}},
		{"a body of JSON that is not an object", "APPLICATION/JSON", "[1,\n2]", []string{"error/unparseable_stream_line [1,2]"}},
	} {
		if got := outline(segmentsOf(t, c.contentType, c.body)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func repeat(s string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = s
	}
	return list
}

func TestAReplyWithoutATypeIsWhatWasAskedFor(t *testing.T) {
	resp := &fetch.Response{Status: 200, Body: io.NopCloser(strings.NewReader("data: {\"type\":\"text\",\"content\":\"hi\"}\n\n"))}
	r := must.Get(newReply(resp, true))(t)
	if got, err := drain(r); err != nil || len(got) != 1 || got[0].Type != Text {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestALineThatIsTooLongIsAnErrorAndTheNextIsRead(t *testing.T) {
	text := func(n int) string {
		return `{"type":"x","pad":"` + strings.Repeat("a", n-len(`{"type":"x","pad":""}`)) + `"}`
	}
	for _, contentType := range []string{ndjsonType, sseType} {
		prefix := ""
		if contentType == sseType {
			prefix = "data:"
		}
		fits := prefix + text(MaxLine-len(prefix))
		long := prefix + text(MaxLine-len(prefix)+1)
		got := segmentsOf(t, contentType, strings.Join([]string{fits, long, fits, long}, "\n"))
		var kinds []string
		for i := range got {
			kind := string(got[i].Type)
			if got[i].Metadata != nil {
				kind += "/" + got[i].Metadata.Subtype
			}
			kinds = append(kinds, kind)
		}
		want := []string{"x", "error/" + LineTooLong, "x", "error/" + LineTooLong}
		if !reflect.DeepEqual(kinds, want) {
			t.Errorf("%s: got %v, want %v", contentType, kinds, want)
		}
	}
	if got := segmentsOf(t, sseType, ":"+strings.Repeat("a", 2*MaxLine)+"\n"); got != nil {
		t.Errorf("a long comment gives %v", got)
	}
}

func TestAReplyMayBeAnError(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		want                    fault.Code
	}{
		{"exception as JSON", "application/json", `{"objectType":"KalturaAPIException","code":"INVALID_KS","message":"m","args":{}}`, 200, fault.APIException},
		{"exception as the only line", ndjsonType, `{"error":"no"}` + "\n", 200, fault.APIException},
		{"exception as the only event", sseType, `data: {"error":"no"}` + "\n\n", 200, fault.APIException},
		{"exception without a content type", "", `{"ok":false}`, 200, fault.APIException},
		{"no body", "", "", 200, fault.ServerError},
		{"no body of JSON", "application/json", " \n", 200, fault.ServerError},
		{"no content", ndjsonType, "", 204, fault.ServerError},
	} {
		header := fetch.Header{"content-type": c.contentType, "x-request-id": "r-1"}
		r, err := newReply(&fetch.Response{Status: c.status, Header: header, Body: io.NopCloser(strings.NewReader(c.body))}, false)
		if err == nil {
			_, err = drain(r)
		}
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.want || f.Status != c.status || f.RequestID != "r-1" {
			t.Errorf("%s: %#v, want %s", c.name, err, c.want)
		}
	}
}

func TestAReplyThatBreaksOffSaysSo(t *testing.T) {
	network := fault.New(fault.NetworkError, "")
	for _, c := range []struct {
		err  error
		want fault.Code
	}{
		{network, fault.NetworkError},
		{context.Canceled, fault.Aborted},
		{context.DeadlineExceeded, fault.Timeout},
		{io.ErrUnexpectedEOF, fault.NetworkError},
	} {
		r := open(t, ndjsonType, io.MultiReader(strings.NewReader("{\"type\":\"text\"}\n{\"type\":"), iotest.ErrReader(c.err)))
		got, err := drain(r)
		var f *fault.Error
		if len(got) != 1 || !errors.As(err, &f) || f.Code != c.want || f.Instance != path {
			t.Errorf("%v: %d segments, %#v", c.err, len(got), err)
		}
		if _, again := r.Next(); again != err {
			t.Errorf("%v: then %v", c.err, again)
		}
	}
}

func TestReadingAClosedReplyIsAborted(t *testing.T) {
	body, _ := io.Pipe()
	r := open(t, ndjsonType, body)
	r.body = body
	must.Do(t, r.Close())
	expect.Fail(r.Next())(t, fault.Aborted, "Next")
}

// endless yields a line again and again.
type endless struct {
	line string
	n    int // lines left
	rest string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		if e.n--; e.n < 0 {
			return 0, io.EOF
		}
		e.rest = e.line
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// TestABatchIsWhatCameTogether; Batch waits for its first segment only.
func TestABatchIsWhatCameTogether(t *testing.T) {
	for contentType, parts := range map[string][]string{
		ndjsonType: {`{"content":"a"}` + "\n", `{"content":"b"}` + "\n\n" + `{"content":"c"}` + "\n" + `{"cont`, `ent":"d"}` + "\nx\n", `{"content":"e"}`},
		sseType:    {"data: {\"content\":\"a\"}\n\n", "data: {\"content\":\"b\"}\n\ndata: {\"content\":\"c\"}\n\ndata: {\"cont", "ent\":\"d\"}\n\ndata: x\n\n: comment\n", "data: {\"content\":\"e\"}"},
	} {
		network, sender := io.Pipe()
		r := open(t, contentType, network)
		next := make(chan struct{})
		go func() {
			for _, part := range parts {
				_, _ = io.WriteString(sender, part) // returns when it was read
				<-next
			}
			_ = sender.Close()
		}()
		for i, want := range []string{"[ a]", "[ b  c]", "[ d error/unparseable_stream_line x]", "[ e]"} {
			if i == 2 {
				next <- struct{}{} // the segment goes on in the next part
			}
			if i == 3 {
				close(next)
			}
			batch, err := r.Batch()
			if got := fmt.Sprint(outline(batch)); err != nil || got != want {
				t.Errorf("%s: batch %d is %s, %v; want %s", contentType, i, got, err, want)
			}
			if i == 0 {
				next <- struct{}{}
			}
		}
		if batch, err := r.Batch(); err != io.EOF {
			t.Errorf("%s: %v, %v at the end", contentType, batch, err)
		}
	}
}

func TestManySegmentsAreReadInConstantMemory(t *testing.T) {
	const total, warm = 30_000, 5_000
	line := `{"role":"assistant","type":"text","content":"` + strings.Repeat("é", 100) + `","segmentNumber":1,"et":0.5,"more":{"a":1}}` + "\n"
	r := open(t, ndjsonType, &endless{line: line, n: total})
	count, before := 0, int64(0)
	for {
		_, err := r.Next()
		if err == io.EOF {
			break
		}
		must.Do(t, err)
		if count++; count == warm {
			before = leaktest.Heap()
		}
	}
	after := leaktest.Heap()
	runtime.KeepAlive(r)
	// All of it is 7 MB; what remains is the noise of the test itself.
	const slack = 256 << 10
	if count != total || after > before+slack {
		t.Errorf("%d segments; the heap grew from %d to %d bytes", count, before, after)
	}
}

func TestAnEndlessLineIsReadInConstantMemory(t *testing.T) {
	before := leaktest.Heap()
	r := open(t, ndjsonType, io.MultiReader(&endless{line: strings.Repeat("x", 1<<16), n: 1 << 10}, strings.NewReader("\n{\"type\":\"text\"}")))
	expect.Equal(t, len(mustDrain(t, r)), 2, "segments")
	after := leaktest.Heap()
	runtime.KeepAlive(r)
	if after > before+4*MaxLine {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

func mustDrain(t *testing.T, r *Reply) []Segment {
	t.Helper()
	return must.Get(drain(r))(t)
}

func FuzzNDJSON(f *testing.F) { fuzzFraming(f, ndjsonType, "") }

func FuzzSSE(f *testing.F) { fuzzFraming(f, sseType, "data: ") }

func fuzzFraming(f *testing.F, contentType, prefix string) {
	for _, body := range []string{
		"", "\n", "\uFEFF{}", "[DONE]", "\xff\xfe", "{\"type\":\"te\xc3\"}", `{"content":{"a":"` + "\xe4" + `"}}`,
		`{"type":"text","content":"é` + "\u0000" + `"}` + "\r\n" + `{"segmentNumber":1e300,"metadata":7}`, "a\nb\n" + `{"error":"x"}`,
	} {
		f.Add([]byte(prefix+body), uint8(3))
	}
	f.Fuzz(func(t *testing.T, body []byte, size uint8) {
		want, wantErr := drain(open(t, contentType, bytes.NewReader(body)))
		for i := range want {
			if text, err := json.Marshal(want[i]); err != nil || !utf8.Valid(text) {
				t.Errorf("segment %d can't be handed on: %q, %v", i, text, err)
			}
			if !valid(reflect.ValueOf(want[i])) {
				t.Errorf("segment %d is no UTF-8: %+v", i, want[i])
			}
		}
		if lines := bytes.Count(body, []byte("\n")) + 1; len(want) > lines {
			t.Errorf("%d segments of %d lines", len(want), lines)
		}
		got, gotErr := drain(open(t, contentType, &chunks{body, int(size) + 1}))
		if !reflect.DeepEqual(got, want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Errorf("in chunks of %d: %+v, %v; as a whole: %+v, %v", size, got, gotErr, want, wantErr)
		}
	})
}

// valid reports whether all strings and bytes in v are UTF-8.
func valid(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Slice:
		return utf8.Valid(v.Bytes()) // json.RawMessage
	case reflect.Pointer:
		return v.IsNil() || valid(v.Elem())
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if !valid(key) || !valid(v.MapIndex(key)) {
				return false
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !valid(v.Field(i)) {
				return false
			}
		}
	}
	return true
}

// chunks gives its data in pieces of one size.
type chunks struct {
	data []byte
	size int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}
