package visitor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// ks is a token as the service makes them; nothing may show it.
const ks = "djJ8NTUwMXwtdmlzaXRvci0_abcDEF0123"

const host = "https://brain.example"

// reply is one step of a script.
type reply struct {
	status int // 0 is a network that fails
	body   string
	header fetch.Header
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
	return &fetch.Response{Status: next.status, Header: next.header, Body: io.NopCloser(strings.NewReader(next.body))}, nil
}

// post is a request as script records it.
func post(path, body string) string {
	return "POST " + host + path + "\nauthorization: KS " + ks + "\napplication/json\n" + body
}

func newClient(t *testing.T, o visitor.Options, replies ...reply) (*visitor.Client, *script) {
	t.Helper()
	s := &script{replies: replies}
	o.Token, o.GenieURL, o.Fetch = ks, new(host), s
	c, err := visitor.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, s
}

// method is one call of every method that takes a thread or a message.
type method struct {
	name    string
	call    func(context.Context, *visitor.Client) (any, error)
	request string
	reply   string
	want    string // the result as JSON
}

const (
	threadRecord = `{"id":"t-1","title":"Trains","created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:06Z",` +
		`"status":"active","agent_id":"a-1","thread_metadata":{"analysis":{"mood":"good"}},"rank":[1]}`
	messageRecord = `{"id":"m-1","thread_id":"t-1","genie_id":1001,"user_id":"ann","type":"ai",` +
		`"content":[{"type":"avatar","content":"At "},{"type":"text","content":"noon."}],"is_positive":true,"likes":3}`
)

// personal are the calls that a widget token can't make.
var personal = []method{
	{
		"threads",
		func(ctx context.Context, c *visitor.Client) (any, error) {
			return c.Threads(ctx, visitor.ThreadQuery{})
		},
		post("/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter"},"pager":{"pageIndex":1,"pageSize":30}}`),
		`{"totalCount":7,"objects":[` + threadRecord + `],"took":3}`,
		`{"totalCount":7,"objects":[` + threadRecord + `]}`,
	},
	{
		"filtered threads",
		func(ctx context.Context, c *visitor.Client) (any, error) {
			return c.Threads(ctx, visitor.ThreadQuery{
				Filter: visitor.Filter{
					"agentIdEquals": "a-1", "contextIdEqual": "entry", "idEquals": "t-1", "idsIn": []string{"t-1", "t-2"},
					"isEverywhere": false, "orderBy": "-createdAt", "partnerIdEquals": int64(9007199254740993),
					"statusEquals": "active", "statusIn": []any{"active"}, "userIdEquals": "",
					"createdAtGreaterThanOrEqual": time.Unix(1, 0).UTC(), "createdAtLessThanOrEqual": 1790000000,
					"updatedAtGreaterThanOrEqual": "2026-01-01", "updatedAtLessThanOrEqual": nil,
				},
				Pager: visitor.Pager{PageIndex: new(3), PageSize: new(500)},
			})
		},
		post("/v1/thread/list", `{"filter":{"agentIdEquals":"a-1","contextIdEqual":"entry",`+
			`"createdAtGreaterThanOrEqual":"1970-01-01T00:00:01Z","createdAtLessThanOrEqual":1790000000,`+
			`"idEquals":"t-1","idsIn":["t-1","t-2"],"isEverywhere":false,"objectType":"ListThreadFilter","orderBy":"-createdAt",`+
			`"partnerIdEquals":9007199254740993,"statusEquals":"active","statusIn":["active"],`+
			`"updatedAtGreaterThanOrEqual":"2026-01-01","userIdEquals":""},"pager":{"pageIndex":3,"pageSize":500}}`),
		`{"totalCount":0,"objects":[]}`,
		`{"totalCount":0,"objects":[]}`,
	},
	{
		"thread",
		func(ctx context.Context, c *visitor.Client) (any, error) { return c.Thread(ctx, "t-1") },
		post("/v1/thread/get", `{"id":"t-1"}`), threadRecord, threadRecord,
	},
	{
		"rename",
		func(ctx context.Context, c *visitor.Client) (any, error) {
			return c.RenameThread(ctx, "t-1", "Trains")
		},
		post("/v1/thread/update", `{"id":"t-1","title":"Trains"}`), threadRecord, threadRecord,
	},
	{
		"set analysis",
		func(ctx context.Context, c *visitor.Client) (any, error) {
			return c.SetAnalysis(ctx, "t-1", map[string]any{"mood": "good", "stars": 4})
		},
		post("/v1/thread/update", `{"id":"t-1","thread_metadata":{"analysis":{"mood":"good","stars":4}}}`), threadRecord, threadRecord,
	},
	{
		"clear analysis",
		func(ctx context.Context, c *visitor.Client) (any, error) { return c.ClearAnalysis(ctx, "t-1") },
		post("/v1/thread/update", `{"id":"t-1","thread_metadata":{}}`), threadRecord, threadRecord,
	},
	{
		"delete",
		func(ctx context.Context, c *visitor.Client) (any, error) { return c.DeleteThreads(ctx, "t-1", "t-9") },
		post("/v1/thread/delete", `{"thread_ids":["t-1","t-9"]}`),
		`{"totalCount":1,"objects":[` + threadRecord + `]}`, `{"totalCount":1,"objects":[` + threadRecord + `]}`,
	},
	{
		"transcript",
		func(ctx context.Context, c *visitor.Client) (any, error) { return c.Transcript(ctx, "t-1") },
		post("/v1/thread/get_transcripts", `{"id":"t-1"}`),
		`{"status":"success","data":"opening: Hello!\nhuman: When?\nai: At noon,\nas ever."}`,
		`{"text":"opening: Hello!\nhuman: When?\nai: At noon,\nas ever.","turns":[{"role":"opening","text":"Hello!"},` +
			`{"role":"human","text":"When?"},{"role":"ai","text":"At noon,\nas ever."}]}`,
	},
	{
		"messages",
		func(ctx context.Context, c *visitor.Client) (any, error) {
			return c.Messages(ctx, visitor.MessageQuery{})
		},
		post("/message/list", `{"filter":{"objectType":"GenieListMessageFilter"},"pager":{"pageIndex":1,"pageSize":50}}`),
		`{"totalCount":1,"objects":[` + messageRecord + `]}`, `{"totalCount":1,"objects":[` + messageRecord + `]}`,
	},
	{
		"filtered messages",
		func(ctx context.Context, c *visitor.Client) (any, error) {
			return c.Messages(ctx, visitor.MessageQuery{
				ThreadID: "t-1",
				Filter: visitor.Filter{
					"threadIdEquals": "t-2", "genieIdEquals": "1001", "idEquals": "m-1", "idsIn": []string{"m-1"},
					"isPositiveEquals": true, "isPositiveIn": []bool{true, false}, "orderBy": "+updatedAt", "userIdEquals": "ann",
					"createdAtGreaterThanOrEqual": 1, "createdAtLessThanOrEqual": 2.5,
					"updatedAtGreaterThanOrEqual": 3, "updatedAtLessThanOrEqual": 4,
				},
				Pager: visitor.Pager{PageSize: new(1)},
			})
		},
		post("/message/list", `{"filter":{"createdAtGreaterThanOrEqual":1,"createdAtLessThanOrEqual":2.5,"genieIdEquals":"1001",`+
			`"idEquals":"m-1","idsIn":["m-1"],"isPositiveEquals":true,"isPositiveIn":[true,false],`+
			`"objectType":"GenieListMessageFilter","orderBy":"+updatedAt","threadIdEquals":"t-1",`+
			`"updatedAtGreaterThanOrEqual":3,"updatedAtLessThanOrEqual":4,"userIdEquals":"ann"},"pager":{"pageIndex":1,"pageSize":1}}`),
		`{"totalCount":0,"objects":[]}`, `{"totalCount":0,"objects":[]}`,
	},
	{
		"message",
		func(ctx context.Context, c *visitor.Client) (any, error) { return c.Message(ctx, "m-1") },
		post("/message/get", `{"id":"m-1"}`), messageRecord, messageRecord,
	},
	{
		"share",
		func(ctx context.Context, c *visitor.Client) (any, error) {
			return c.ShareMessage(ctx, "m-1", "For you")
		},
		post("/message/share", `{"id":"m-1","newTitle":"For you"}`),
		`{"status":"success","data":{"newMessageId":"m-2"}}`, `{"newMessageId":"m-2"}`,
	},
}

// common are the calls that every conversation may make.
var common = []method{
	{
		"feedback",
		func(ctx context.Context, c *visitor.Client) (any, error) {
			return nil, c.AddFeedback(ctx, "m-1", false, "too short")
		},
		post("/feedback/add", `{"schemaVersion":1,"data":{"message_id":"m-1","is_positive":false,"comment":"too short"}}`),
		`{"message_id":"m-1"}`, `null`,
	},
	{
		"feedback without a comment",
		func(ctx context.Context, c *visitor.Client) (any, error) {
			return nil, c.AddFeedback(ctx, "m-1", true, "")
		},
		post("/feedback/add", `{"schemaVersion":1,"data":{"message_id":"m-1","is_positive":true}}`),
		``, `null`,
	},
	{
		"follow-ups",
		func(ctx context.Context, c *visitor.Client) (any, error) { return c.Followups(ctx) },
		post("/followup/get-suggested-questions?new_response=true", `{}`),
		`["What is it?",{"question":"Why?","rank":1}]`, `["What is it?",{"question":"Why?","rank":1}]`,
	},
	{
		"no follow-ups",
		func(ctx context.Context, c *visitor.Client) (any, error) { return c.Followups(ctx) },
		post("/followup/get-suggested-questions?new_response=true", `{}`), `[]`, `[]`,
	},
	{
		"status",
		func(ctx context.Context, c *visitor.Client) (any, error) { return c.Status(ctx) },
		"GET " + host + "/assistant/status\nauthorization: KS " + ks + "\n\n",
		`{"aiConsent":true,"avatar":{"id":"av-1"},"identifiedUser":false,"beta":1}`,
		`{"aiConsent":true,"avatar":{"id":"av-1"},"identifiedUser":false,"beta":1}`,
	},
}

func TestCalls(t *testing.T) {
	for _, m := range slices.Concat(personal, common) {
		t.Run(m.name, func(t *testing.T) {
			c, s := newClient(t, visitor.Options{}, ok(m.reply))
			result, err := m.call(t.Context(), c)
			if err != nil {
				t.Error(err)
			}
			if want := []string{m.request}; !reflect.DeepEqual(s.requests, want) {
				t.Errorf("asked\n%s\nwant\n%s", strings.Join(s.requests, "\n"), m.request)
			}
			got, err := json.Marshal(result)
			if err != nil || string(got) != m.want {
				t.Errorf("result %s, %v\nwant   %s", got, err, m.want)
			}
		})
	}
}

func TestWidgetTokenHasNoThreads(t *testing.T) {
	for _, m := range personal {
		c, s := newClient(t, visitor.Options{Kind: appinit.WidgetToken})
		if _, err := m.call(t.Context(), c); !errors.Is(err, fault.WrongTokenScope) || len(s.requests) != 0 {
			t.Errorf("%s: %v after %d requests", m.name, err, len(s.requests))
		}
	}
	c, s := newClient(t, visitor.Options{Kind: appinit.WidgetToken})
	for _, err := range c.AllThreads(t.Context(), visitor.ThreadQuery{}) {
		if !errors.Is(err, fault.WrongTokenScope) {
			t.Errorf("all threads: %v", err)
		}
	}
	for _, err := range c.AllMessages(t.Context(), visitor.MessageQuery{}) {
		if !errors.Is(err, fault.WrongTokenScope) {
			t.Errorf("all messages: %v", err)
		}
	}
	if len(s.requests) != 0 {
		t.Errorf("requests %q", s.requests)
	}
	for _, m := range common {
		c, s := newClient(t, visitor.Options{Kind: appinit.WidgetToken}, ok(m.reply))
		if _, err := m.call(t.Context(), c); err != nil || len(s.requests) != 1 {
			t.Errorf("%s: %v after %d requests", m.name, err, len(s.requests))
		}
	}
}

func TestOtherTokensHaveThreads(t *testing.T) {
	for _, kind := range []appinit.TokenKind{appinit.UnknownToken, appinit.ConversationToken, appinit.AgentToken, appinit.AdminToken} {
		for _, m := range personal {
			c, s := newClient(t, visitor.Options{Kind: kind}, ok(m.reply))
			if _, err := m.call(t.Context(), c); err != nil || len(s.requests) != 1 {
				t.Errorf("%s with kind %q: %v after %d requests", m.name, kind, err, len(s.requests))
			}
		}
	}
}

// TestServiceJudgesARawToken: the service's 403 keeps its words.
func TestServiceJudgesARawToken(t *testing.T) {
	for _, m := range slices.Concat(personal, common) {
		c, s := newClient(t, visitor.Options{}, reply{status: 403, body: `{"message":"a token of this kind may not do that"}`})
		_, err := m.call(t.Context(), c)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.Forbidden || f.Detail != "a token of this kind may not do that" || len(s.requests) != 1 {
			t.Errorf("%s: %v", m.name, err)
		}
		if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), ks) {
			t.Errorf("%s: the error shows the token", m.name)
		}
	}
}

func TestBadArgumentsAreNotSent(t *testing.T) {
	threads := func(f visitor.Filter, p visitor.Pager) func(context.Context, *visitor.Client) error {
		return func(ctx context.Context, c *visitor.Client) error {
			_, err := c.Threads(ctx, visitor.ThreadQuery{Filter: f, Pager: p})
			for _, again := range c.AllThreads(ctx, visitor.ThreadQuery{Filter: f, Pager: p}) {
				if again == nil || again.Error() != err.Error() {
					return fmt.Errorf("one page says %w, all say %w", err, again)
				}
			}
			return err
		}
	}
	messages := func(q visitor.MessageQuery) func(context.Context, *visitor.Client) error {
		return func(ctx context.Context, c *visitor.Client) error {
			_, err := c.Messages(ctx, q)
			return err
		}
	}
	filter := func(key string, value any) func(context.Context, *visitor.Client) error {
		return threads(visitor.Filter{key: value}, visitor.Pager{})
	}
	const threadKeys = "; the keys are agentIdEquals, contextIdEqual, createdAtGreaterThanOrEqual, createdAtLessThanOrEqual, " +
		"idEquals, idsIn, isEverywhere, orderBy, partnerIdEquals, statusEquals, statusIn, " +
		"updatedAtGreaterThanOrEqual, updatedAtLessThanOrEqual, userIdEquals"
	const messageKeys = "; the keys are createdAtGreaterThanOrEqual, createdAtLessThanOrEqual, genieIdEquals, idEquals, idsIn, " +
		"isPositiveEquals, isPositiveIn, orderBy, threadIdEquals, updatedAtGreaterThanOrEqual, updatedAtLessThanOrEqual, userIdEquals"
	text, list := " must be a string that is not empty", " must be a list of strings that are not empty"
	moment := " must be a time: RFC 3339 text or seconds since 1970"
	order := "filter.orderBy must be one of +createdAt, -createdAt, +updatedAt, -updatedAt"
	for _, test := range []struct {
		call   func(context.Context, *visitor.Client) error
		code   fault.Code
		detail string
	}{
		{filter("agentIdIn", []string{"a"}), fault.ValidationError, "there is no filter.agentIdIn; ask for each agent with agentIdEquals" + threadKeys},
		{filter("objectType", "ListThreadFilter"), fault.ValidationError, "filter.objectType is fixed" + threadKeys},
		{filter("titleEquals", "x"), fault.ValidationError, "filter.titleEquals is not known" + threadKeys},
		{filter("threadIdEquals", "t-1"), fault.ValidationError, "filter.threadIdEquals is not known" + threadKeys},
		{filter("unknown", nil), fault.ValidationError, "filter.unknown is not known" + threadKeys},
		{filter("agentIdEquals", ""), fault.ValidationError, "filter.agentIdEquals" + text},
		{filter("idEquals", 7), fault.ValidationError, "filter.idEquals" + text},
		{filter("contextIdEqual", []string{"x"}), fault.ValidationError, "filter.contextIdEqual" + text},
		{filter("statusEquals", ""), fault.ValidationError, "filter.statusEquals" + text},
		{filter("partnerIdEquals", ""), fault.ValidationError, "filter.partnerIdEquals must be a number or a string that is not empty"},
		{filter("userIdEquals", 5), fault.ValidationError, "filter.userIdEquals must be a string"},
		{filter("idsIn", []string{}), fault.ValidationError, "filter.idsIn" + list},
		{filter("idsIn", []string{"t-1", ""}), fault.ValidationError, "filter.idsIn" + list},
		{filter("idsIn", "t-1"), fault.ValidationError, "filter.idsIn" + list},
		{filter("statusIn", []any{1}), fault.ValidationError, "filter.statusIn" + list},
		{filter("isEverywhere", "yes"), fault.ValidationError, "filter.isEverywhere must be true or false"},
		{filter("createdAtGreaterThanOrEqual", ""), fault.ValidationError, "filter.createdAtGreaterThanOrEqual" + moment},
		{filter("createdAtLessThanOrEqual", true), fault.ValidationError, "filter.createdAtLessThanOrEqual" + moment},
		{filter("orderBy", "createdAt"), fault.ValidationError, order},
		{filter("orderBy", ""), fault.ValidationError, order},
		{filter("idEquals", func() {}), fault.ValidationError, "filter.idEquals" + text},
		{threads(nil, visitor.Pager{PageIndex: new(0)}), fault.ValidationError, "pager.pageIndex starts at 1"},
		{threads(nil, visitor.Pager{PageSize: new(0)}), fault.ValidationError, "pager.pageSize must be from 1 to 500"},
		{threads(nil, visitor.Pager{PageSize: new(501)}), fault.ValidationError, "pager.pageSize must be from 1 to 500"},
		{messages(visitor.MessageQuery{Filter: visitor.Filter{"agentIdEquals": "a"}}), fault.ValidationError, "filter.agentIdEquals is not known" + messageKeys},
		{messages(visitor.MessageQuery{Filter: visitor.Filter{"objectType": "x"}}), fault.ValidationError, "filter.objectType is fixed" + messageKeys},
		{messages(visitor.MessageQuery{Filter: visitor.Filter{"threadIdEquals": ""}}), fault.ValidationError, "filter.threadIdEquals" + text},
		{messages(visitor.MessageQuery{Filter: visitor.Filter{"isPositiveIn": []any{"true"}}}), fault.ValidationError, "filter.isPositiveIn must be a list of true and false"},
		{messages(visitor.MessageQuery{Filter: visitor.Filter{"isPositiveEquals": 1}}), fault.ValidationError, "filter.isPositiveEquals must be true or false"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.Thread(ctx, ""); return err }, fault.BadRequest, "the thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.RenameThread(ctx, "", "x"); return err }, fault.BadRequest, "the thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.ClearAnalysis(ctx, ""); return err }, fault.BadRequest, "the thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error {
			_, err := c.SetAnalysis(ctx, "t-1", nil)
			return err
		}, fault.BadRequest, "no value to set; clearing the analysis is a call of its own"},
		{func(ctx context.Context, c *visitor.Client) error {
			_, err := c.SetAnalysis(ctx, "t-1", map[string]any{"f": func() {}})
			return err
		}, fault.BadRequest, "the body of the request can't be written as JSON"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.DeleteThreads(ctx); return err }, fault.BadRequest, "no thread to delete"},
		{func(ctx context.Context, c *visitor.Client) error {
			_, err := c.DeleteThreads(ctx, "t-1", "")
			return err
		}, fault.BadRequest, "a thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.Transcript(ctx, ""); return err }, fault.BadRequest, "the thread's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.Message(ctx, ""); return err }, fault.BadRequest, "the message's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { _, err := c.ShareMessage(ctx, "", "x"); return err }, fault.BadRequest, "the message's id is empty"},
		{func(ctx context.Context, c *visitor.Client) error { return c.AddFeedback(ctx, "", true, "") }, fault.BadRequest, "the message's id is empty"},
	} {
		c, s := newClient(t, visitor.Options{})
		err := test.call(t.Context(), c)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != test.code || f.Detail != test.detail {
			t.Errorf("got %v\nwant %s: %s", err, test.code, test.detail)
		}
		if len(s.requests) != 0 {
			t.Errorf("%s: %d requests", test.detail, len(s.requests))
		}
	}
}

func TestMessagesLeaveTheCallersFilterAlone(t *testing.T) {
	c, _ := newClient(t, visitor.Options{}, ok(`{"totalCount":0,"objects":[]}`))
	filter := visitor.Filter{"idEquals": "m-1"}
	if _, err := c.Messages(t.Context(), visitor.MessageQuery{ThreadID: "t-1", Filter: filter}); err != nil {
		t.Fatal(err)
	}
	if want := (visitor.Filter{"idEquals": "m-1"}); !reflect.DeepEqual(filter, want) {
		t.Errorf("filter %v", filter)
	}
}

func TestBadReplies(t *testing.T) {
	call := func(name string) func(context.Context, *visitor.Client) (any, error) {
		for _, m := range slices.Concat(personal, common) {
			if m.name == name {
				return m.call
			}
		}
		t.Fatalf("no call %q", name)
		return nil
	}
	for _, test := range []struct {
		name  string
		reply reply
		code  fault.Code
		path  string
	}{
		{"threads", ok(`{}`), fault.InvalidResponse, "/v1/thread/list"},
		{"threads", ok(`[]`), fault.InvalidResponse, "/v1/thread/list"},
		{"threads", ok(`{"totalCount":1,"objects":[{"title":"no id"}]}`), fault.InvalidResponse, "/v1/thread/list"},
		{"threads", ok(`{"totalCount":1,"objects":["t-1"]}`), fault.InvalidResponse, "/v1/thread/list"},
		{"threads", ok(`{"totalCount":1,"objects":[null]}`), fault.InvalidResponse, "/v1/thread/list"},
		{"threads", reply{status: 422, body: `{"detail":[{"loc":["body"],"msg":"Invalid filter type","type":"x"}]}`}, fault.InvalidFilter, "/v1/thread/list"},
		{"thread", ok(`{}`), fault.InvalidResponse, "/v1/thread/get"},
		{"thread", ok(`{"success":false}`), fault.APIException, "/v1/thread/get"},
		{"thread", reply{status: 404, body: `{"message":"not found"}`}, fault.NotFound, "/v1/thread/get"},
		{"thread", reply{status: 401}, fault.Unauthorized, "/v1/thread/get"},
		{"rename", ok(``), fault.ServerError, "/v1/thread/update"},
		{"delete", ok(`{"totalCount":0}`), fault.InvalidResponse, "/v1/thread/delete"},
		{"transcript", ok(`{"status":"success"}`), fault.InvalidResponse, "/v1/thread/get_transcripts"},
		{"message", ok(`{"content":[]}`), fault.InvalidResponse, "/message/get"},
		{"message", reply{status: 403}, fault.Forbidden, "/message/get"},
		{"share", ok(`{"status":"success","data":{}}`), fault.ServerError, "/message/share"},
		{"share", ok(`{"status":"success","data":null}`), fault.ServerError, "/message/share"},
		{"share", ok(``), fault.ServerError, "/message/share"},
		{"feedback", ok(`{"error":"no such message"}`), fault.APIException, "/feedback/add"},
		{"follow-ups", ok(`{"questions":[]}`), fault.InvalidResponse, "/followup/get-suggested-questions"},
		{"status", ok(`<html>`), fault.InvalidResponse, "/assistant/status"},
	} {
		c, s := newClient(t, visitor.Options{}, test.reply)
		_, err := call(test.name)(t.Context(), c)
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
		if _, err := m.call(t.Context(), c); !errors.Is(err, fault.ServerError) || len(s.requests) != 1 {
			t.Errorf("%s: %v after %d requests", m.name, err, len(s.requests))
		}
	}
}

func TestPagersAskForOnePageAfterTheOther(t *testing.T) {
	thread := func(id string) string { return `{"id":"` + id + `"}` }
	threads := func(total int, ids ...string) reply {
		var objects []string
		for _, id := range ids {
			objects = append(objects, thread(id))
		}
		return ok(fmt.Sprintf(`{"totalCount":%d,"objects":[%s]}`, total, strings.Join(objects, ",")))
	}
	request := func(index, size int) string {
		return post("/v1/thread/list", fmt.Sprintf(
			`{"filter":{"objectType":"ListThreadFilter","orderBy":"+createdAt"},"pager":{"pageIndex":%d,"pageSize":%d}}`, index, size))
	}
	for _, test := range []struct {
		name    string
		pager   visitor.Pager
		stop    int // after so many
		replies []reply
		ids     string
		code    fault.Code
		want    []string
	}{
		{"none", visitor.Pager{}, 99, []reply{threads(0)}, "", "", []string{request(1, 30)}},
		{"one page", visitor.Pager{}, 99, []reply{threads(2, "a", "b")}, "a b", "", []string{request(1, 30)}},
		{
			"three pages",
			visitor.Pager{PageSize: new(2)},
			99,
			[]reply{threads(5, "a", "b"), threads(5, "c", "d"), threads(5, "e")},
			"a b c d e", "",
			[]string{request(1, 2), request(2, 2), request(3, 2)},
		},
		{
			"from the second page",
			visitor.Pager{PageIndex: new(2), PageSize: new(2)},
			99,
			[]reply{threads(4, "c", "d")},
			"c d", "",
			[]string{request(2, 2)},
		},
		{
			"smaller pages than asked for",
			visitor.Pager{PageSize: new(500)},
			99,
			[]reply{threads(3, "a", "b"), threads(3, "c")},
			"a b c", "",
			[]string{request(1, 500), request(2, 500)},
		},
		{
			"threads vanish meanwhile",
			visitor.Pager{PageSize: new(2)},
			99,
			[]reply{threads(5, "a", "b"), threads(5)},
			"a b", "",
			[]string{request(1, 2), request(2, 2)},
		},
		{
			"left early",
			visitor.Pager{PageSize: new(2)},
			2,
			[]reply{threads(5, "a", "b"), threads(5, "c", "d")},
			"a b", "",
			[]string{request(1, 2)},
		},
		{
			"second page fails",
			visitor.Pager{PageSize: new(2)},
			99,
			[]reply{threads(5, "a", "b"), {status: 500}},
			"a b", fault.ServerError,
			[]string{request(1, 2), request(2, 2)},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, s := newClient(t, visitor.Options{}, test.replies...)
			var ids []string
			var failed error
			for thread, err := range c.AllThreads(t.Context(), visitor.ThreadQuery{
				Filter: visitor.Filter{"orderBy": "+createdAt"}, Pager: test.pager,
			}) {
				if failed != nil {
					t.Error("an error was not the last")
				}
				if err != nil {
					failed = err
					continue
				}
				if ids = append(ids, thread.ID); len(ids) == test.stop {
					break
				}
			}
			if got := strings.Join(ids, " "); got != test.ids {
				t.Errorf("threads %q, want %q", got, test.ids)
			}
			if test.code == "" && failed != nil || test.code != "" && !errors.Is(failed, test.code) {
				t.Errorf("error %v, want %q", failed, test.code)
			}
			if !reflect.DeepEqual(s.requests, test.want) {
				t.Errorf("asked\n%s\nwant\n%s", strings.Join(s.requests, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestAllMessagesPagesByFifty(t *testing.T) {
	c, s := newClient(t, visitor.Options{},
		ok(`{"totalCount":2,"objects":[{"id":"m-1"}]}`), ok(`{"totalCount":2,"objects":[{"id":"m-2"}]}`))
	all := c.AllMessages(t.Context(), visitor.MessageQuery{ThreadID: "t-1"})
	if len(s.requests) != 0 {
		t.Error("asked before anybody wanted a message")
	}
	var ids []string
	for m, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	request := func(index int) string {
		return post("/message/list", fmt.Sprintf(
			`{"filter":{"objectType":"GenieListMessageFilter","threadIdEquals":"t-1"},"pager":{"pageIndex":%d,"pageSize":50}}`, index))
	}
	if want := []string{request(1), request(2)}; !reflect.DeepEqual(s.requests, want) || strings.Join(ids, " ") != "m-1 m-2" {
		t.Errorf("messages %v, asked\n%s", ids, strings.Join(s.requests, "\n"))
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, err := visitor.New(visitor.Options{Token: ks, GenieURL: new(host)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Threads(ctx, visitor.ThreadQuery{}); !errors.Is(err, fault.Aborted) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOnResponseHearsEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []visitor.Response
		c, _ := newClient(
			t, visitor.Options{OnResponse: func(r visitor.Response) { heard = append(heard, r) }},
			reply{}, // no reply, nothing to hear
			reply{status: 503, header: fetch.Header{"x-kaltura-request-id": "k-1", "set-cookie": "secret"}},
			reply{status: 200, body: `{}`, header: fetch.Header{"x-kaltura-request-id": "k-2", "x-request-id": "r-2"}},
			ok(`[]`),
		)
		if _, err := c.Status(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Followups(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []visitor.Response{
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
		test.options.Token, test.options.Fetch = ks, s
		c, err := visitor.New(test.options)
		if err != nil {
			t.Fatal(err)
		}
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
	c, err := visitor.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if text := fmt.Sprintf("%v %+v %#v %s %v %#v", c, c, c, c, o, o); strings.Contains(text, ks) {
		t.Error(text)
	}
}
