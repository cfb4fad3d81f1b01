package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestThreadRoutes(t *testing.T) {
	v := serve(t, nil, nil)
	ks := v.conversation(store.Receptionist, "ann")
	talk := v.ask(ks, "", "My name is Sam")
	v.ask(ks, talk.threadID, "What is\nmy name?")
	id := fmt.Sprintf(`{"id":%q}`, talk.threadID)

	var thread store.Thread
	v.decode(v.post("/v1/thread/get", ks, id), &thread)
	if thread.ID != talk.threadID || thread.Title != "My name is Sam" || thread.Status != "active" || thread.AgentID != "default" ||
		thread.UpdatedAt.Before(thread.CreatedAt) {
		t.Errorf("thread %+v", thread)
	}
	want := `human: My name is Sam\nai: Nice to meet you, Sam. I'll remember your name.\nhuman: What is my name?\nai: Your name is Sam.`
	wantStatus(t, "transcript", v.post("/v1/thread/get_transcripts", ks, id), 200, `{"data":"`+want+`","status":"success"}`)

	v.decode(v.post("/v1/thread/update", ks, fmt.Sprintf(`{"id":%q,"title":"Names"}`, talk.threadID)), &thread)
	expect.Equal(t, thread.Title, "Names", "title")
	for _, tt := range []struct{ patch, want string }{
		{`{"analysis":{"mood":"good","score":1}}`, "map[mood:good score:1]"},
		{`{"analysis":{"score":2}}`, "map[mood:good score:2]"},
		{`{}`, "map[]"},
	} {
		var updated store.Thread
		v.decode(v.post("/v1/thread/update", ks, fmt.Sprintf(`{"id":%q,"thread_metadata":%s}`, talk.threadID, tt.patch)), &updated)
		if got := fmt.Sprint(updated.Analysis); got != tt.want || updated.Title != "Names" {
			t.Errorf("after %s: %s %q, want %s", tt.patch, got, updated.Title, tt.want)
		}
	}

	for range 2 { // twice is harmless
		wantStatus(t, "completed", v.post("/thread/session_completed", ks, id), 200, "{}")
	}
	var list listReply[store.Thread]
	v.decode(v.post("/v1/thread/list", ks, `{"filter":{"objectType":"ListThreadFilter","statusEquals":"completed"}}`), &list)
	if list.TotalCount != 1 || list.Objects[0].ID != talk.threadID {
		t.Errorf("completed threads %+v", list)
	}

	var deleted listReply[store.Thread]
	v.decode(v.post("/v1/thread/delete", ks, fmt.Sprintf(`{"thread_ids":[%q,"x"]}`, talk.threadID)), &deleted)
	if deleted.TotalCount != 1 || deleted.Objects[0].ID != talk.threadID {
		t.Errorf("deleted %+v", deleted)
	}
	wantStatus(t, "delete again", v.post("/v1/thread/delete", ks, fmt.Sprintf(`{"thread_ids":[%q]}`, talk.threadID)), 200, `{"totalCount":0,"objects":[]}`)
	wantStatus(t, "get after delete", v.post("/v1/thread/get", ks, id), 404, `{"message":"not found"}`)
}

func TestListsValidate(t *testing.T) {
	v := serve(t, nil, nil)
	ks := v.conversation(store.Receptionist, "ann")
	for _, tt := range []struct{ path, body, kind string }{
		{"/v1/thread/list", `{"filter":{}}`, "union_tag_not_found"},
		{"/v1/thread/list", `{"filter":{"objectType":"GenieListMessageFilter"}}`, "union_tag_invalid"},
		{"/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter","agentIdIn":["x"]}}`, "extra_forbidden"},
		{"/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter","orderBy":"title"}}`, "enum"},
		{"/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter","createdAtLessThanOrEqual":"soon"}}`, "datetime_invalid"},
		{"/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter","createdAtLessThanOrEqual":1e300}}`, "datetime_invalid"},
		{"/v1/thread/list", `{"filter":{"objectType":"ListThreadFilter","idsIn":7}}`, "type_error"},
		{"/v1/thread/list", `{"pager":{"pageSize":501}}`, "less_than_equal"},
		{"/v1/thread/list", `{"pager":{"pageIndex":0}}`, "greater_than_equal"},
		{"/v1/thread/list", `{"pager":{"pageIndex":2147483649}}`, "less_than_equal"},
		{"/message/list", `{"filter":{"objectType":"GenieListMessageFilter","agentIdEquals":"x"}}`, "extra_forbidden"},
		{"/message/list", `{"filter":{"objectType":"GenieListMessageFilter","isPositiveIn":"x"}}`, "type_error"},
		{"/v1/thread/delete", `{}`, "missing"},
		{"/feedback/add", `{"schemaVersion":2}`, "literal_error"},
		{"/feedback/add", `{"schemaVersion":1,"data":{"message_id":"x"}}`, "missing"},
	} {
		got := v.post(tt.path, ks, tt.body)
		if got.status != 422 || !strings.Contains(got.body, `"type":"`+tt.kind+`"`) {
			t.Errorf("%s %s: %d %s, want %s", tt.path, tt.body, got.status, got.body, tt.kind)
		}
	}
}

func TestMessageRoutes(t *testing.T) {
	v := serve(t, twoThings, nil)
	ks := v.conversation(store.Receptionist, "ann")
	talk := v.ask(ks, "", "What is new?")

	var given store.Feedback
	v.decode(v.post("/feedback/add", ks, fmt.Sprintf(
		`{"schemaVersion":1,"data":{"message_id":%q,"is_positive":true,"comment":"nice"}}`, talk.messageID)), &given)
	row := store.Feedback{
		MessageID: talk.messageID, ThreadID: talk.threadID, ConfigID: v.agents[store.Receptionist].ConfigID, UserID: "ann",
		IsPositive: true, Comment: "nice", CreatedAt: given.CreatedAt, UpdatedAt: given.UpdatedAt,
	}
	if given != row || given.CreatedAt.IsZero() {
		t.Errorf("row %+v, want %+v", given, row)
	}
	list := func(filter string) listReply[messageView] {
		t.Helper()
		var got listReply[messageView]
		v.decode(v.post("/message/list", ks, fmt.Sprintf(`{"filter":{"objectType":"GenieListMessageFilter"%s}}`, filter)), &got)
		return got
	}
	all := list(fmt.Sprintf(`,"threadIdEquals":%q`, talk.threadID))
	if all.TotalCount != 2 || all.Objects[0].Type != store.Human || all.Objects[1].ID != talk.messageID {
		t.Fatalf("messages %+v", all)
	}
	answer := all.Objects[1]
	if len(answer.Content) != 2 || string(answer.Content[0].Content) != `"Two things changed."` || answer.Content[1].Type != "unisphere-tool" {
		t.Errorf("content %+v", answer.Content)
	}
	if answer.IsPositive == nil || !*answer.IsPositive || answer.Comment != "nice" || answer.Feedback == nil || *answer.Feedback != given {
		t.Errorf("rating %v %q", answer.IsPositive, answer.Comment)
	}
	for filter, want := range map[string]int{
		`,"isPositiveEquals":true`: 1, `,"isPositiveEquals":false`: 0, `,"isPositiveIn":[true,false]`: 1, `,"isPositiveIn":[false],"isPositiveEquals":true`: 0,
		fmt.Sprintf(`,"genieIdEquals":%d`, v.agents[store.Receptionist].ConfigID): 2, `,"genieIdEquals":"7"`: 0,
		`,"threadIdEquals":""`: 0, `,"genieIdEquals":0`: 0, `,"idEquals":""`: 0,
		fmt.Sprintf(`,"idEquals":%q`, talk.messageID): 1,
	} {
		expect.Equal(t, list(filter).TotalCount, want, "%s messages", filter)
	}

	var shared struct{ Data struct{ NewMessageID string } }
	v.decode(v.post("/message/share", ks, fmt.Sprintf(`{"id":%q,"newTitle":"For Bob"}`, talk.messageID)), &shared)
	if uuid.Validate(shared.Data.NewMessageID) != nil {
		t.Fatalf("shared %+v", shared)
	}
	bob := v.conversation(store.Receptionist, "bob")
	var copied messageView
	v.decode(v.post("/message/get", bob, fmt.Sprintf(`{"id":%q}`, shared.Data.NewMessageID)), &copied)
	if copied.Title != "For Bob" || string(copied.Content[0].Content) != `"Two things changed."` {
		t.Errorf("copy %+v", copied)
	}
	expect.Equal(t, copied.ThreadID, talk.threadID, "the copy is of a message in the thread")
}

// TestSharedMessageIsNoKey: the id of an anonymous thread gives access to it, so a copy of a message does not tell it to
// others.
func TestSharedMessageIsNoKey(t *testing.T) {
	v := serve(t, twoThings, nil)
	ks := v.conversation(store.Receptionist, "")
	talk := v.ask(ks, "", "What is new?")
	var shared struct{ Data struct{ NewMessageID string } }
	v.decode(v.post("/message/share", ks, fmt.Sprintf(`{"id":%q,"newTitle":"For all"}`, talk.messageID)), &shared)
	for name, tt := range map[string]struct{ ks, want string }{
		"another anonymous caller": {v.conversation(store.Receptionist, ""), ""},
		"a user":                   {v.conversation(store.Receptionist, "bob"), ""},
		"its author":               {ks, talk.threadID},
		"an admin":                 {v.admin(), talk.threadID},
	} {
		var copied messageView
		v.decode(v.post("/message/get", tt.ks, fmt.Sprintf(`{"id":%q}`, shared.Data.NewMessageID)), &copied)
		if copied.ThreadID != tt.want || len(copied.Content) == 0 {
			t.Errorf("%s: thread %q, want %q", name, copied.ThreadID, tt.want)
		}
	}
}

func TestStatusAndStarters(t *testing.T) {
	v := serve(t, nil, nil)
	for agent, want := range map[string]string{
		store.Receptionist: fmt.Sprintf(`{"aiConsent":true,"avatar":{"id":%q,"name":"Robin"},"identifiedUser":true}`, v.avatarOf(store.Receptionist)),
		store.Audio:        `{"aiConsent":true,"avatar":null,"identifiedUser":true}`,
	} {
		wantStatus(t, agent, v.do(v.request("GET", "/assistant/status", v.conversation(agent, "ann"), "", "")), 200, want)
	}
	lonely := must.Get(store.Intellects(v.store).Create(t.Context(), v.partner.ID, store.NewIntellect()))(t)
	for name, privileges := range map[string]string{
		"an intellect that no agent uses": fmt.Sprintf("geniegpcid:%d", lonely.Number()), "the default persona": "setrole:PLAYBACK_BASE_ROLE",
	} {
		wantStatus(t, name, v.do(v.request("GET", "/assistant/status", v.mint(0, "", privileges), "", "")), 200,
			`{"aiConsent":true,"avatar":null,"identifiedUser":false}`)
	}
	wantStatus(t, "starters", v.post("/followup/get-suggested-questions?new_response=true", v.conversation(store.Tools, ""), "{}"), 200,
		`["Save a note: call back tomorrow","Go to page 4"]`)
	wantStatus(t, "no starters", v.post("/followup/get-suggested-questions", v.conversation(store.Silent, ""), "{}"), 200, "[]")
	nobody := v.mint(0, "", "geniegpcid:999999")
	wantStatus(t, "unknown configuration", v.post("/assistant/converse", nobody, `{"userMessage":"x"}`), 404, `{"message":"AGENT_NOT_FOUND"}`)
}
