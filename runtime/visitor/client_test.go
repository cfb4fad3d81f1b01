package visitor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// ks is a token as the service makes them; nothing may show it.
const ks = "djJ8NTUwMXwtdmlzaXRvci0_abcDEF0123"

const host = "https://brain.example"

// reply is one step of a script.
type reply struct {
	status int // 0 is a network that fails
	body   string
	header fetch.Header
	cut    bool // the body breaks off
}

func ok(body string) reply { return reply{status: 200, body: body} }

// script is a fetch.Client that answers with one reply after the other, and
// records what it was asked.
type script struct {
	replies  []reply
	requests []string
}

func (s *script) Do(_ context.Context, r *fetch.Request) (*fetch.Response, error) {
	headers := maps.Clone(r.Header)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lines = append(lines, name+": "+headers[name])
	}
	method := r.Method
	if method == "" {
		method = "POST"
	}
	s.requests = append(s.requests, strings.Join([]string{
		method + " " + r.URL, strings.Join(lines, "; "), r.Body.ContentType, string(r.Body.Data),
	}, "\n"))
	if len(s.replies) == 0 {
		return nil, errors.New("the script is over")
	}
	next := s.replies[0]
	s.replies = s.replies[1:]
	if next.status == 0 {
		return nil, fault.New(fault.NetworkError, "")
	}
	var body io.Reader = strings.NewReader(next.body)
	if next.cut {
		body = io.MultiReader(body, iotest.ErrReader(fault.New(fault.NetworkError, "").WithRetryable(false)))
	}
	return &fetch.Response{Status: next.status, Header: next.header, Body: io.NopCloser(body)}, nil
}

// post is a request as script records it.
func post(path, body string) string {
	return "POST " + host + path + "\nauthorization: KS " + ks + "\napplication/json\n" + body
}

func newClient(t *testing.T, o visitor.Options, replies ...reply) (*visitor.Client, *script) {
	t.Helper()
	s := &script{replies: replies}
	o.Token, o.GenieURL, o.HTTPClient = ks, new(host), fetch.As(s)
	c := must.Get(visitor.New(o))(t)
	t.Cleanup(c.Close)
	return c, s
}

func TestWidgetTokenHasNoThreads(t *testing.T) {
	for _, m := range personal {
		c, s := newClient(t, visitor.Options{Kind: appinit.WidgetToken})
		if _, err := m.do(t.Context(), c); !errors.Is(err, fault.WrongTokenScope) || len(s.requests) != 0 {
			t.Errorf("%s: %v after %d requests", m.method, err, len(s.requests))
		}
	}
	c, s := newClient(t, visitor.Options{Kind: appinit.WidgetToken})
	for _, err := range c.AllThreads(t.Context(), visitor.ThreadQuery{}) {
		expect.Error(t, err, fault.WrongTokenScope, "all threads")
	}
	for _, err := range c.AllMessages(t.Context(), visitor.MessageQuery{}) {
		expect.Error(t, err, fault.WrongTokenScope, "all messages")
	}
	expect.Equal(t, len(s.requests), 0, "requests %q", s.requests)
	for _, m := range common {
		c, s := newClient(t, visitor.Options{Kind: appinit.WidgetToken}, ok(m.reply))
		if _, err := m.do(t.Context(), c); err != nil || len(s.requests) != 1 {
			t.Errorf("%s: %v after %d requests", m.method, err, len(s.requests))
		}
	}
}

func TestOtherTokensHaveThreads(t *testing.T) {
	for _, kind := range []appinit.TokenKind{appinit.UnknownToken, appinit.ConversationToken, appinit.AgentToken, appinit.AdminToken} {
		for _, m := range personal {
			c, s := newClient(t, visitor.Options{Kind: kind}, ok(m.reply))
			if _, err := m.do(t.Context(), c); err != nil || len(s.requests) != 1 {
				t.Errorf("%s with kind %q: %v after %d requests", m.method, kind, err, len(s.requests))
			}
		}
	}
}

func TestBadReplies(t *testing.T) {
	find := func(method string) call {
		all := slices.Concat(personal, common)
		return all[slices.IndexFunc(all, func(m call) bool { return m.method == method })]
	}
	for _, test := range []struct {
		name  string
		reply reply
		code  fault.Code
		path  string
	}{
		{"Threads", ok(`{}`), fault.InvalidResponse, "/v1/thread/list"},
		{"Threads", ok(`[]`), fault.InvalidResponse, "/v1/thread/list"},
		{"Threads", ok(`{"totalCount":1,"objects":[{"title":"no id"}]}`), fault.InvalidResponse, "/v1/thread/list"},
		{"Threads", ok(`{"totalCount":1,"objects":["t-1"]}`), fault.InvalidResponse, "/v1/thread/list"},
		{"Threads", ok(`{"totalCount":1,"objects":[null]}`), fault.InvalidResponse, "/v1/thread/list"},
		{"Threads", reply{status: 422, body: `{"detail":[{"loc":["body"],"msg":"Invalid filter type","type":"x"}]}`}, fault.InvalidFilter, "/v1/thread/list"},
		{"Thread", ok(`{}`), fault.InvalidResponse, "/v1/thread/get"},
		{"Thread", ok(`{"success":false}`), fault.APIException, "/v1/thread/get"},
		{"Thread", reply{status: 404, body: `{"message":"not found"}`}, fault.NotFound, "/v1/thread/get"},
		{"Thread", reply{status: 401}, fault.Unauthorized, "/v1/thread/get"},
		{"RenameThread", ok(``), fault.ServerError, "/v1/thread/update"},
		{"DeleteThreads", ok(`{"totalCount":0}`), fault.InvalidResponse, "/v1/thread/delete"},
		{"Transcript", ok(`{"status":"success"}`), fault.InvalidResponse, "/v1/thread/get_transcripts"},
		{"Message", ok(`{"content":[]}`), fault.InvalidResponse, "/message/get"},
		{"Message", reply{status: 403}, fault.Forbidden, "/message/get"},
		{"ShareMessage", ok(`{"status":"success","data":{}}`), fault.ServerError, "/message/share"},
		{"ShareMessage", ok(`{"status":"success","data":null}`), fault.ServerError, "/message/share"},
		{"ShareMessage", ok(``), fault.ServerError, "/message/share"},
		{"AddFeedback", ok(`{"error":"no such message"}`), fault.APIException, "/feedback/add"},
		{"Followups", ok(`{"questions":[]}`), fault.InvalidResponse, "/followup/get-suggested-questions"},
		{"Followups", ok(`["Why?",null]`), fault.InvalidResponse, "/followup/get-suggested-questions"},
		{"Followups", ok(`[5]`), fault.InvalidResponse, "/followup/get-suggested-questions"},
		{"Status", ok(`<html>`), fault.InvalidResponse, "/assistant/status"},
		{"Status", ok(`null`), fault.InvalidResponse, "/assistant/status"},
		{"Status", ok(`[]`), fault.InvalidResponse, "/assistant/status"},
	} {
		c, s := newClient(t, visitor.Options{}, test.reply)
		_, err := find(test.name).do(t.Context(), c)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != test.code || f.Instance != test.path || len(s.requests) != 1 {
			t.Errorf("%s, %v: got %v at %v, want %s at %s", test.name, test.reply, err, f, test.code, test.path)
		}
	}
}

func TestFeedbackIsRepeatedAfterAReplyToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newClient(t, visitor.Options{}, reply{status: 503}, reply{}, ok(``))
		if err := c.AddFeedback(t.Context(), "m-1", true, ""); err != nil || len(s.requests) != 3 {
			t.Errorf("%v after %d requests", err, len(s.requests))
		}
	})
}

func TestOtherPostsAreNotRepeatedAfterAReply(t *testing.T) {
	for _, m := range personal {
		c, s := newClient(t, visitor.Options{}, reply{status: 503}, ok(m.reply))
		if _, err := m.do(t.Context(), c); !errors.Is(err, fault.ServerError) || len(s.requests) != 1 {
			t.Errorf("%s: %v after %d requests", m.method, err, len(s.requests))
		}
	}
}

// TestWhatIsDoneIsNotDoneAgain: of a call whose reply broke off, the service has made the copy,
// and has deleted the threads.
func TestWhatIsDoneIsNotDoneAgain(t *testing.T) {
	for _, m := range slices.Concat(personal, common) {
		want := 2
		if m.method == "ShareMessage" || m.method == "DeleteThreads" {
			want = 1
		}
		synctest.Test(t, func(t *testing.T) {
			c, s := newClient(t, visitor.Options{}, reply{status: 200, body: "{", cut: true}, ok(m.reply))
			if _, err := m.do(t.Context(), c); errors.Is(err, fault.NetworkError) != (want == 1) || len(s.requests) != want {
				t.Errorf("%s: %v after %d requests", m.method, err, len(s.requests))
			}
			c, s = newClient(t, visitor.Options{}, reply{}, ok(m.reply))
			if _, err := m.do(t.Context(), c); err != nil || len(s.requests) != 2 {
				t.Errorf("%s without a reply: %v after %d requests", m.method, err, len(s.requests))
			}
		})
	}
}

func TestOnResponseHearsEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []httpclient.Response
		c, _ := newClient(
			t, visitor.Options{OnResponse: func(r httpclient.Response) { heard = append(heard, r) }},
			reply{}, // no reply, so OnResponse is not called
			reply{status: 503, header: fetch.Header{"x-kaltura-request-id": "k-1", "set-cookie": "secret"}},
			reply{status: 200, body: `{}`, header: fetch.Header{"x-kaltura-request-id": "k-2", "x-request-id": "r-2"}},
			ok(`[]`),
		)
		must.Get(c.Status(t.Context()))(t)
		must.Get(c.Followups(t.Context()))(t)
		want := []httpclient.Response{
			{Method: "GET", Path: "/assistant/status", Status: 503, Attempt: 2, RequestID: "k-1", Headers: map[string]string{"x-kaltura-request-id": "k-1"}},
			{
				Method: "GET", Path: "/assistant/status", Status: 200, OK: true, Attempt: 3, RequestID: "r-2",
				Headers: map[string]string{"x-kaltura-request-id": "k-2", "x-request-id": "r-2"},
			},
			{Method: "POST", Path: "/followup/get-suggested-questions", Status: 200, OK: true, Attempt: 1},
		}
		if !reflect.DeepEqual(heard, want) {
			t.Errorf("heard %+v", heard)
		}
	})
}

func TestNewChecks(t *testing.T) {
	for _, test := range []struct {
		name    string
		options visitor.Options
		code    fault.Code
	}{
		{"no token", visitor.Options{}, fault.BadRequest},
		{"unknown kind", visitor.Options{Token: ks, Kind: "guest"}, fault.BadRequest},
		{"unknown region", visitor.Options{Token: ks, Region: new("moon")}, fault.BadRequest},
		{"empty address", visitor.Options{Token: ks, GenieURL: new("")}, fault.BadRequest},
		{"http to a public host", visitor.Options{Token: ks, GenieURL: new("http://brain.example")}, fault.InsecureTransport},
	} {
		if c, err := visitor.New(test.options); !errors.Is(err, test.code) || c != nil {
			t.Errorf("%s: %v, %v", test.name, c, err)
		}
	}
}

func TestWhereItAsks(t *testing.T) {
	var warnings []string
	policy := appinit.Policy{AllowInsecureTransport: true, Warn: func(f *fault.Error) { warnings = append(warnings, f.Detail) }}
	for _, test := range []struct {
		options visitor.Options
		want    string
	}{
		{visitor.Options{}, "https://genie.nvp1.ovp.kaltura.com/assistant/status"},
		{visitor.Options{Region: new("frp2")}, "https://genie.frp2.ovp.kaltura.com/assistant/status"},
		{visitor.Options{Region: new("frp2"), GenieURL: new("https://brain.example/base/")}, "https://brain.example/base/assistant/status"},
		{visitor.Options{GenieURL: new("http://brain.example"), Policy: policy}, "http://brain.example/assistant/status"},
	} {
		s := &script{replies: []reply{ok(`{}`)}}
		test.options.Token, test.options.HTTPClient = ks, fetch.As(s)
		c := must.Get(visitor.New(test.options))(t)
		if _, err := c.Status(t.Context()); err != nil || !strings.HasPrefix(s.requests[0], "GET "+test.want+"\n") {
			t.Errorf("asked %s, %v; want %s", s.requests, err, test.want)
		}
	}
	if want := []string{"genieUrl uses http to the public host brain.example, which allowInsecureTransport permits; for tests only"}; !reflect.DeepEqual(warnings, want) {
		t.Errorf("warnings %q", warnings)
	}
}

func TestTokenIsInNoText(t *testing.T) {
	o := visitor.Options{Token: ks}
	c := must.Get(visitor.New(o))(t)
	defer c.Close()
	if text := fmt.Sprintf("%v %+v %#v %s %v %#v", c, c, c, c, o, o); strings.Contains(text, ks) {
		t.Error(text)
	}
}
