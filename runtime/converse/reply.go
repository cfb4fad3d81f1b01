package converse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// maxBadLines is how many lines of a reply that are no segments are reported, so that an
// HTML page with a success status is not reported line by line.
const maxBadLines = 16

// unparseableChars is how many characters of such a line are in its segment
// (protocol §9.3).
const unparseableChars = 200

// The subtypes of the segments that this package creates itself.
const (
	// UnparseableLine is a line that is no JSON object (protocol §9.3).
	UnparseableLine = "unparseable_stream_line"
	// LineTooLong is a line above [MaxLine].
	LineTooLong = "stream_line_too_long"
)

// Reply is a streamed reply. Only one goroutine may call Next and Batch; Close may be
// called by another.
type Reply struct {
	// Status is the HTTP status; RequestID the service's trace id, or empty.
	Status    int
	RequestID string

	header   fetch.Header
	body     io.Closer
	lines    *lines
	payload  func(line []byte) []byte
	declared bool // the content type is that of a stream, which may be empty
	segments int
	last     Segment // the last segment that was read
	bad      int
	err      error // why reading has ended, nil before
	closed   atomic.Bool
}

// newReply chooses the framing by the content type or, without one, by what was
// requested.
func newReply(resp *fetch.Response, askedSSE bool) (*Reply, error) {
	r := &Reply{Status: resp.Status, RequestID: resp.RequestID(), header: resp.Header, body: resp.Body, payload: ndjson}
	if resp.Status == 204 || resp.Status == 205 { // which have no body by definition
		resp.Body.Close()
		return nil, r.noBody()
	}
	var source io.Reader = resp.Body
	contentType, _, _ := strings.Cut(resp.Header.Get("content-type"), ";")
	switch strings.ToLower(strings.TrimSpace(contentType)) {
	case "text/event-stream":
		r.payload, r.declared = sse, true
	case "application/x-ndjson":
		r.declared = true
	case "application/json":
		data, err := fetch.ReadAll(resp, 0)
		if err != nil {
			return nil, err
		}
		if f := fault.FromBody(resp.Status, data); f != nil {
			return nil, f.WithHeaders(resp.Header)
		}
		if len(bytes.TrimSpace(data)) == 0 {
			return nil, r.noBody()
		}
		// Made one line, whatever its line breaks (protocol §9.2).
		var line bytes.Buffer
		if json.Compact(&line, data) == nil {
			data = line.Bytes()
		}
		source = bytes.NewReader(data)
	case "":
		if askedSSE {
			r.payload = sse
		}
	}
	r.lines = newLines(source)
	return r, nil
}

// Next waits for the next segment. It returns io.EOF at the end of the turn, else
// a *fault.Error: aborted, timeout, network_error, server_error for a reply
// without any body, or the error that the reply consists of. For input that is no
// segment it returns a segment of type [Error]: for a line that is no JSON object
// ([UnparseableLine]), a line that is too long ([LineTooLong]) and an exception in
// the middle of the stream.
func (r *Reply) Next() (Segment, error) {
	for r.err == nil {
		if seg, ok := r.read(); ok {
			return seg, nil
		}
	}
	return Segment{}, r.err
}

// Batch waits for the next segment and returns it with the segments after it that have
// already arrived, at most those of one read from the network. The error is that of
// [Reply.Next].
func (r *Reply) Batch() ([]Segment, error) {
	first, err := r.Next()
	if err != nil {
		return nil, err
	}
	batch := []Segment{first}
	for r.err == nil && r.lines.ready() {
		if seg, ok := r.read(); ok {
			batch = append(batch, seg)
		}
	}
	return batch, nil
}

// read reads one line, which may be no segment.
func (r *Reply) read() (Segment, bool) {
	line, long, err := r.lines.next()
	if err != nil {
		r.err = r.end(err)
		return Segment{}, false
	}
	text := r.payload(line)
	if len(text) == 0 {
		return Segment{}, false
	}
	seg, ok := r.segment(text, long)
	if ok {
		r.segments++
	}
	return seg, ok
}

func (r *Reply) segment(text []byte, long bool) (seg Segment, ok bool) {
	if long {
		return r.badLine(text, LineTooLong)
	}
	if seg, ok = decode(text, &r.last); !ok {
		return r.badLine(text, UnparseableLine)
	}
	r.last = seg
	r.last.Content = nil // which may be long
	if seg.Type != "" {
		return seg, true
	}
	f := fault.FromBody(r.Status, text)
	switch {
	case f == nil:
		return seg, true
	case r.segments == 0:
		r.err = f.WithHeaders(r.header).At(path)
		return seg, false
	}
	return errorSegment(f.Detail, string(f.Code)), true
}

func (r *Reply) badLine(text []byte, subtype string) (Segment, bool) {
	if r.bad++; r.bad > maxBadLines {
		return Segment{}, false
	}
	return errorSegment(fault.Excerpt(Clean(string(text)), unparseableChars), subtype), true
}

func errorSegment(content, subtype string) Segment {
	return Segment{
		Role: "assistant", Type: Error, Content: content, IsFinal: true,
		Metadata: &Metadata{Subtype: subtype},
	}
}

// end returns the outcome of the turn when reading ended with err.
func (r *Reply) end(err error) error {
	switch {
	case err != io.EOF && r.closed.Load():
		return fault.New(fault.Aborted, "the reply was closed").At(path)
	case err != io.EOF:
		return failed(err)
	case !r.lines.begun && !r.declared:
		return r.noBody()
	}
	return io.EOF
}

func (r *Reply) noBody() *fault.Error {
	return fault.New(fault.ServerError, "the reply has no body").WithStatus(r.Status).WithHeaders(r.header).At(path)
}

// Close ends the reply; the request is aborted unless all of it was read.
func (r *Reply) Close() error {
	r.closed.Store(true)
	return r.body.Close()
}

const (
	// MaxLine bounds a line of a reply, in bytes, and thus the content of a segment, which
	// may be a long answer, the arguments of a tool or a whole widget.
	MaxLine = 1 << 20
	// readSize is how many bytes are read from the body at once, which also bounds a
	// batch: as many as a browser delivers at once. A segment has a few hundred bytes.
	readSize = 64 << 10
)

// lines reads the lines of a reply, however its bytes are divided into reads, in memory
// that does not grow beyond one line.
type lines struct {
	r      *bufio.Reader
	line   []byte
	begun  bool  // something was read
	broken error // the error of r, once it has returned one
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, readSize)} }

var (
	lineFeed      = []byte("\n")
	byteOrderMark = []byte("\xEF\xBB\xBF")
)

// next returns the next line without its line feed, valid until the next call of next.
// Of a line longer than [MaxLine] it returns the beginning, and long is true. A line that
// an error cuts off is dropped, but the end of the reply ends a line too.
func (l *lines) next() (line []byte, long bool, err error) {
	l.line = l.line[:0]
	for l.broken == nil {
		text, readErr := l.r.ReadSlice('\n')
		part, ended := bytes.CutSuffix(text, lineFeed)
		if ended && len(l.line) == 0 { // the usual case: the whole line is in the buffer
			return l.begin(part), false, nil
		}
		if room := MaxLine - len(l.line); len(part) > room {
			part, long = part[:room], true
		}
		l.line = append(l.line, part...)
		if ended {
			return l.begin(l.line), long, nil
		}
		if readErr != bufio.ErrBufferFull {
			l.broken = readErr
		}
	}
	if l.broken != io.EOF || len(l.line) == 0 {
		return nil, false, l.broken
	}
	return l.begin(l.line), long, nil
}

// ready reports whether next would return a line without waiting.
func (l *lines) ready() bool {
	buffered, _ := l.r.Peek(l.r.Buffered())
	return bytes.IndexByte(buffered, '\n') >= 0
}

// begin returns a line that was read, the first without its byte order mark.
func (l *lines) begin(line []byte) []byte {
	if l.begun {
		return line
	}
	l.begun = true
	return bytes.TrimPrefix(line, byteOrderMark)
}

// The framings of a streamed reply. Each returns the JSON text of a line, empty
// if it has none.

// ndjson is protocol §9.3.
func ndjson(line []byte) []byte { return bytes.TrimSpace(line) }

// sse is protocol §9.4: only data lines count, and each is a whole object.
func sse(line []byte) []byte {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	data = bytes.TrimSpace(data)
	if !ok || string(data) == "[DONE]" {
		return nil
	}
	return data
}

// maxRefusal bounds the text of a refusal, in characters (protocol §9.6).
const maxRefusal = 500

// noPermission is the service's message about a thread of another user, in upper
// or lower case (protocol §9.6).
const noPermission = "no permission for thread"

// RefusalOf returns the error that the error segments of a turn represent:
// thread_access_denied or stream_error (protocol §9.6); nil when there are
// none. Its body has the segments and what was received besides them (service.md,
// "Refusals with HTTP 200").
func RefusalOf(errs []Segment, t Turn) *fault.Error {
	if len(errs) == 0 {
		return nil
	}
	code := fault.StreamError
	texts := make([]string, len(errs))
	for i := range errs {
		texts[i] = errs[i].ContentString()
		if strings.Contains(strings.ToLower(texts[i]), noPermission) {
			code = fault.ThreadAccessDenied
		}
	}
	detail := fault.Excerpt(strings.Join(texts, "; "), maxRefusal)
	return fault.New(code, detail).WithStatus(200).At(path).WithBody(map[string]any{
		"errors":   plain(errs),
		"threadId": t.ThreadID,
		"partial":  map[string]any{"text": t.Text, "threadId": t.ThreadID, "messageId": t.MessageID},
	})
}

// plain returns segments as an error's body has them: made of JSON's own types,
// so that they can be redacted.
func plain(segments []Segment) any {
	text, err := json.Marshal(segments)
	if err != nil {
		return nil
	}
	v, _ := decodeAny(text)
	return v
}
