//go:build !js

package management_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// A call is a method of the client, such as Threads.Get, with its arguments as a JSON list
// without the context, and the request that it makes.
type call struct {
	method, args string
	path         string // behind the name of the service
	body         string // as JSON
	reply        string
	result       string // what the result has, as JSON; "" for anything
}

// options are the options of calls by their names in JSON. A number is a page size.
var options = map[string]management.Option{"confirm": management.ConfirmPermanent, "force": management.Force}

// invoke calls a method of the client. A list is read to its end.
func invoke(ctx context.Context, t *testing.T, c *management.Client, method, args string) (any, error) {
	t.Helper()
	resource, name, _ := strings.Cut(method, ".")
	m := reflect.ValueOf(c).Elem().FieldByName(resource).MethodByName(name)
	var given []json.RawMessage
	if err := json.Unmarshal([]byte(args), &given); err != nil || !m.IsValid() {
		t.Fatalf("%s(%s): %v", method, args, err)
	}
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for n, text := range given {
		kind := m.Type().In(min(n+1, m.Type().NumIn()-1))
		if m.Type().IsVariadic() && n+2 >= m.Type().NumIn() {
			kind = kind.Elem()
		}
		in = append(in, argument(t, kind, text))
	}
	out := m.Call(in)
	if out[0].Kind() == reflect.Func { // a list
		list := []any{}
		for object, err := range out[0].Seq2() {
			if !err.IsNil() {
				return nil, err.Interface().(error)
			}
			list = append(list, object.Interface())
		}
		return list, nil
	}
	err, _ := out[len(out)-1].Interface().(error)
	return out[0].Interface(), err
}

func argument(t *testing.T, kind reflect.Type, text json.RawMessage) reflect.Value {
	t.Helper()
	if kind == reflect.TypeFor[management.Option]() {
		var size management.PageSize
		if json.Unmarshal(text, &size) == nil {
			return reflect.ValueOf(size)
		}
		return reflect.ValueOf(options[strings.Trim(string(text), `"`)])
	}
	value := reflect.New(kind)
	if err := json.Unmarshal(text, value.Interface()); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value.Elem()
}

// has reports whether a JSON value has everything that is in want.
func has(value, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := value.(map[string]any)
		for name := range want {
			ok = ok && has(object[name], want[name])
		}
		return ok
	case []any:
		list, _ := value.([]any)
		return slices.EqualFunc(list, want, has)
	}
	return reflect.DeepEqual(value, want)
}

// parsed reads JSON.
func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// testCalls checks the request that each call makes.
func testCalls(t *testing.T, calls []call) {
	t.Helper()
	for _, c := range calls {
		_, path, _ := strings.Cut(c.path, " ")
		f := newFake(t, map[string][]answer{path: {{0, c.reply}}})
		result, err := invoke(t.Context(), t, f.Client, c.method, c.args)
		if err != nil {
			t.Errorf("%s(%s): %v", c.method, c.args, err)
			continue
		}
		asked, body := f.last()
		if asked.service+" "+asked.path != c.path || asked.auth != "KS "+adminKS && asked.auth != "Bearer "+adminKS {
			t.Errorf("%s(%s): asked %s %s with %s", c.method, c.args, asked.service, asked.path, asked.auth)
		}
		if !reflect.DeepEqual(any(body), parsed(t, c.body)) {
			t.Errorf("%s(%s): sent\n     %s\nwant %s", c.method, c.args, asked.body, c.body)
		}
		text, err := json.Marshal(result)
		if c.result != "" && (err != nil || !has(parsed(t, string(text)), parsed(t, c.result))) {
			t.Errorf("%s(%s): got\n     %s, %v\nwant %s", c.method, c.args, text, err, c.result)
		}
	}
}

// refusal is a call that must fail without a request.
type refusal struct {
	method, args string
	code         fault.Code
}

func testRefusals(t *testing.T, refusals []refusal) {
	t.Helper()
	f := newFake(t, nil)
	for _, r := range refusals {
		_, err := invoke(t.Context(), t, f.Client, r.method, r.args)
		wantCode(t, r.method+r.args, err, r.code)
		if list := f.take(); len(list) > 0 {
			t.Errorf("%s(%s): asked %s", r.method, r.args, list[0].path)
		}
	}
}

// drop is the error of a call without its result.
func drop[T any](_ T, err error) error { return err }

// listOf is the reply of a list with one record.
func listOf(record string) string { return `{"totalCount":1,"objects":[` + record + `]}` }

func TestIntellectCalls(t *testing.T) {
	const record = `{"id":7,"name":"Robin","unknown":{"a":1}}`
	set := func(method, args, fields string) call {
		return call{"Intellects." + method, "[7" + args + "]", "genie /v1/intellect/update", `{"id":7,"type":"internal",` + fields + `}`, record, ""}
	}
	testCalls(t, []call{
		{"Intellects.Get", `[7]`, "genie /v1/intellect/get", `{"id":7}`, record, `{"name":"Robin"}`},
		{"Intellects.List", `[]`, "genie /v1/intellect/list", `{"filter":{},"pager":{"pageIndex":1,"pageSize":30}}`, listOf(record), `[{"id":7}]`},
		{"Intellects.Add", `[{"name":"Robin","tool_ids":[]}]`, "genie /v1/intellect/add", `{"type":"internal","name":"Robin","status":2,"tool_ids":[]}`, record, ""},
		{"Intellects.Update", `[7,{"glossary":""}]`, "genie /v1/intellect/update", `{"id":7,"type":"internal","glossary":""}`, record, ""},
		{"Intellects.Delete", `[7,"confirm"]`, "genie /v1/intellect/delete", `{"id":7}`, `null`, ""},
		set("SetModelConfiguration", `,{"model_id":"m","max_output_tokens":9,"thinking_level":"low","temperature":0}`,
			`"model_configuration":{"model_id":"m","max_output_tokens":9,"thinking_level":"low","temperature":0}`),
		set("SetModelConfiguration", `,null`, `"model_configuration":null`),
		set("SetOpeningPhrase", `,"Hello {{ name }}"`, `"opening_phrase":"Hello {{ name }}"`),
		set("SetOpeningPhrase", `,"<blank>"`, `"opening_phrase":"<blank>"`),
		set("SetOpeningPhrase", `,""`, `"opening_phrase":null`),
		set("SetAvatarSummaryConfig", `,{"analysis":{"mood":"x"},"template":"{{ mood }}","content_type":"text"}`,
			`"avatar_summary_config":{"analysis":{"mood":"x"},"template":"{{ mood }}","content_type":"text"}`),
		set("SetAvatarSummaryConfig", `,null`, `"avatar_summary_config":null`),
		set("Update", `,{"thread_start_tools":["b","a"],"tool_ids":["a"],"knowledge_ids":[3],"allow_client_variables":false,"base_directive":"x"}`,
			`"thread_start_tools":["b","a"],"tool_ids":["a"],"knowledge_ids":[3],"allow_client_variables":false,"base_directive":"x"`),
		set("Update", `,{"thread_start_tools":[],"user_properties_forms":[],"mcp_servers":{},"metadata":{}}`, `"thread_start_tools":[],"user_properties_forms":[],"mcp_servers":{},"metadata":{}`),
		set("Update", `,{"skill_ids":[{"id":"s","mode":"preloaded","condition":"sys__avatar_enabled"}]}`, `"skill_ids":[{"id":"s","mode":"preloaded","condition":"sys__avatar_enabled"}]`),
		set("Update", `,{"prompts":[{"key":"a","value":"b"}]}`, `"prompts":[{"key":"a","label":"a","headerTemplate":"a","type":"custom","value":"b"}]`),
		set("Update", `,{"mcp_servers":{"a":{"url":"https://a.example"}}}`, `"mcp_servers":{"a":{"url":"https://a.example"}}`),
		set("ReplaceSecrets", `,{"A":"value"},"confirm"`, `"secrets":{"A":"value"}`),
	})
}

func TestIntellectCallsThatAreRefused(t *testing.T) {
	testRefusals(t, []refusal{
		{"Intellects.Get", `[0]`, fault.BadRequest},
		{"Intellects.Add", `[{"tool_ids":[""]}]`, fault.BadRequest},
		{"Intellects.Update", `[7,{"knowledge_ids":[1,2]}]`, fault.BadRequest},
		{"Intellects.Update", `[7,{"base_directive":"{{"}]`, fault.PromptLintFailed},
		{"Intellects.Update", `[-7,{"allow_client_variables":true}]`, fault.BadRequest},
		{"Intellects.Delete", `[7]`, fault.ConfirmationRequired},
		{"Intellects.Delete", `[7,"force"]`, fault.ConfirmationRequired},
		{"Intellects.SetModelConfiguration", `[7,{"temperature":2}]`, fault.BadRequest},
		{"Intellects.SetOpeningPhrase", `[7,"{{ sys__ks }}"]`, fault.BadRequest},
		{"Intellects.SetAvatarSummaryConfig", `[7,{"template":"{{ mood }}"}]`, fault.BadRequest},
		{"Intellects.SetCapability", `[7,"x","on"]`, fault.UnknownCapability},
		{"Intellects.SetCapability", `[7,"avatar","yes"]`, fault.BadRequest},
		{"Intellects.SetCapabilities", `[7,null]`, fault.BadRequest},
		{"Intellects.ResolveCapabilities", `[7,{"nothing":"on"}]`, fault.UnknownCapability},
		{"Intellects.SetSecrets", `[7,{"A":"***"}]`, fault.BadRequest},
		{"Intellects.SetSecrets", `[7,null]`, fault.BadRequest},
		{"Intellects.DeleteSecrets", `[7,["A"]]`, fault.ConfirmationRequired},
		{"Intellects.ReplaceSecrets", `[7,null]`, fault.ConfirmationRequired},
		{"Intellects.SetForcedLanguage", `[{"ConfigID":7,"Language":"klingon"}]`, fault.BadRequest},
		{"Intellects.SetForcedLanguage", `[{"Language":"de"}]`, fault.BadRequest},
		{"Intellects.SetBrainConfig", `[7,{}]`, fault.BadRequest},
		{"Intellects.SetBrainConfig", `[7,{"RateLimits":{"PerHour":-1}}]`, fault.BadRequest},
		{"Intellects.SetBrainConfig", `[7,{"WebSearch":{"search_depth":"deep"}}]`, fault.BadRequest},
		{"Intellects.Restore", `[null]`, fault.BadRequest},
		{"Intellects.Restore", `[{"configId":7},"secrets"]`, fault.BadRequest},
		{"Intellects.Restore", `[{"configId":7,"fields":{}}]`, fault.BadRequest},
	})
}

func TestToolAndSkillCalls(t *testing.T) {
	const tool, skill = `{"id":"t-1","name":"note","config":{"type":"client","description":"x"}}`, `{"id":"s-1","name":"polite","description":"d","partner_id":0}`
	testCalls(t, []call{
		{"Tools.List", `[]`, "genie /v1/tool/list", `{"filter":{"objectType":"ToolListFilter"},"pager":{"pageIndex":1,"pageSize":30}}`, listOf(tool), ""},
		{"Tools.Get", `["t-1"]`, "genie /v1/tool/get", `{"id":"t-1"}`, tool, ""},
		{
			"Tools.Add", `["note",{"type":"client","description":"x","wait_for_response":true}]`, "genie /v1/tool/add",
			`{"name":"note","config":{"name":"note","type":"client","description":"x","wait_for_response":true}}`, tool, "",
		},
		{"Tools.Update", `["t-1",{"name":"other"}]`, "genie /v1/tool/update", `{"id":"t-1","name":"other"}`, tool, ""},
		{"Tools.Delete", `["t-1","confirm","force"]`, "genie /v1/tool/delete", `{"id":"t-1"}`, `null`, ""},
		{"Skills.List", `[]`, "genie /v1/skill/list", `{"filter":{"objectType":"SkillListFilter"},"pager":{"pageIndex":1,"pageSize":30}}`, listOf(skill), `[{"partner_id":0}]`},
		{"Skills.Get", `["s-1"]`, "genie /v1/skill/get", `{"id":"s-1"}`, skill, ""},
		{
			"Skills.Add", `[{"name":"polite","description":"d","instructions":"for {{ sys__user_id }}"}]`, "genie /v1/skill/add",
			`{"name":"polite","description":"d","instructions":"for {{ sys__user_id }}"}`, skill, "",
		},
		{"Skills.Update", `["s-1",{"instructions":""}]`, "genie /v1/skill/update", `{"id":"s-1","instructions":""}`, skill, ""},
		{"Skills.Delete", `["s-1","confirm","force"]`, "genie /v1/skill/delete", `{"id":"s-1"}`, `{"id":"s-1"}`, ""},
	})
	testRefusals(t, []refusal{
		{"Tools.Get", `[""]`, fault.BadRequest},
		{"Tools.Add", `["a b",{"type":"client","description":"x"}]`, fault.BadRequest},
		{"Tools.Update", `["t-1",{}]`, fault.BadRequest},
		{"Tools.Update", `["t-1",{"config":{}}]`, fault.BadRequest},
		{"Tools.Delete", `["t-1","force"]`, fault.ConfirmationRequired},
		{"Skills.Add", `[{"name":"a"}]`, fault.BadRequest},
		{"Skills.Add", `[{"name":"a","description":"b","instructions":"{{ sys__ks }}"}]`, fault.PromptLintFailed},
		{"Skills.Update", `["s-1",{}]`, fault.BadRequest},
		{"Skills.Delete", `["s-1"]`, fault.ConfirmationRequired},
	})
	if none, shared := (&management.Skill{}), (&management.Skill{PartnerID: new(int64(0))}); none.Shared() || !shared.Shared() {
		t.Error("partner_id 0 is a shared skill, and no partner_id is not known")
	}
}

// day is a time in filters.
const day = `"2026-01-02T03:04:05Z"`

func TestThreadCalls(t *testing.T) {
	const thread = `{"id":"th-1","title":"T"}`
	const everything = `"agentIdEquals":"a","contextIdEqual":"c","idEquals":"i","idsIn":["i"],"partnerIdEquals":5,"statusEquals":"active","statusIn":["active"],
		"userIdEquals":"","isEverywhere":true,"createdAtGreaterThanOrEqual":` + day + `,"createdAtLessThanOrEqual":` + day + `,
		"updatedAtGreaterThanOrEqual":` + day + `,"updatedAtLessThanOrEqual":` + day + `,"orderBy":"-createdAt"`
	testCalls(t, []call{
		{"Threads.List", `[{}]`, "genie /v1/thread/list", `{"filter":{"objectType":"ListThreadFilter"},"pager":{"pageIndex":1,"pageSize":30}}`, listOf(thread), `[{"id":"th-1"}]`},
		{
			"Threads.List", `[{` + everything + `},500]`, "genie /v1/thread/list", `{"filter":{"objectType":"ListThreadFilter",` + everything + `},"pager":{"pageIndex":1,"pageSize":500}}`,
			`{"totalCount":0,"objects":[]}`, `[]`,
		},
		{"Threads.Get", `["th-1"]`, "genie /v1/thread/get", `{"id":"th-1"}`, thread, thread},
		{"Threads.Rename", `["th-1","T"]`, "genie /v1/thread/update", `{"id":"th-1","title":"T"}`, thread, thread},
		{"Threads.SetAnalysis", `["th-1",{"mood":"good"}]`, "genie /v1/thread/update", `{"id":"th-1","thread_metadata":{"analysis":{"mood":"good"}}}`, thread, thread},
		{"Threads.ClearAnalysis", `["th-1"]`, "genie /v1/thread/update", `{"id":"th-1","thread_metadata":{}}`, thread, thread},
		{
			"Threads.Push", `["th-1",{"content":"Hi","request_vars":{"a":1},"system_message":true}]`, "genie /thread/push",
			`{"id":"th-1","content":"Hi","request_vars":{"a":1},"system_message":true}`, `{"delivered":true,"message_id":"m-1"}`, `{"delivered":true,"message_id":"m-1"}`,
		},
		{"Threads.Delete", `[["th-1","th-2"],"confirm"]`, "genie /v1/thread/delete", `{"thread_ids":["th-1","th-2"]}`, listOf(thread), `[{"id":"th-1"}]`},
		{
			"Threads.Transcript", `["th-1"]`, "genie /v1/thread/get_transcripts", `{"id":"th-1"}`, `{"status":"success","data":"human: Hi\nai: Hello."}`,
			`{"turns":[{"text":"Hi"},{"text":"Hello."}]}`,
		},
		{"Threads.Complete", `["th-1"]`, "genie /thread/session_completed", `{"id":"th-1"}`, `{}`, ""},
	})
	testRefusals(t, []refusal{
		{"Threads.List", `[{"orderBy":"title"}]`, fault.BadRequest},
		{"Threads.Get", `[""]`, fault.BadRequest},
		{"Threads.Rename", `["th-1",""]`, fault.BadRequest},
		{"Threads.SetAnalysis", `["th-1",null]`, fault.BadRequest},
		{"Threads.Push", `["th-1",{}]`, fault.BadRequest},
		{"Threads.Push", `["th-1",{"content":"x","request_vars":{"sys__user_id":"u"}}]`, fault.ValidationError},
		{"Threads.Delete", `[null,"confirm"]`, fault.BadRequest},
		{"Threads.Delete", `[["th-1"]]`, fault.ConfirmationRequired},
		{"Threads.Transcript", `[""]`, fault.BadRequest},
		{"Threads.Complete", `[""]`, fault.BadRequest},
	})
}

func TestMessageCalls(t *testing.T) {
	const message = `{"id":"m-1","thread_id":"th-1","type":"ai","content":[{"type":"text","content":"Hi"}]}`
	const everything = `"threadIdEquals":"t","idEquals":"i","idsIn":["i"],"genieIdEquals":7,"isPositiveEquals":false,"isPositiveIn":[true],"userIdEquals":"",
		"createdAtGreaterThanOrEqual":` + day + `,"createdAtLessThanOrEqual":` + day + `,"updatedAtGreaterThanOrEqual":` + day + `,"updatedAtLessThanOrEqual":` + day + `,"orderBy":"+createdAt"`
	const report = "message_id,thread_id,user_id,question,is_positive\nm-1,th-1,sam,What?,true\n"
	testCalls(t, []call{
		{
			"Messages.List", `[{"threadIdEquals":"th-1","genieIdEquals":7}]`, "genie /message/list",
			`{"filter":{"objectType":"GenieListMessageFilter","threadIdEquals":"th-1","genieIdEquals":7},"pager":{"pageIndex":1,"pageSize":50}}`, listOf(message), "",
		},
		{
			"Messages.List", `[{` + everything + `}]`, "genie /message/list",
			`{"filter":{"objectType":"GenieListMessageFilter",` + everything + `},"pager":{"pageIndex":1,"pageSize":50}}`, `{"totalCount":0,"objects":[]}`, `[]`,
		},
		{"Messages.Get", `["m-1"]`, "genie /message/get", `{"id":"m-1"}`, message, message},
		{"Messages.Share", `["m-1","T"]`, "genie /message/share", `{"id":"m-1","newTitle":"T"}`, `{"status":"success","data":{"newMessageId":"m-2"}}`, `"m-2"`},
		{
			"Messages.Report", `[{"isPositiveEquals":true},100]`, "genie /message/report",
			`{"filter":{"objectType":"GenieListMessageFilter","isPositiveEquals":true},"pager":{"pageIndex":1,"pageSize":100}}`, report, "",
		},
		{
			"Messages.ReportSummary", `[{}]`, "genie /message/report", `{"filter":{"objectType":"GenieListMessageFilter"},"pager":{"pageIndex":1,"pageSize":500}}`, report,
			`{"totals":{"messages":1},"feedback":{"positiveRatio":1},"topQuestions":[{"question":"What?"}],
			"_meta":{"partnerId":5501,"source":"/message/report","scope":"the first 500 messages that the filter selects"}}`,
		},
		{"Feedback.Add", `[{"message_id":"m-1","comment":"bad"}]`, "genie /feedback/add", `{"schemaVersion":1,"data":{"message_id":"m-1","is_positive":false,"comment":"bad"}}`, `{}`, ""},
		{"Followups.Suggested", `[]`, "genie /followup/get-suggested-questions", `{}`, `["What?"]`, `["What?"]`},
		{"Followups.List", `[]`, "genie /followup/list", `{"filter":{"objectType":"GenieListQuestionFilter"},"pager":{"pageIndex":1,"pageSize":30}}`, `{"totalCount":0,"objects":[]}`, `[]`},
	})
	testRefusals(t, []refusal{
		{"Messages.Get", `[""]`, fault.BadRequest},
		{"Messages.Share", `["",""]`, fault.BadRequest},
		{"Messages.Report", `[{},501]`, fault.BadRequest},
		{"Messages.List", `[{"orderBy":"x"}]`, fault.BadRequest},
		{"Feedback.Add", `[{}]`, fault.BadRequest},
	})
	f := newFake(t, map[string][]answer{"/message/share": {{0, `{"status":"success","data":{}}`}}, "/message/report": {{0, report}}})
	wantCode(t, "a copy without an id", drop(f.Messages.Share(t.Context(), "m-1", "T")), fault.ServerError)
	if text, err := f.Messages.Report(t.Context(), management.MessageFilter{}); err != nil || string(text) != report {
		t.Errorf("the report is %q, %v", text, err)
	}
}

func TestKnowledgeCalls(t *testing.T) {
	const record = `{"id":0,"name":"Manual","status":"ready","config":{"sources":[{"type":"markdown","name":"a","content":"b","entry_id":"e-1","indexers":[{"type":"fulltext","index_position":true}]}]}}`
	testCalls(t, []call{
		{"Knowledge.List", `[]`, "genie /v1/knowledge/list", `{"filter":{},"pager":{"pageIndex":1,"pageSize":30}}`, listOf(record), ""},
		{"Knowledge.Get", `[0]`, "genie /v1/knowledge/get", `{"id":0}`, record, record},
		{"Knowledge.Add", `["Manual"]`, "genie /v1/knowledge/add", `{"name":"Manual"}`, record, ""},
		{"Knowledge.Update", `[3,{"config":{"sources":[]}}]`, "genie /v1/knowledge/update", `{"id":3,"config":{"sources":[]}}`, record, ""},
		{"Knowledge.Delete", `[3,"confirm","force"]`, "genie /v1/knowledge/delete", `{"id":3}`, `null`, ""},
		{
			"Knowledge.EntryStatus", `[3,"e-1","e-2"]`, "genie /v1/knowledge/entry_status", `{"knowledge_id":3,"entry_ids":["e-1","e-2"]}`,
			`{"totalCount":2,"objects":[{"entry_id":"e-1","status":"indexed","index_position":true},{"entry_id":"e-2","status":"not_found"}]}`, `[{"index_position":true},{"status":"not_found"}]`,
		},
		{"Knowledge.Search", `[{"query":"price"}]`, "genie /mcp/search", `{"query":"price"}`, `{"status":"success","data":{"text":"42","chapters":null}}`, `{"text":"42","chapters":null}`},
		{
			"Knowledge.Search", `[{"query":"price","top_n":3,"with_line_numbers":true,"margins_in_seconds":0,"include_sources":true,"entry_description":false}]`, "genie /mcp/search",
			`{"query":"price","top_n":3,"with_line_numbers":true,"margins_in_seconds":0,"include_sources":true,"entry_description":false}`,
			`{"status":"success","data":{"text":null,"chapters":[{"title":"a"}]}}`, `{"text":"","chapters":[{"title":"a"}]}`,
		},
	})
	testRefusals(t, []refusal{
		{"Knowledge.Get", `[-1]`, fault.BadRequest},
		{"Knowledge.Add", `[""]`, fault.BadRequest},
		{"Knowledge.Update", `[3,{}]`, fault.BadRequest},
		{"Knowledge.AddSource", `[3,{"name":"a"}]`, fault.BadRequest},
		{"Knowledge.AddSource", `[3,{"type":"pdf","name":"a","content":"b"}]`, fault.BadRequest},
		{"Knowledge.RemoveSource", `[3,{}]`, fault.BadRequest},
		{"Knowledge.Delete", `[3]`, fault.ConfirmationRequired},
		{"Knowledge.EntryStatus", `[3]`, fault.BadRequest},
		{"Knowledge.Search", `[{}]`, fault.BadRequest},
		{"Knowledge.Search", `[{"query":"x","top_n":-1}]`, fault.BadRequest},
		{"Knowledge.Search", `[{"query":"x","margins_in_seconds":-1}]`, fault.BadRequest},
		{"Knowledge.CreateCategory", `[{"Name":" "}]`, fault.BadRequest},
		{"Knowledge.CreateCategory", `[{"Name":"a>b"}]`, fault.BadRequest},
		{"Knowledge.FindCategory", `[" "]`, fault.BadRequest},
		{"Knowledge.AttachEntry", `["",7]`, fault.BadRequest},
		{"Knowledge.AttachEntry", `["1_a",0]`, fault.BadRequest},
		{"Knowledge.UploadDocument", `[{"Name":"a","CategoryID":7}]`, fault.BadRequest},
		{"Knowledge.UploadDocument", `[{"Data":"YQ==","CategoryID":7}]`, fault.BadRequest},
		{"Knowledge.UploadMarkdown", `[{"Data":"YQ=="}]`, fault.BadRequest},
		{"Knowledge.LinkCategory", `[{"IntellectID":1}]`, fault.BadRequest},
		{"Knowledge.LinkCategory", `[{"IntellectID":1,"CategoryID":1,"ChunkSize":-1}]`, fault.BadRequest},
		{"Knowledge.LinkRecords", `[1,2,3]`, fault.BadRequest},
		{"Knowledge.CorpusStatus", `[]`, fault.BadRequest},
		{"Knowledge.CategoryEntries", `[0]`, fault.BadRequest},
	})
	f := newFake(t, map[string][]answer{"/mcp/search": {{0, `{"status":"error","data":"nothing fits"}`}}})
	wantCode(t, "nothing fits", drop(f.Knowledge.Search(t.Context(), management.SearchInput{Query: "x"})), fault.NotFound)
}

func TestInsightCalls(t *testing.T) {
	const record = `{"id":"i-1","key":"mood","title":"Mood","prompt":"How?","valueType":"string","status":"active"}`
	testCalls(t, []call{
		{
			"Insights.Create", `[{"key":"mood","title":"Mood","prompt":"How?","valueType":"string[]"}]`, "agent /insight-settings/create",
			`{"key":"mood","title":"Mood","prompt":"How?","valueType":"string[]"}`, record, record,
		},
		{"Insights.Get", `["i-1"]`, "agent /insight-settings/get", `{"id":"i-1"}`, record, record},
		{"Insights.List", `[{"statusEqual":"active"}]`, "agent /insight-settings/list", `{"filter":{"statusEqual":"active"},"pager":{"offset":0,"limit":30}}`, listOf(record), ""},
		{"Insights.Update", `["i-1",{"status":"disabled"}]`, "agent /insight-settings/update", `{"id":"i-1","status":"disabled"}`, record, ""},
		{"Insights.Delete", `["i-1","confirm","force"]`, "agent /insight-settings/delete", `{"id":"i-1"}`, `null`, ""},
	})
	testRefusals(t, []refusal{
		{"Insights.Create", `[{"title":"Mood","prompt":"How?","valueType":"number"}]`, fault.BadRequest},
		{"Insights.Create", `[{"key":"a b","title":"Mood","prompt":"How?","valueType":"number"}]`, fault.BadRequest},
		{"Insights.Create", `[{"key":"mood","prompt":"How?","valueType":"number"}]`, fault.BadRequest},
		{"Insights.Create", `[{"key":"mood","title":"Mood","valueType":"number"}]`, fault.BadRequest},
		{"Insights.Create", `[{"key":"mood","title":"Mood","prompt":"How?","valueType":"date"}]`, fault.BadRequest},
		{"Insights.Update", `["i-1",{}]`, fault.BadRequest},
		{"Insights.Update", `["i-1",{"status":"off"}]`, fault.BadRequest},
		{"Insights.List", `[{"statusEqual":"off"}]`, fault.BadRequest},
		{"Insights.Delete", `["i-1"]`, fault.ConfirmationRequired},
	})
	f := newFake(t, map[string][]answer{
		"/lifecycle/list": {{0, listOf(`{"id":"r-1","name":"Moods","actions":[{"type":"triggerInsightSettingsKai","insightSettingIds":["i-1"]}]}`)}},
	})
	err := f.Insights.Delete(t.Context(), "i-1", management.ConfirmPermanent)
	wantCode(t, "in use", err, fault.Conflict)
	if !strings.Contains(err.Error(), "r-1 (Moods)") {
		t.Errorf("%v does not name the rule", err)
	}
	wantRequests(t, f, "agent /lifecycle/list")
}

func TestLifecycleCalls(t *testing.T) {
	const condition = `{"field":"object.agent_id","operator":"in","value":["a-1"]}`
	const action = `{"type":"triggerInsightSettingsKai","insightSettingIds":["i-1"]}`
	const record = `{"id":"r-1","name":"Moods","status":"active","objectType":"thread","eventType":"session_ended","conditions":[],"actions":[` + action + `]}`
	testCalls(t, []call{
		{
			"Lifecycle.Create", `[{"name":"Moods","eventType":"session_ended","conditions":[` + condition + `],"actions":[` + action + `]}]`, "agent /lifecycle/create",
			`{"name":"Moods","objectType":"thread","eventType":"session_ended","conditions":[` + condition + `],"actions":[` + action + `]}`, record, record,
		},
		{"Lifecycle.Get", `["r-1"]`, "agent /lifecycle/get", `{"id":"r-1"}`, record, record},
		{"Lifecycle.List", `[]`, "agent /lifecycle/list", `{"filter":{},"pager":{"offset":0,"limit":30}}`, listOf(record), ""},
		{"Lifecycle.Update", `["r-1",{"status":"disabled","conditions":[]}]`, "agent /lifecycle/update", `{"id":"r-1","status":"disabled","conditions":[]}`, record, ""},
		{"Lifecycle.Delete", `["r-1","confirm"]`, "agent /lifecycle/delete", `{"id":"r-1"}`, `{"id":"r-1"}`, ""},
		{
			"Lifecycle.Match", `["th-1","analysis_updated","mood"]`, "agent /lifecycle/match",
			`{"objectType":"thread","objectId":"th-1","eventType":"analysis_updated","changedKeys":["mood"]}`, listOf(record), `[{"id":"r-1"}]`,
		},
		{"Lifecycle.Objects", `[]`, "agent /lifecycle/listObjects", `{}`, listOf(`{"objectType":"thread"}`), `["thread"]`},
		{"Lifecycle.Events", `[]`, "agent /lifecycle/listEvents", `{}`, `{"objects":[]}`, `[]`},
		{"Lifecycle.DescribeFields", `[]`, "agent /lifecycle/describeFields", `{}`, listOf(`{"field":"object.id","type":"string"}`), `[{"field":"object.id"}]`},
	})
	var refusals []refusal
	for _, in := range []string{
		`"eventType":"session_ended","actions":[` + action + `]`, // no name
		`"name":"a","eventType":"birthday","actions":[` + action + `]`,
		`"name":"a","eventType":"session_ended","objectType":"agent","actions":[` + action + `]`,
		`"name":"a","eventType":"session_ended","status":"off","actions":[` + action + `]`,
		`"name":"a","eventType":"session_ended"`,
		`"name":"a","eventType":"session_ended","actions":[{"type":"webhook"}]`,
		`"name":"a","eventType":"session_ended","actions":[{"type":"triggerInsightSettingsKai"}]`,
		`"name":"a","eventType":"session_ended","actions":[{"type":"sendEmail","to":"a@x.example"}]`,
		`"name":"a","eventType":"session_ended","actions":[{"type":"triggerInsightSettingsKai","insightSettingIds":[""` + strings.Repeat(`,""`, 20) + `]}]`,
	} {
		refusals = append(refusals, refusal{"Lifecycle.Create", `[{` + in + `}]`, fault.BadRequest})
	}
	for _, condition := range []string{
		`{"field":"a","operator":"like","value":"x"}`, `{"operator":"equals","value":"x"}`, `{"field":"a","operator":"equals"}`, `{"field":"a","operator":"in","value":"x"}`,
		`{"field":"a","operator":"in","value":[]}`,
	} {
		refusals = append(refusals, refusal{"Lifecycle.Update", `["r-1",{"conditions":[` + condition + `]}]`, fault.BadRequest})
	}
	testRefusals(t, append(refusals,
		refusal{"Lifecycle.Update", `["r-1",{}]`, fault.BadRequest},
		refusal{"Lifecycle.Update", `["r-1",{"actions":[]}]`, fault.BadRequest},
		refusal{"Lifecycle.Delete", `["r-1"]`, fault.ConfirmationRequired},
		refusal{"Lifecycle.Match", `["th-1","birthday"]`, fault.BadRequest},
	))
}

func TestEmailTemplateCalls(t *testing.T) {
	const template = `"appGuid":"g","name":"n","subject":"s","body":"b","from":"f","language":"en"`
	const record = `{"id":"e-1",` + template + `,"status":"active"}`
	testCalls(t, []call{
		{"EmailTemplates.Create", `[{` + template + `}]`, "messaging /email-template/add", `{` + template + `}`, record, record},
		{"EmailTemplates.Get", `["e-1"]`, "messaging /email-template/get", `{"id":"e-1"}`, record, record},
		{"EmailTemplates.List", `[]`, "messaging /email-template/list", `{"filter":{},"pager":{"offset":0,"limit":30}}`, listOf(record), ""},
		{"EmailTemplates.Update", `["e-1",{"subject":"x"}]`, "messaging /email-template/update", `{"id":"e-1","subject":"x"}`, record, ""},
		{"EmailTemplates.Delete", `["e-1","confirm"]`, "messaging /email-template/delete", `{"id":"e-1"}`, `null`, ""},
	})
	refusals := []refusal{
		{"EmailTemplates.Update", `["e-1",{}]`, fault.BadRequest},
		{"EmailTemplates.Delete", `["e-1"]`, fault.ConfirmationRequired},
	}
	for field := range strings.SplitSeq(template, ",") { // each is required
		name, _, _ := strings.Cut(field, ":")
		refusals = append(refusals, refusal{"EmailTemplates.Create", `[{` + strings.Replace(template, field, name+`:""`, 1) + `}]`, fault.BadRequest})
	}
	testRefusals(t, refusals)
	// The EU has no messaging service, unless its address is given.
	c := must.Get(management.New(management.Options{PartnerID: partner, Secret: secret, Config: management.Config{Region: new("frp2")}}))(t)
	defer c.Close()
	wantCode(t, "EU", drop(c.EmailTemplates.Get(t.Context(), "e-1")), fault.RegionUnavailable)
	f := newFake(t, map[string][]answer{"/email-template/get": {{0, record}}}, func(o *management.Options) { o.Region = new("frp2") })
	if _, err := f.EmailTemplates.Get(t.Context(), "e-1"); err != nil {
		t.Error(err)
	}
}

// TestShapesOfCalls: the other requests of management-api.md, part F.
func TestShapesOfCalls(t *testing.T) {
	const voice, avatar = `{"itemId":"v-1","type":"Voice"}`, `{"id":"` + avatarID + `"}`
	testCalls(t, []call{
		{"Agents.EmbedScript", `["a-1","floater"]`, "agent /agent/getEmbedScript", `{"agentId":"a-1","embedType":"floater"}`, `{"objectType":"x","html":"<b></b>"}`, `"<b></b>"`},
		{"Agents.EmbedScript", `["a-1","page"]`, "agent /agent/getEmbedScript", `{"agentId":"a-1","embedType":"page"}`, `"<i></i>"`, `"<i></i>"`},
		{"Avatars.Clone", `["` + avatarID + `"]`, "agent /avatar/clone", avatar, avatar, avatar},
		{"Application.GenerateProfile", `["A guide."]`, "agent /application/generateAgentProfile", `{"userDescription":"A guide."}`, `{"name":"Mira"}`, `{"name":"Mira"}`},
		{"Application.CustomPrompts", `[]`, "agent /application/getCustomPrompts", `{}`, `{"objects":[{"key":"goal"}]}`, `[{"key":"goal"}]`},
		{"Intellects.GetBrainConfig", `[7]`, "genie /partner-config/get", `{"id":7}`, `{"config":{"agent_llm":"m"}}`, `{"agent_llm":"m"}`},
		{"Catalog.ImportVoiceFromElevenLabs", `["x"]`, "agent /catalog-item/createVoiceFromElevenLabs", `{"voiceId":"x"}`, voice, voice},
		{"Catalog.ImportVoiceFromCartesia", `["x"]`, "agent /catalog-item/createVoiceFromCartesia", `{"voiceId":"x"}`, voice, voice},
		{
			"Catalog.Update", `["v-1",{"attributes":{"voice":{"name":"Ann"}},"adminTags":[]}]`, "agent /catalog-item/update",
			`{"itemId":"v-1","attributes":{"voice":{"name":"Ann"}},"adminTags":[]}`, voice, "",
		},
	})
	testRefusals(t, []refusal{
		{"Agents.EmbedScript", `["a-1","popup"]`, fault.BadRequest},
		{"Avatars.Clone", `["x"]`, fault.BadRequest},
		{"Application.GenerateProfile", `[" "]`, fault.BadRequest},
		{"Catalog.ImportVoiceFromElevenLabs", `[""]`, fault.BadRequest},
		{"Catalog.Update", `["v-1",{}]`, fault.BadRequest},
	})
	f := newFake(t, map[string][]answer{"/agent/create": {{0, agentJSON}}})
	_, err := f.Agents.Create(t.Context(), management.AgentInput{
		DisplayName: "A", MaxConversationLength: 600, Intellect: management.IntellectRef{Fields: &management.IntellectFields{BaseDirective: new("Be brief.")}},
	})
	a, _ := f.last()
	if want := `{"displayName":"A","intellect":{"intellectType":"genie","type":"internal","status":2,"base_directive":"Be brief."},"avatarIds":[],"maxConversationLength":600}`; err != nil || a.body != want {
		t.Errorf("an agent with the fields of its intellect: %v, sent %s", err, a.body)
	}
}

func TestBrainConfigIsMerged(t *testing.T) {
	f := newFake(t, map[string][]answer{"/partner-config/get": {{0, `{"config":{}}`}}, "/partner-config/update": {{0, `{}`}}})
	result, err := f.Intellects.SetBrainConfig(t.Context(), 7, management.BrainConfig{
		AgentLLM: "m", RateLimits: management.RateLimits{PerMinute: new(3)}, WebSearch: &management.WebSearch{},
	})
	if err != nil || !result.Applied || !slices.Equal(result.SentKeys, []string{"agent_llm", "rate_limit_per_minute", "web_search_config"}) {
		t.Errorf("%+v, %v", result, err)
	}
	_, body := f.last()
	want := `{"id":7,"config":{"agent_llm":"m","rate_limit_per_minute":3,"web_search_config":{"include_answer":false}}}`
	if !has(body, parsed(t, want)) {
		t.Errorf("sent %v", body)
	}
}

// The calls of one user take an admin, conversation or agent token, and no widget token;
// push and the reports take an admin's.
func TestTokensOfThreadCalls(t *testing.T) {
	f := newFake(t, map[string][]answer{"/service/session/action/startWidgetSession": {{0, `{"ks":"` + userKS + `"}`}}})
	forUsers := [][2]string{
		{"Threads.List", `[{}]`},
		{"Threads.Get", `["th-1"]`},
		{"Threads.Rename", `["th-1","T"]`},
		{"Threads.ClearAnalysis", `["th-1"]`},
		{"Threads.Transcript", `["th-1"]`},
		{"Threads.Delete", `[["th-1"],"confirm"]`},
		{"Messages.List", `[{}]`},
		{"Messages.Get", `["m-1"]`},
		{"Messages.Share", `["m-1","T"]`},
	}
	forAdmins := [][2]string{
		{"Threads.Push", `["th-1",{"content":"x"}]`}, {"Messages.Report", `[{}]`}, {"Feedback.List", `[{}]`}, {"Followups.List", `[]`}, {"Intellects.List", `[]`},
	}
	for _, token := range []management.Token{
		must.Get(f.Tokens.Conversation(t.Context(), management.TokenInput{ConfigID: 7, UserID: "sam"}))(t),
		must.Get(f.Tokens.Agent(t.Context(), management.TokenInput{ConfigID: 7, AgentID: "a-1"}))(t),
		must.Get(f.Tokens.Widget(t.Context(), "w-1"))(t),
		management.RawToken(userKS), // of an unknown kind: sent as it is
	} {
		f.take()
		for _, c := range slices.Concat(forUsers, forAdmins) {
			_, err := invoke(management.WithToken(t.Context(), token), t, f.Client, c[0], c[1])
			asked := f.take()
			if token.Kind == management.UnknownToken || token.Kind != management.WidgetToken && slices.Contains(forUsers, c) {
				// The fake has no such path; what counts is that it was asked.
				wantCode(t, c[0], err, fault.NotFound)
				if len(asked) != 1 || asked[0].auth != "KS "+token.KS() {
					t.Errorf("%s with %v: asked %v", c[0], token, asked)
				}
				continue
			}
			wantCode(t, c[0], err, fault.WrongTokenScope)
			expect.Len(t, asked, 0, "%s with %v: asked", c[0], token)
		}
	}
}

func TestCapabilitiesAreMerged(t *testing.T) {
	const stored = `{"id":7,"capabilities":{"avatar":"on","use_web_search":"disabled"}}`
	f := newFake(t, map[string][]answer{"/v1/intellect/get": {{0, stored}}, "/v1/intellect/update": {{0, stored}}})
	must.Do(t, f.Intellects.SetCapability(t.Context(), 7, "show_link", "on"))
	_, body := f.last()
	want := map[string]any{"id": 7.0, "type": "internal", "capabilities": map[string]any{"avatar": "on", "use_web_search": "disabled", "show_link": "on"}}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("sent %v, want %v", body, want)
	}
	wantCode(t, "a veto", f.Intellects.SetCapability(t.Context(), 7, "use_web_search", "on"), fault.CapabilityVetoed)
	wantRequests(t, f, "genie /v1/intellect/get")
	for state, opts := range map[string][]management.Option{"on": {management.Force}, "disabled": nil, "off": nil} {
		must.Do(t, f.Intellects.SetCapability(t.Context(), 7, "use_web_search", state, opts...))
		if _, body := f.last(); !has(body["capabilities"], map[string]any{"avatar": "on", "use_web_search": state}) {
			t.Errorf("%s: sent %v", state, body)
		}
	}
}

// TestRestoreWritesWhatTheSnapshotHas: also a capability that only a newer service knows, and no field that the record did not have.
func TestRestoreWritesWhatTheSnapshotHas(t *testing.T) {
	const stored = `{"id":7,"type":"internal","base_directive":"","status":2,"capabilities":{"avatar":"on","newer":"off"}}`
	f := newFake(t, map[string][]answer{"/v1/intellect/get": {{0, stored}, {0, `{"id":7,"glossary":[]}`}, {0, `{}`}}, "/v1/intellect/update": {{0, stored}}})
	taken := must.Get(json.Marshal(must.Get(f.Intellects.Snapshot(t.Context(), 7, "before"))(t)))(t)
	for range 2 {
		_, err := f.Intellects.Snapshot(t.Context(), 7, "")
		wantCode(t, "a record that can't be copied", err, fault.InvalidResponse)
	}
	for _, tt := range []struct {
		snapshot string
		fields   []string
		want     string // what is sent, or the code of the error
	}{
		{string(taken), nil, `{"base_directive":"","status":2,"capabilities":{"avatar":"on","newer":"off"}}`},
		{string(taken), []string{"prompts", "capabilities"}, `{"capabilities":{"avatar":"on","newer":"off"}}`},
		{string(taken), []string{"prompts", "glossary"}, "bad_request"},
		// That of the client in TypeScript.
		{`{"configId":7,"label":null,"type":"internal","fields":{"prompts":[],"glossary":"Tea: a drink."},"_meta":{"storage":"client-side"}}`, nil, `{"prompts":[],"glossary":"Tea: a drink."}`},
	} {
		var s management.Snapshot
		must.Do(t, json.Unmarshal([]byte(tt.snapshot), &s))
		f.take()
		_, err := f.Intellects.Restore(t.Context(), &s, tt.fields...)
		if tt.want == "bad_request" {
			wantCode(t, tt.snapshot, err, fault.BadRequest)
			wantRequests(t, f)
			continue
		}
		must.Do(t, err)
		want := parsed(t, tt.want).(map[string]any)
		want["id"], want["type"] = 7.0, "internal"
		if _, body := f.last(); !reflect.DeepEqual(body, want) {
			t.Errorf("%s %v: sent %v, want %v", tt.snapshot, tt.fields, body, want)
		}
	}
}

func TestSecretsAreWrittenWithTheMaskOfTheOthers(t *testing.T) {
	const stored = `{"id":7,"secrets":{"A":"***","B":"***"}}`
	const value = "a value that is secret"
	f := newFake(t, map[string][]answer{
		"/v1/intellect/get":    {{0, stored}},
		"/v1/intellect/update": {{0, stored}, {0, stored}, {400, `{"message":"bad value ` + value + `"}`}},
	})
	must.Do(t, f.Intellects.SetSecrets(t.Context(), 7, map[string]string{"B": value}))
	_, body := f.last()
	if want := (map[string]any{"id": 7.0, "type": "internal", "secrets": map[string]any{"A": "***", "B": value}}); !reflect.DeepEqual(body, want) {
		t.Errorf("sent %v, want %v", body, want)
	}
	must.Do(t, f.Intellects.DeleteSecrets(t.Context(), 7, []string{"B", "C"}, management.ConfirmPermanent))
	_, body = f.last()
	if want := (map[string]any{"id": 7.0, "type": "internal", "secrets": map[string]any{"A": "***"}}); !reflect.DeepEqual(body, want) {
		t.Errorf("sent %v, want %v", body, want)
	}
	names, err := f.Intellects.SecretNames(t.Context(), 7)
	if err != nil || !reflect.DeepEqual(names, []string{"A", "B"}) {
		t.Errorf("names %v, %v", names, err)
	}
	err = f.Intellects.SetSecrets(t.Context(), 7, map[string]string{"B": value})
	wantCode(t, "refused", err, fault.BadRequest)
	if text, _ := json.Marshal(err); containsAny(value, err.Error(), string(text)) {
		t.Errorf("the value is in %v, %s", err, text)
	}
}

func TestForcedLanguageIsOneCall(t *testing.T) {
	const stored = `{"id":7,"prompts":[{"key":"mine","value":"x"},{"key":"forced_language","value":"old"}]}`
	f := newFake(t, map[string][]answer{
		"/v1/intellect/get": {{0, stored}}, "/v1/intellect/update": {{0, stored}}, "/agent/update": {{0, agentJSON}},
	})
	must.Do(t, f.Intellects.SetForcedLanguage(t.Context(), management.ForcedLanguage{ConfigID: 7, AgentID: "a-1", Language: "de-AT"}))
	var bodies []map[string]any
	for _, a := range f.take() {
		var body map[string]any
		if json.Unmarshal([]byte(a.body), &body) == nil {
			bodies = append(bodies, body)
		}
	}
	if len(bodies) != 3 {
		t.Fatalf("sent %v", bodies)
	}
	prompts, _ := bodies[1]["prompts"].([]any)
	if bodies[1]["language"] != "de-AT" || len(prompts) != 2 || bodies[2]["agentId"] != "a-1" {
		t.Errorf("sent %v", bodies)
	}
	must.Do(t, f.Intellects.SetForcedLanguage(t.Context(), management.ForcedLanguage{ConfigID: 7}))
	_, body := f.last()
	want := map[string]any{"id": 7.0, "type": "internal", "language": nil, "prompts": []any{
		map[string]any{"key": "mine", "label": "mine", "headerTemplate": "mine", "type": "custom", "value": "x"},
	}}
	if !reflect.DeepEqual(body, want) {
		t.Errorf("sent %v, want %v", body, want)
	}
}

// intellectsWith returns the list of intellects in two pages; the third intellect has the
// given field.
func intellectsWith(field string) []answer {
	return []answer{
		{0, `{"totalCount":3,"objects":[{"id":1},{"id":2,"tool_ids":["other"],"skill_ids":[{"id":"other","mode":"adhoc"}],"knowledge_ids":[8]}]}`},
		{0, `{"totalCount":3,"objects":[{"id":3,"name":"Robin",` + field + `}]}`},
	}
}

func TestWhatIsInUseIsNotDeleted(t *testing.T) {
	for _, test := range []struct {
		field, method, args string
		code                fault.Code
	}{
		{`"tool_ids":["x"]`, "Tools.Delete", `["x","confirm"]`, fault.ToolInUse},
		{`"thread_start_tools":["x"]`, "Tools.Delete", `["x","confirm"]`, fault.ToolInUse},
		{`"knowledge_ids":[7]`, "Knowledge.Delete", `[7,"confirm"]`, fault.KnowledgeInUse},
		{`"skill_ids":[{"id":"x","mode":"adhoc"}]`, "Skills.Delete", `["x","confirm"]`, fault.SkillInUse},
	} {
		f := newFake(t, map[string][]answer{"/v1/intellect/list": intellectsWith(test.field)})
		_, err := invoke(t.Context(), t, f.Client, test.method, test.args)
		wantCode(t, test.field, err, test.code)
		if text, _ := json.Marshal(err); !containsAny("3 (Robin)", err.Error()) || !containsAny(`"intellects":[3]`, string(text)) {
			t.Errorf("%s: %s does not name the intellect", test.field, text)
		}
		wantRequests(t, f, "genie /v1/intellect/list", "genie /v1/intellect/list")
		// What can't be looked up is not deleted either.
		broken := newFake(t, map[string][]answer{"/v1/intellect/list": {{403, `{}`}}})
		_, err = invoke(t.Context(), t, broken.Client, test.method, test.args)
		wantCode(t, test.field, err, fault.Forbidden)
		wantRequests(t, broken, "genie /v1/intellect/list")
	}
}

func TestFeedbackList(t *testing.T) {
	page := func(objects string, n int) answer {
		return answer{0, `{"totalCount":` + string(rune('0'+n)) + `,"objects":[` + objects + `]}`}
	}
	rated := func(id, thread, positive string) string {
		return `{"id":"` + id + `","thread_id":"` + thread + `","user_id":"sam","genie_id":"7","is_positive":` + positive + `,"comment":"c"}`
	}
	f := newFake(t, map[string][]answer{
		"/v1/thread/list": {page(`{"id":"th-1"},{"id":"th-2"}`, 2)},
		"/message/list": {
			page(rated("m-1", "th-1", "true")+`,{"id":"m-2"}`, 3), page(rated("m-3", "th-1", "false"), 3),
			page(`{"id":"m-4","thread_id":"th-2","is_positive":true,"feedback":{"message_id":"m-4","thread_id":"th-2","is_positive":true,"created_at":"2026-01-02T03:04:05Z"}}`, 1),
		},
	})
	rows := must.Get(f.Feedback.List(t.Context(), management.FeedbackFilter{AgentID: "a-1"}))(t)
	want := []management.FeedbackRow{
		{MessageID: "m-1", ThreadID: "th-1", GenieID: "7", UserID: "sam", IsPositive: true, Comment: "c"},
		{MessageID: "m-3", ThreadID: "th-1", GenieID: "7", UserID: "sam", Comment: "c"},
		{MessageID: "m-4", ThreadID: "th-2", IsPositive: true, CreatedAt: "2026-01-02T03:04:05Z"},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("rows\n got %+v\nwant %+v", rows, want)
	}
	wantRequests(t, f, "genie /v1/thread/list", "genie /message/list", "genie /message/list", "genie /message/list")

	// Without an agent no threads are read, and the filter goes into that of messages.
	f = newFake(t, map[string][]answer{"/message/list": {page("", 0)}})
	if rows, err := f.Feedback.List(t.Context(), management.FeedbackFilter{MessageID: "a", MessageIDs: []string{"a"}, ThreadID: "t", Positive: new(false)}); err != nil || rows == nil {
		t.Errorf("%v, %v", rows, err)
	}
	asked, body := f.last()
	wantFilter := map[string]any{
		"objectType": "GenieListMessageFilter", "idEquals": "a", "idsIn": []any{"a"}, "threadIdEquals": "t", "isPositiveEquals": false,
	}
	if !reflect.DeepEqual(body["filter"], wantFilter) {
		t.Errorf("sent %s", asked.body)
	}
}

func TestANameInUseIsAConflict(t *testing.T) {
	taken := []answer{{409, `{"message":"the name is in use"}`}}
	f := newFake(t, map[string][]answer{"/v1/tool/add": taken, "/v1/tool/update": taken, "/v1/skill/add": taken, "/v1/skill/update": taken})
	for _, c := range [][2]string{
		{"Tools.Add", `["note",{"type":"client","description":"x"}]`},
		{"Tools.Update", `["t-1",{"name":"note"}]`},
		{"Skills.Add", `[{"name":"a","description":"b"}]`},
		{"Skills.Update", `["s-1",{"name":"a"}]`},
	} {
		_, err := invoke(t.Context(), t, f.Client, c[0], c[1])
		wantCode(t, c[0], err, fault.Conflict)
	}
}
