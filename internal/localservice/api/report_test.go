package api

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestMessageReport: questions word for word, with line breaks and quotes, and ratings.
func TestMessageReport(t *testing.T) {
	v := serve(t, twoThings, nil)
	admin := v.admin()
	ann, bob := v.conversation(store.Receptionist, "ann"), v.conversation(store.Silent, "bob")
	first := v.ask(ann, "", "What is \"new\",\nand why?")
	second := v.ask(bob, "", "Hello")
	wantStatus(t, "feedback", v.post("/feedback/add", ann, fmt.Sprintf(
		`{"schemaVersion":1,"data":{"message_id":%q,"is_positive":false,"comment":"too, short"}}`, first.messageID)), 200, "")
	v.post("/thread/push", admin, fmt.Sprintf(`{"id":%q,"content":"Not an answer."}`, first.threadID))
	report := func(body string) [][]string {
		t.Helper()
		got := v.post("/message/report", admin, body)
		if got.status != 200 || got.header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Fatalf("%d %s %s", got.status, got.header.Get("Content-Type"), got.body)
		}
		rows := must.Get(csv.NewReader(strings.NewReader(got.body)).ReadAll())(t)
		expect.Equal(t, fmt.Sprint(rows[0]), fmt.Sprint(reportColumns), "columns %q", rows[0])
		return rows[1:]
	}
	if got := strings.Join(reportColumns, ","); !strings.Contains(got, "Thread Id") || !strings.Contains(got, "Question") || !strings.Contains(got, "Feedback reaction") {
		t.Errorf("columns %s lack those that clients read", got)
	}
	rows := report(`{"filter":{"objectType":"GenieListMessageFilter","orderBy":"+createdAt"}}`)
	if len(rows) != 2 {
		t.Fatalf("%d rows, want 2: %q", len(rows), rows)
	}
	config := fmt.Sprint(v.agents[store.Receptionist].ConfigID)
	expect.Equal(t, fmt.Sprintf("%q", rows[0][1:6]), fmt.Sprintf("%q", []string{first.threadID, "default", config, "ann", ""}), "row")
	if got, want := fmt.Sprintf("%q", rows[0][7:]), fmt.Sprintf("%q", []string{
		"What is \"new\",\nand why?", first.messageID, "Two things changed.", "false", "too, short",
	}); got != want {
		t.Errorf("row %s, want %s", got, want)
	}
	if rows[1][8] != second.messageID || rows[1][10] != "" {
		t.Errorf("second row %q", rows[1])
	}
	for filter, want := range map[string]int{
		`,"isPositiveEquals":false`: 1, `,"isPositiveEquals":true`: 0, `,"userIdEquals":"bob"`: 1,
		fmt.Sprintf(`,"threadIdEquals":%q`, first.threadID): 1, `,"genieIdEquals":` + config: 1,
	} {
		expect.Len(t, report(`{"filter":{"objectType":"GenieListMessageFilter"`+filter+`}}`), want, "%s rows", filter)
	}
	expect.Len(t, report(`{"pager":{"pageIndex":1,"pageSize":1000}}`), 2, "rows on the page of an older client")
	if got := report(`{"pager":{"pageIndex":2,"pageSize":1}}`); len(got) != 1 || got[0][8] != second.messageID {
		t.Errorf("second page %q", got)
	}
	for name, refused := range map[string]reply{
		"a user's token": v.post("/message/report", ann, "{}"), "a widget's token": v.post("/message/report", v.widget(store.Silent), "{}"),
	} {
		wantStatus(t, name, refused, 403, "")
	}
	for _, body := range []string{`{"pager":{"pageSize":1001}}`, `{"filter":{"objectType":"GenieListMessageFilter","agentIdEquals":"x"}}`} {
		wantStatus(t, body, v.post("/message/report", admin, body), 422, "")
	}
}

// TestThreadFilters tries each filter key of service.md, Threads, and the pages.
func TestThreadFilters(t *testing.T) {
	v := serve(t, twoThings, nil)
	ks, admin := v.conversation(store.Receptionist, "ann"), v.admin()
	agent := v.agents[store.Receptionist]
	labelled := v.mint(0, "bob", fmt.Sprintf("agentid:%s,geniegpcid:%d,setrole:PLAYBACK_BASE_ROLE", agent.ID, agent.ConfigID))
	one, two := v.ask(ks, "", "one"), v.ask(labelled, "", "two")
	v.post("/thread/session_completed", labelled, fmt.Sprintf(`{"id":%q}`, two.threadID))
	list := func(filter, pager string) (titles string, total int) {
		t.Helper()
		var list listReply[store.Thread]
		v.decode(v.post("/v1/thread/list", admin, `{"filter":{"objectType":"ListThreadFilter"`+filter+`},"pager":`+pager+`}`), &list)
		for _, thread := range list.Objects {
			titles += " " + thread.Title
		}
		return strings.TrimSpace(titles), list.TotalCount
	}
	for filter, want := range map[string]string{
		``: "two one", `,"agentIdEquals":"` + agent.ID + `"`: "two", `,"agentIdEquals":"default"`: "one", `,"contextIdEqual":"x"`: "",
		`,"statusEquals":"completed"`: "two", `,"statusIn":["active"]`: "one", `,"statusIn":["active","completed"]`: "two one",
		fmt.Sprintf(`,"partnerIdEquals":%d`, v.partner.ID): "two one", `,"partnerIdEquals":1`: "",
		`,"createdAtGreaterThanOrEqual":"2001-01-01T00:00:00Z"`: "two one", `,"createdAtLessThanOrEqual":1`: "",
		`,"updatedAtGreaterThanOrEqual":"2001-01-01T00:00:00Z"`: "two one", `,"updatedAtLessThanOrEqual":1`: "",
		`,"idEquals":""`: "", `,"agentIdEquals":""`: "", `,"contextIdEqual":""`: "two one", `,"partnerIdEquals":0`: "", `,"statusEquals":""`: "",
		`,"createdAtLessThanOrEqual":"0001-01-01T00:00:00Z"`: "", `,"idEquals":null,"agentIdEquals":null,"createdAtLessThanOrEqual":null`: "two one",
		`,"userIdEquals":"b_b"`: "", `,"agentIdEquals":"%"`: "", `,"userIdEquals":"bob"`: "two", `,"isEverywhere":true`: "two one", fmt.Sprintf(`,"idEquals":%q`, one.threadID): "one",
		fmt.Sprintf(`,"idsIn":[%q]`, one.threadID): "one", fmt.Sprintf(`,"idsIn":[%q],"idEquals":%q`, one.threadID, two.threadID): "",
	} {
		if got, total := list(`,"orderBy":"-createdAt"`+filter, `{}`); got != want || total != len(strings.Fields(want)) {
			t.Errorf("%s: %q of %d, want %q", filter, got, total, want)
		}
	}
	for pager, want := range map[string]string{`{"pageIndex":1,"pageSize":1}`: "one", `{"pageIndex":2,"pageSize":1}`: "two", `{"pageIndex":2}`: ""} {
		if got, total := list(`,"orderBy":"+createdAt"`, pager); got != want || total != 2 {
			t.Errorf("%s: %q of %d, want %q of 2", pager, got, total, want)
		}
	}
}
