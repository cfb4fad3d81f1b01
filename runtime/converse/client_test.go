package converse

import (
	"context"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// service is a fetch.Client that answers every request in the same way.
type service struct {
	status  int
	header  fetch.Header
	body    string
	err     error
	request *fetch.Request // the last one
	closed  bool           // its body
}

func (s *service) Do(_ context.Context, r *fetch.Request) (*fetch.Response, error) {
	s.request, s.closed = r, false
	if s.err != nil {
		return nil, s.err
	}
	return &fetch.Response{Status: s.status, Header: s.header, Body: &answer{strings.NewReader(s.body), s}}, nil
}

type answer struct {
	io.Reader
	service *service
}

func (a *answer) Close() error {
	a.service.closed = true
	return nil
}

// saying returns a service that streams lines.
func saying(lines ...string) *service {
	return &service{status: 200, header: fetch.Header{"content-type": ndjsonType}, body: strings.Join(lines, "\n")}
}

const token = "djJ8MTIzNHxzZWNyZXRzZWNyZXRzZWNyZXQ="

func clientOf(s *service) Client {
	return Client{HTTPClient: fetch.As(s), URL: "https://brain.example/", Token: token}
}

var hi = Request{UserMessage: "hi"}

func TestARequestSaysWhatIsSetAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want string
	}{
		{hi, `{"userMessage":"hi","sse":false}`},
		{
			Request{
				UserMessage: "hi", SSE: true, ThreadID: "t", ModelType: "fast", ForceExperience: "markdown",
				RequestVars: map[string]any{"a": nil, "b": 1}, Capabilities: map[string]string{"avatar": "on"},
			},
			`{"userMessage":"hi","sse":true,"threadId":"t","model_type":"fast","force_experience":"markdown","request_vars":{"a":null,"b":1},"capabilities":{"avatar":"on"}}`,
		},
	} {
		s := saying()
		must.Get(clientOf(s).Turn(t.Context(), c.r, Throw))(t)
		got := s.request
		if got.Method != "POST" || got.URL != "https://brain.example/assistant/converse" || got.Header.Get("Authorization") != "KS "+token ||
			got.Body.ContentType != "application/json" || string(got.Body.Data) != c.want {
			t.Errorf("sent %s %s %s %s", got.Method, got.URL, got.Body.ContentType, got.Body.Data)
		}
	}
}

func TestWhatIsRefusedIsNotSent(t *testing.T) {
	s := saying()
	expect.Fail(clientOf(s).Open(t.Context(), Request{UserMessage: "hi", ForceExperience: "video"}))(t, fault.ValidationError, "Open")
	expect.Fail(clientOf(s).Turn(t.Context(), hi, "ignore"))(t, fault.BadRequest, "Turn")
	if s.request != nil {
		t.Errorf("sent %s", s.request.Body.Data)
	}
}

func TestRepliesThatAreErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		s    service
		want fault.Code
		text string
	}{
		{"401", service{status: 401}, fault.Unauthorized, ""},
		{"403", service{status: 403, body: `{"detail":"widget"}`}, fault.Forbidden, "widget"},
		{"200 with an exception", service{status: 200, header: fetch.Header{"content-type": "application/json"}, body: `{"error":"boom"}`}, fault.APIException, "boom"},
		{"network", service{err: fault.New(fault.NetworkError, "gone")}, fault.NetworkError, "gone"},
		{"network, from a client that says less", service{err: io.ErrUnexpectedEOF}, fault.NetworkError, ""},
		{"aborted", service{err: context.Canceled}, fault.Aborted, ""},
		{"too late", service{err: context.DeadlineExceeded}, fault.Timeout, ""},
	} {
		s := c.s
		_, err := clientOf(&s).Open(t.Context(), hi)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.want || f.Status != c.s.status || c.text != "" && f.Detail != c.text || f.Instance != path {
			t.Errorf("%s: %#v at %s, want %s", c.name, err, f.Instance, c.want)
		}
		if s.err == nil && !s.closed {
			t.Errorf("%s: the body is open", c.name)
		}
	}
}

func TestEveryReplyIsReported(t *testing.T) {
	for _, status := range []int{200, 500} {
		var got []httpclient.Response
		s := saying()
		s.status = status
		s.header.Set("x-kaltura-request-id", "r-7")
		heard := maps.Clone(s.header)
		s.header.Set("set-cookie", "id=secret") // which a page never gets to see
		c := clientOf(s)
		c.OnResponse = func(r httpclient.Response) { got = append(got, r) }
		_, _ = c.Open(t.Context(), hi)
		want := []httpclient.Response{{Method: "POST", Path: "/assistant/converse", Status: status, OK: status == 200, Attempt: 1, RequestID: "r-7", Headers: heard}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestErrorSegmentsAreThrownOrReturned(t *testing.T) {
	for _, c := range []struct {
		name   string
		line   string
		code   fault.Code
		detail string
	}{
		{"somebody else's thread", `{"type":"error","content":"NO permission for Thread 7","isFinal":true}`, fault.ThreadAccessDenied, "NO permission for Thread 7"},
		{"another", `{"type":"error","content":"tired"}`, fault.StreamError, "tired"},
		{"no JSON", `oops`, fault.StreamError, "oops"},
		{"long", `{"type":"error","content":"` + strings.Repeat("é", 600) + `"}`, fault.StreamError, strings.Repeat("é", 500)},
		{"a token", `{"type":"error","content":"ks ` + token + `"}`, fault.StreamError, "ks " + fault.Redacted},
		{"two", `{"type":"error","content":"a"}` + "\n" + `{"type":"error","content":"b"}`, fault.StreamError, "a; b"},
	} {
		s := saying(`{"type":"text","content":"So far","threadId":"t-1","messageId":"m-1"}`, c.line)
		turn, err := clientOf(s).Turn(t.Context(), hi, "") // which throws
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != c.code || f.Detail != c.detail || f.Status != 200 {
			t.Errorf("%s: %#v, want %s", c.name, err, c.code)
			continue
		}
		body, _ := f.Body.(map[string]any)
		errs, _ := body["errors"].([]any)
		partial := map[string]any{"text": "So far", "threadId": "t-1", "messageId": "m-1"}
		if len(errs) != len(turn.Errors) || !reflect.DeepEqual(body["partial"], partial) || body["threadId"] != "t-1" {
			t.Errorf("%s: the body is %v", c.name, f.Body)
		}
		if first, _ := errs[0].(map[string]any); first["type"] != "error" {
			t.Errorf("%s: the first error is %v", c.name, errs[0])
		}
		turn, err = clientOf(s).Turn(t.Context(), hi, Return)
		if err != nil || len(turn.Errors) != len(errs) || turn.Text != "So far" {
			t.Errorf("%s, returned: %+v, %v", c.name, turn, err)
		}
	}
	if f := RefusalOf(nil, Turn{}); f != nil {
		t.Errorf("no error segments are %v", f)
	}
}

func TestAnEmptyTurnWithVariablesIsWarnedOf(t *testing.T) {
	withVars := Request{UserMessage: "hi", RequestVars: map[string]any{"tier": "gold", "age": 7}}
	for _, c := range []struct {
		name  string
		r     Request
		lines []string
		want  []string
	}{
		{"nothing", withVars, nil, []string{"age", "tier"}},
		{"nothing to see", withVars, []string{`{"type":"think"}`, `{"type":"keepalive"}`, `{"type":"text","content":""}`, `{"type":"share"}`, `{"type":"thread"}`, `{"threadId":"t","isFinal":true}`}, []string{"age", "tier"}},
		{"text", withVars, []string{`{"type":"text","content":"a"}`}, nil},
		{"a tool", withVars, []string{`{"type":"tool","content":"f"}`}, nil},
		{"an error", withVars, []string{`{"type":"error","content":"x"}`}, nil},
		{"no variables", hi, nil, nil},
	} {
		turn := must.Get(clientOf(saying(c.lines...)).Turn(t.Context(), c.r, Return))(t)
		var got []string
		for _, w := range turn.Warnings {
			if w.Code != fault.EmptyTurnWithRequestVars || w.Message == "" {
				t.Errorf("%s: warned of %+v", c.name, w)
			}
			got = append(got, w.RequestVarKeys...)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: warned of %v, want %v", c.name, got, c.want)
		}
	}
}

func TestStreamYieldsEverySegmentAndTheErrorLast(t *testing.T) {
	s := saying(`{"type":"text","content":"a"}`, `{"type":"error","content":"b"}`, "oops")
	var got []Segment
	for seg, err := range clientOf(s).Stream(t.Context(), hi) {
		must.Do(t, err)
		got = append(got, seg)
	}
	if want := []string{"text a", "error b", "error/unparseable_stream_line oops"}; !reflect.DeepEqual(outline(got), want) || !s.closed {
		t.Errorf("%q, want %q; closed: %v", outline(got), want, s.closed)
	}

	s.status = 500
	n := 0
	for _, err := range clientOf(s).Stream(t.Context(), hi) {
		if n++; !errors.Is(err, fault.ServerError) {
			t.Errorf("Stream yields %v", err)
		}
	}
	expect.Equal(t, n, 1, "steps")
}

func TestOnceKeepsWhatCameBeforeTheReplyBroke(t *testing.T) {
	s := saying(`{"type":"text","content":"a"}`, `{"type":"unisphere-tool","content":"[1","metadata":{"runtimeName":"followups-tool"}}`)
	c := clientOf(s)
	c.HTTPClient = fetch.As(breaking{s})
	turn, err := c.Turn(t.Context(), hi, Throw)
	if !errors.Is(err, fault.NetworkError) || turn.Text != "a" || turn.Widgets != nil {
		t.Errorf("Turn = %+v, %v", turn, err)
	}
}

// breaking is a service whose replies break off.
type breaking struct{ s *service }

func (b breaking) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	resp, err := b.s.Do(ctx, r)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(resp.Body, strings.NewReader("\n"), brokenReader{}), resp.Body}
	return resp, err
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, fault.New(fault.NetworkError, "") }

// TestATurnAsAWholeIsBoundedInBytes, and stopped where it exceeds the limit.
func TestATurnAsAWholeIsBoundedInBytes(t *testing.T) {
	const length = 200_000
	line := `{"type":"think","content":"","pad":"` + strings.Repeat("x", length) + `"}`
	s := saying(slices.Repeat([]string{line}, 40)...)
	turn, err := clientOf(s).Turn(t.Context(), hi, Throw)
	if err != nil || !turn.Truncated || len(turn.Segments) != MaxKept/length || !s.closed {
		t.Errorf("%d segments, truncated: %v, left: %v, %v", len(turn.Segments), turn.Truncated, s.closed, err)
	}
}

// TestALineThatIsNoSegmentIsShownWithoutSecrets: a server that answers in the service's place
// may repeat the request.
func TestALineThatIsNoSegmentIsShownWithoutSecrets(t *testing.T) {
	for line, want := range map[string]string{
		"<p>Authorization: KS " + token:                                       "<p>Authorization: KS " + fault.Redacted,
		strings.Repeat("-", unparseableChars-8) + " " + token:                 strings.Repeat("-", unparseableChars-8) + " [redact",
		`{"type":"text","ks":"` + token + `",` + strings.Repeat(" ", MaxLine): `{"type":"text","ks":"` + fault.Redacted + `",`,
	} {
		turn, err := clientOf(saying(line)).Turn(t.Context(), hi, Return)
		if err != nil || len(turn.Errors) != 1 || strings.TrimSpace(turn.Errors[0].ContentString()) != want {
			t.Errorf("%.100s: %+v, %v; want %s", line, turn.Errors, err, want)
		}
	}
}
