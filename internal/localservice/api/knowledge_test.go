package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// menu is a Markdown file as a partner uploads it.
const menu = "# Menu\n\nWe cook every day.\n\n## Soup\n\nToday we have lentil soup.\nIt is vegan.\n"

func withSources(id any, sources ...map[string]any) string {
	text, _ := json.Marshal(map[string]any{"id": id, "config": map[string]any{"sources": sources}})
	return string(text)
}

// TestKnowledgeRoutes has what TestRandomRecords does not try.
func TestKnowledgeRoutes(t *testing.T) {
	m := serve(t, nil, nil).manager()
	made := m.call("/v1/knowledge/add", `{"name":"Menu"}`, 200)
	id := made["id"]
	about := fmt.Sprintf(`{"id":%v}`, id)
	if n, ok := id.(float64); !ok || n != float64(int64(n)) || made["status"] != "EMPTY" {
		t.Errorf("made %v", made)
	}
	got := m.call("/v1/knowledge/update", withSources(id,
		map[string]any{"type": "markdown", "name": "menu.md", "content": menu},
		map[string]any{"type": "text", "name": "hours.txt", "content": "Open from ten to six."},
	), 200)
	sources := got["config"].(map[string]any)["sources"].([]any)
	if got["status"] != "READY" || len(sources) != 2 {
		t.Fatalf("updated %v", got)
	}
	var entries []string
	for _, source := range sources {
		s := source.(map[string]any)
		expect.Equal(t, fmt.Sprint(s["indexers"]), "[map[index_position:true type:fulltext]]", "indexers %v", s["indexers"])
		entries = append(entries, s["entry_id"].(string))
	}
	// A config that was read can be sent back: its entries stay the same.
	again, _ := json.Marshal(m.call("/v1/knowledge/get", about, 200))
	same := m.call("/v1/knowledge/update", string(again), 200)
	if got := same["config"].(map[string]any)["sources"].([]any)[1].(map[string]any)["entry_id"]; got != entries[1] {
		t.Errorf("entry %v, want %v", got, entries[1])
	}
	if same["user_id"] != "root" || fmt.Sprint(same["tags"]) != "[]" {
		t.Errorf("owner %v, tags %v", same["user_id"], same["tags"])
	}
	if got := m.call("/v1/knowledge/update", fmt.Sprintf(`{"id":%v,"tags":["a","b"]}`, id), 200); fmt.Sprint(got["tags"]) != "[a b]" {
		t.Errorf("tags %v", got["tags"])
	}
	status := m.call("/v1/knowledge/entry_status", fmt.Sprintf(`{"knowledge_id":%v,"entry_ids":[%q,"x"]}`, id, entries[0]), 200)
	if want := fmt.Sprintf("[map[entry_id:%s index_position:true status:indexed] map[entry_id:x status:not_found]]", entries[0]); fmt.Sprint(status["objects"]) != want {
		t.Errorf("status %v, want %s", status["objects"], want)
	}
	list := m.call("/v1/knowledge/list", `{"filter":{},"pager":{"pageIndex":1,"pageSize":30}}`, 200)
	expect.Equal(t, fmt.Sprint(names(list, "name")), "[Documents of the service Menu]", "list")
	byID := m.call("/v1/knowledge/list", `{"filter":{"idsIn":[0,7]}}`, 200)
	expect.Equal(t, fmt.Sprint(names(byID, "name")), "[Documents of the service]", "list of ids, which are numbers")
	// The shared record can be read and attached, and not changed.
	m.call("/v1/knowledge/get", `{"id":0}`, 200)
	for _, action := range []string{"update", "delete"} {
		m.refuses("/v1/knowledge/"+action, `{"id":0,"name":"Mine"}`, 404, "not found")
	}
	other := m.stranger()
	other.refuses("/v1/knowledge/entry_status", fmt.Sprintf(`{"knowledge_id":%v,"entry_ids":[]}`, id), 404, "not found")
	wantStatus(t, "delete", m.post("/v1/knowledge/delete", m.admin(), about), 200, "null")
}

func TestKnowledgeThatIsRefused(t *testing.T) {
	m := serve(t, nil, nil).manager()
	id := m.call("/v1/knowledge/add", `{"name":"Menu"}`, 200)["id"]
	m.refuses("/v1/knowledge/add", `{}`, 422, "name")
	m.refuses("/v1/knowledge/add", `{"name":"x","tags":["a","a"]}`, 422, "tags")
	m.refuses("/v1/knowledge/add", `{"name":" "}`, 422, "name")
	m.refuses("/v1/knowledge/add", `{"name":"x","other":1}`, 422, "other")
	for text, source := range map[string]map[string]any{
		"type":    {"type": "category", "name": "x", "content": "y"},
		"name":    {"type": "text", "content": "y"},
		"content": {"type": "text", "name": "x", "content": " "},
		"secret":  {"type": "text", "name": "x", "content": "y", "secret": 1},
	} {
		m.refuses("/v1/knowledge/update", withSources(id, source), 422, text)
	}
	m.refuses("/v1/knowledge/entry_status", fmt.Sprintf(`{"knowledge_id":%v}`, id), 422, "entry_ids")
	m.refuses("/v1/knowledge/get", `{"id":"x"}`, 422, "id")
	m.refuses("/v1/knowledge/list", `{"filter":{"other":1}}`, 422, "other")
	// A whole document may be longer than another body.
	long := strings.Repeat(strings.Repeat("w", 199)+" ", maxBody/150)
	m.call("/v1/knowledge/update", withSources(id, map[string]any{"type": "text", "name": "long", "content": long}), 200)
	m.refuses("/v1/knowledge/update", withSources(id, map[string]any{"type": "text", "name": "long", "content": strings.Repeat("word ", maxKnowledge/5)}), 413, "too large")
}

func TestSearch(t *testing.T) {
	v := serve(t, nil, nil)
	m, admin := v.manager(), v.admin()
	nothing := `{"data":"Relevant information could not be found.","status":"error"}`
	wantStatus(t, "nothing is indexed", v.post("/mcp/search", admin, `{"query":"soup"}`), 200, nothing)
	id := m.call("/v1/knowledge/add", `{"name":"Menu"}`, 200)["id"]
	got := m.call("/v1/knowledge/update", withSources(id, map[string]any{"type": "markdown", "name": "menu.md", "content": menu}), 200)
	entry := got["config"].(map[string]any)["sources"].([]any)[0].(map[string]any)["entry_id"]
	const soup = `Today we have lentil soup.\nIt is vegan.`
	for _, tt := range []struct{ more, want string }{
		{``, `{"text":"` + soup + `","chapters":null}`},
		{`,"top_n":1,"margins_in_seconds":15,"include_sources":false`, `{"text":"` + soup + `","chapters":null}`},
		{`,"with_line_numbers":true`, `{"text":"7: Today we have lentil soup.\n8: It is vegan.","chapters":null}`},
		{`,"entry_description":true`, `{"text":"[Menu: Soup]\n` + soup + `","chapters":null}`},
		{`,"include_sources":true`, fmt.Sprintf(`{"text":null,"chapters":[{"entry_id":%q,"title":"Menu","heading":"Soup","text":"%s"}]}`, entry, soup)},
		{
			`,"include_sources":true,"with_line_numbers":true`,
			fmt.Sprintf(`{"text":null,"chapters":[{"entry_id":%q,"title":"Menu","heading":"Soup","text":"7: Today we have lentil soup.\n8: It is vegan.","line":7}]}`, entry),
		},
	} {
		wantStatus(t, tt.more, v.post("/mcp/search", admin, `{"query":"Any SOUPS?"`+tt.more+`}`), 200, `{"data":`+tt.want+`,"status":"success"}`)
	}
	wantStatus(t, "no match", v.post("/mcp/search", admin, `{"query":"bicycles"}`), 200, nothing)
	for body, text := range map[string]string{
		`{}`: "missing", `{"query":"x","top_n":0}`: "top_n", `{"query":"x","top_n":51}`: "top_n",
		`{"query":"x","margins_in_seconds":-1}`: "margins_in_seconds",
	} {
		if refused := v.post("/mcp/search", admin, body); refused.status != 422 || !strings.Contains(refused.body, text) {
			t.Errorf("%s: %d %s, want 422 %s", body, refused.status, refused.body, text)
		}
	}

	// A conversation token searches what its agent answers from, a widget's nothing, and
	// another partner nothing of this one.
	ann := v.conversation(store.Receptionist, "ann")
	wantStatus(t, "another agent's text", v.post("/mcp/search", ann, `{"query":"lentil"}`), 200, nothing)
	m.call("/v1/intellect/update", fmt.Sprintf(`{"id":%d,"knowledge_ids":[%v]}`, v.agents[store.Receptionist].ConfigID, id), 200)
	if found := v.post("/mcp/search", ann, `{"query":"lentil"}`); found.status != 200 || !strings.Contains(found.body, "lentil soup") {
		t.Errorf("the agent's own text: %d %s", found.status, found.body)
	}
	wantStatus(t, "a widget", v.post("/mcp/search", v.widget(store.Receptionist), `{"query":"lentil"}`), 403, "")
	foreign := foreignAccount(v)
	wantStatus(t, "another partner", v.post("/mcp/search", v.mintFor(foreign.Partner, token.TypeAdmin, "root", "disableentitlement"), `{"query":"lentil"}`), 200, nothing)

	// The brain answers from it, and no longer from the service's own documents.
	if answer := v.ask(ann, "", "Which soup do you have today?"); !strings.Contains(answer.text, "lentil soup") {
		t.Errorf("answer %q", answer.text)
	}
	if answer := v.ask(ann, "", "What is agentruntime?"); !strings.Contains(answer.text, "can't answer that") {
		t.Errorf("answer %q", answer.text)
	}
	if answer := v.ask(v.conversation(store.Silent, "ann"), "", "Which lentil soup do you have today?"); strings.Contains(answer.text, "vegan") {
		t.Errorf("another agent answers %q", answer.text)
	}

	// An update without sources leaves the texts, other sources replace them, and a delete removes them.
	m.call("/v1/knowledge/update", fmt.Sprintf(`{"id":%v,"name":"Food"}`, id), 200)
	if found := v.post("/mcp/search", admin, `{"query":"lentil"}`); !strings.Contains(found.body, "lentil soup") {
		t.Errorf("after an update without sources: %s", found.body)
	}
	m.call("/v1/knowledge/update", withSources(id, map[string]any{"type": "text", "name": "x", "content": "Bicycles."}), 200)
	wantStatus(t, "a text that was replaced", v.post("/mcp/search", admin, `{"query":"lentil"}`), 200, nothing)
	m.post("/v1/knowledge/delete", admin, fmt.Sprintf(`{"id":%v}`, id))
	if left, err := v.store.SearchKnowledge(t.Context(), []int64{int64(id.(float64))}, "bicycles", 1); err != nil || len(left) != 0 {
		t.Errorf("passages of a deleted record are left: %v, %v", left, err)
	}
}

// TestFollowupList: the questions that answers have offered.
func TestFollowupList(t *testing.T) {
	m := serve(t, nil, nil).manager()
	ks := m.conversation(store.Receptionist, "ann")
	talk := m.ask(ks, "", "What is a thread?")
	list := func(more string) map[string]any {
		t.Helper()
		return m.call("/followup/list", `{"filter":{"objectType":"GenieListQuestionFilter"`+more+`}}`, 200)
	}
	all := list("")
	objects := all["objects"].([]any)
	if len(objects) == 0 || all["totalCount"] != float64(len(objects)) {
		t.Fatalf("list %v", all)
	}
	for _, o := range objects {
		row := o.(map[string]any)
		if row["thread_id"] != talk.threadID || row["message_id"] != talk.messageID || row["question"] == "" || row["id"] == "" ||
			row["genie_id"] != fmt.Sprint(m.agents[store.Receptionist].ConfigID) {
			t.Errorf("row %v", row)
		}
	}
	for _, none := range []string{`,"genieIdEquals":7`, `,"genieIdEquals":0`, `,"threadIdEquals":""`, `,"messageIdEquals":""`} {
		expect.Equal(t, list(none)["totalCount"], 0.0, "rows of %s", none)
	}
	if got := m.call("/followup/list", `{"pager":{"pageIndex":1,"pageSize":1}}`, 200); len(got["objects"].([]any)) != 1 || got["totalCount"] != all["totalCount"] {
		t.Errorf("a page of one %v", got)
	}
	m.refuses("/followup/list", `{"filter":{"objectType":"GenieListMessageFilter"}}`, 422, "Invalid filter type")
	wantStatus(t, "a user's token", m.post("/followup/list", ks, "{}"), 403, "")
	expect.Equal(t, m.stranger().call("/followup/list", "{}", 200)["totalCount"], 0.0, "another partner sees rows")
}
