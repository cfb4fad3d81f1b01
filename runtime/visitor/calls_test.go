package visitor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// call is a method of the client, its arguments as a JSON list without the context, its request,
// the reply, and the result as JSON.
type call struct{ method, args, request, reply, want string }

// do calls the method.
func (m call) do(ctx context.Context, c *visitor.Client) (any, error) {
	f := reflect.ValueOf(c).MethodByName(m.method)
	var given []json.RawMessage
	if err := json.Unmarshal([]byte(m.args), &given); err != nil || !f.IsValid() {
		panic(fmt.Sprint(m.method, m.args, err))
	}
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for n, text := range given {
		kind := f.Type().In(min(n+1, f.Type().NumIn()-1))
		if f.Type().IsVariadic() {
			kind = kind.Elem()
		}
		value := reflect.New(kind)
		if err := json.Unmarshal(text, value.Interface()); err != nil {
			panic(fmt.Sprint(m.method, m.args, err))
		}
		in = append(in, value.Elem())
	}
	out := f.Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	if len(out) == 1 {
		return nil, err
	}
	return out[0].Interface(), err
}

const (
	threadRecord = `{"id":"t-1","title":"Trains","created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:06Z",` +
		`"status":"active","agent_id":"a-1","thread_metadata":{"analysis":{"mood":"good"}},"rank":[1]}`
	messageRecord = `{"id":"m-1","thread_id":"t-1","genie_id":1001,"user_id":"ann","type":"ai",` +
		`"content":[{"type":"avatar","content":"At "},{"type":"text","content":"noon."}],"is_positive":true,"likes":3}`
)

// Every filter of threads, and of messages: those whose keys are before objectType in the
// order in which they are sent, and those behind it.
const (
	threadFilterA = `"agentIdEquals":"a-1","contextIdEqual":"entry","createdAtGreaterThanOrEqual":"1970-01-01T00:00:01Z","createdAtLessThanOrEqual":1790000000,` +
		`"idEquals":"t-1","idsIn":["t-1","t-2"],"isEverywhere":false`
	threadFilterB  = `"orderBy":"-createdAt","partnerIdEquals":5501,"statusEquals":"active","statusIn":["active"],"updatedAtGreaterThanOrEqual":"2026-01-01","userIdEquals":""`
	messageFilterA = `"createdAtGreaterThanOrEqual":1,"createdAtLessThanOrEqual":2.5,"genieIdEquals":"1001","idEquals":"m-1","idsIn":["m-1"],"isPositiveEquals":true,"isPositiveIn":[true,false]`
	messageFilterB = `"updatedAtGreaterThanOrEqual":3,"updatedAtLessThanOrEqual":4,"userIdEquals":"ann"`
)

// personal are the calls that a widget token can't make.
var personal = []call{
	{
		"Threads", `[{}]`, post("/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter"},"pager":{"pageIndex":1,"pageSize":30}}`),
		`{"totalCount":7,"objects":[` + threadRecord + `],"took":3}`, `{"totalCount":7,"objects":[` + threadRecord + `]}`,
	},
	{
		"Threads", `[{"filter":{` + threadFilterA + `,` + threadFilterB + `,"updatedAtLessThanOrEqual":null,"objectType":"ListThreadFilter"},"pager":{"pageIndex":3,"pageSize":500}}]`,
		post("/v1/thread/list", `{"filter":{`+threadFilterA+`,"objectType":"ListThreadFilter",`+threadFilterB+`},"pager":{"pageIndex":3,"pageSize":500}}`),
		`{"totalCount":0,"objects":[]}`, `{"totalCount":0,"objects":[]}`,
	},
	{"Thread", `["t-1"]`, post("/v1/thread/get", `{"id":"t-1"}`), threadRecord, threadRecord},
	{"RenameThread", `["t-1","Trains"]`, post("/v1/thread/update", `{"id":"t-1","title":"Trains"}`), threadRecord, threadRecord},
	{
		"SetAnalysis", `["t-1",{"mood":"good","stars":4}]`,
		post("/v1/thread/update", `{"id":"t-1","thread_metadata":{"analysis":{"mood":"good","stars":4}}}`), threadRecord, threadRecord,
	},
	{"ClearAnalysis", `["t-1"]`, post("/v1/thread/update", `{"id":"t-1","thread_metadata":{}}`), threadRecord, threadRecord},
	{
		"DeleteThreads", `["t-1","t-9"]`, post("/v1/thread/delete", `{"thread_ids":["t-1","t-9"]}`),
		`{"totalCount":1,"objects":[` + threadRecord + `]}`, `{"totalCount":1,"objects":[` + threadRecord + `]}`,
	},
	{
		"Transcript", `["t-1"]`, post("/v1/thread/get_transcripts", `{"id":"t-1"}`),
		`{"status":"success","data":"opening: Hello!\nhuman: When?\nai: At noon,\nas ever."}`,
		`{"text":"opening: Hello!\nhuman: When?\nai: At noon,\nas ever.","turns":[{"role":"opening","text":"Hello!"},` +
			`{"role":"human","text":"When?"},{"role":"ai","text":"At noon,\nas ever."}]}`,
	},
	{
		"Messages", `[{}]`, post("/message/list", `{"filter":{"objectType":"GenieListMessageFilter"},"pager":{"pageIndex":1,"pageSize":50}}`),
		`{"totalCount":1,"objects":[` + messageRecord + `]}`, `{"totalCount":1,"objects":[` + messageRecord + `]}`,
	},
	{ // with the objectType of another list
		"Messages", `[{"threadId":"t-1","filter":{"threadIdEquals":"t-2",` + messageFilterA + `,"orderBy":"+updatedAt",` + messageFilterB + `,"objectType":"ListThreadFilter"},"pager":{"pageSize":1}}]`,
		post("/message/list", `{"filter":{`+messageFilterA+`,"objectType":"GenieListMessageFilter","orderBy":"+updatedAt","threadIdEquals":"t-1",`+messageFilterB+`},"pager":{"pageIndex":1,"pageSize":1}}`),
		`{"totalCount":0,"objects":[]}`, `{"totalCount":0,"objects":[]}`,
	},
	{"Message", `["m-1"]`, post("/message/get", `{"id":"m-1"}`), messageRecord, messageRecord},
	{
		"ShareMessage", `["m-1","For you"]`, post("/message/share", `{"id":"m-1","newTitle":"For you"}`),
		`{"status":"success","data":{"newMessageId":"m-2"}}`, `{"newMessageId":"m-2"}`,
	},
}

// common are the calls that every conversation may make.
var common = []call{
	{
		"AddFeedback", `["m-1",false,"too short"]`, post("/feedback/add", `{"schemaVersion":1,"data":{"message_id":"m-1","is_positive":false,"comment":"too short"}}`),
		`{"message_id":"m-1"}`, `null`,
	},
	{"AddFeedback", `["m-1",true,""]`, post("/feedback/add", `{"schemaVersion":1,"data":{"message_id":"m-1","is_positive":true}}`), ``, `null`},
	{
		"Followups", `[]`, post("/followup/get-suggested-questions?new_response=true", `{}`),
		`["What is it?",{"question":"Why?","rank":1}]`, `["What is it?",{"question":"Why?","rank":1}]`,
	},
	{"Followups", `[]`, post("/followup/get-suggested-questions?new_response=true", `{}`), `[]`, `[]`},
	{
		"Status", `[]`, "GET " + host + "/assistant/status\nauthorization: KS " + ks + "\n\n",
		`{"aiConsent":true,"avatar":{"id":"av-1"},"identifiedUser":false,"beta":1}`, `{"aiConsent":true,"avatar":{"id":"av-1"},"identifiedUser":false,"beta":1}`,
	},
}

func TestCalls(t *testing.T) {
	for _, m := range slices.Concat(personal, common) {
		t.Run(m.method, func(t *testing.T) {
			c, s := newClient(t, visitor.Options{}, ok(m.reply))
			result, err := m.do(t.Context(), c)
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
