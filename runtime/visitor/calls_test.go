package visitor_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/runtime/visitor"
)

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
					"isEverywhere": false, "orderBy": "-createdAt", "partnerIdEquals": 5501,
					"statusEquals": "active", "statusIn": []any{"active"}, "userIdEquals": "",
					"createdAtGreaterThanOrEqual": time.Unix(1, 0).UTC(), "createdAtLessThanOrEqual": 1790000000,
					"updatedAtGreaterThanOrEqual": "2026-01-01", "updatedAtLessThanOrEqual": nil,
					"objectType": "ListThreadFilter",
				},
				Pager: visitor.Pager{PageIndex: new(3), PageSize: new(500)},
			})
		},
		post("/v1/thread/list", `{"filter":{"agentIdEquals":"a-1","contextIdEqual":"entry",`+
			`"createdAtGreaterThanOrEqual":"1970-01-01T00:00:01Z","createdAtLessThanOrEqual":1790000000,`+
			`"idEquals":"t-1","idsIn":["t-1","t-2"],"isEverywhere":false,"objectType":"ListThreadFilter","orderBy":"-createdAt",`+
			`"partnerIdEquals":5501,"statusEquals":"active","statusIn":["active"],`+
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
					"objectType": "ListThreadFilter", // of another list
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
