package api

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestAgentsThatAreRefused(t *testing.T) {
	m := serve(t, nil, nil).manager()
	avatar, id := m.avatarOf(store.Receptionist), m.agents[store.Receptionist].ID
	body := func(change string) string {
		return fmt.Sprintf(`{"displayName":"A","intellect":{"id":1001},"avatarIds":[%q]%s}`, avatar, change)
	}
	for _, tt := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"create", `{"intellect":{"id":1001},"avatarIds":[]}`, 400, "displayName"},
		{"create", `{"displayName":"A","avatarIds":[]}`, 400, "intellect"},
		{"create", body(`,"intellect":{"intellectType":"other","id":1001}`), 400, "intellectType"},
		{"create", body(`,"intellect":{}`), 400, "intellect"},
		{"create", body(`,"intellect":{"id":1001,"base_directive":"x"}`), 400, "base_directive"},
		{"create", body(`,"intellect":{"base_directive":7}`), 400, "base_directive"},
		{"create", body(`,"maxConversationLength":3601`), 400, "from 1 to 3600"},
		{"create", body(`,"maxConversationLength":-1`), 400, "from 1 to 3600"},
		{"create", body(`,"widgetConfig":{"initialPage":{"title":"` + strings.Repeat("x", 31) + `"}}`), 400, "title"},
		{"getEmbedScript", `{"agentId":"` + id + `","embedType":"popup"}`, 400, "contained, page, floater"},
		{"getEmbedScript", `{"embedType":"page"}`, 400, "agentId"},
		{"getEmbedScript", `{"agentId":"none","embedType":"page"}`, 404, "AGENT_NOT_FOUND"},
		{"create", body(`,"displayName":" "`), 400, "displayName"},
		{"create", body(`,"colour":"red"`), 400, "colour"},
		{"create", body(`,"avatarIds":["xyz"]`), 400, "24 hexadecimal"},
		{"create", body(`,"avatarIds":"` + avatar + `"`), 400, "avatarIds"},
		{"create", body(`,"adminTags":["a","a"]`), 400, "unique"},
		{"create", body(`,"widgetConfig":"x"`), 400, "widgetConfig"},
		{"create", body(`,"intellect":{"id":0}`), 400, "intellect"},
		{"create", body(`,"intellect":{"id":99}`), 200, "AGENT_PARTNER_CONFIG_NOT_FOUND"},
		{"create", body(`,"avatarIds":["0123456789abcdef01234567"]`), 200, "AVATAR_NOT_FOUND"},
		{"get", `{}`, 400, "agentId"},
		{"update", `{}`, 400, "agentId"},
		{"update", fmt.Sprintf(`{"agentId":%q,"displayName":""}`, id), 400, "displayName"},
		{"update", `{"agentId":"none","displayName":"B"}`, 404, "AGENT_NOT_FOUND"},
		{"delete", `{}`, 400, "agentId"},
		{"list", `{"filter":{"agentIdIn":["x"]}}`, 400, "agentIdIn"},
		{"list", `{"filter":{"orderBy":"+createdAt"}}`, 400, "orderBy"},
		{"list", `{"orderBy":"createdAt"}`, 400, "orderBy"},
		{"list", `{"orderBy":"+displayName"}`, 400, "orderBy"},
		{"list", `{"pager":{"offset":-1}}`, 400, "offset"},
		{"list", `{"pager":{"limit":501}}`, 400, "limit"},
		{"list", `{"pager":{"limit":0}}`, 400, "limit"},
	} {
		m.refuses("/v1/agent/"+tt.path, tt.body, tt.status, tt.text)
	}
}

func TestAgentList(t *testing.T) {
	m := serve(t, nil, nil).manager()
	var ids []string
	for i, tags := range []string{`"prod"`, `"test","x"`, ``} {
		made := m.call("/v1/agent/create", fmt.Sprintf(`{"displayName":"Übung %d","intellect":{"id":1001},"avatarIds":[],"adminTags":[%s]}`, i, tags), 200)
		ids = append(ids, made["agentId"].(string))
	}
	seeds := []string{"Robin", "Sam", "Toni", "Ash", "Taylor", "Noel"}
	all := append(slices.Clone(seeds), "Übung 0", "Übung 1", "Übung 2")
	for body, want := range map[string][]string{
		`{}`: all,
		`{"filter":{},"pager":{"offset":0,"limit":2}}`:                     all[:2],
		`{"pager":{"offset":7,"limit":30}}`:                                all[7:],
		`{"pager":{"offset":30}}`:                                          nil,
		`{"filter":{"agentId":"` + ids[1] + `"}}`:                          all[7:8],
		`{"filter":{"adminTagsIn":["x","prod"]}}`:                          all[6:8],
		`{"filter":{"adminTagsNotIn":["prod"],"searchValue":"übung"}}`:     all[7:],
		`{"filter":{"searchValue":"ÜBUNG 2"}}`:                             all[8:],
		`{"filter":{"searchValue":"` + strings.ToUpper(ids[0][2:]) + `"}}`: all[6:7],
		`{"filter":{"searchValue":"%"}}`:                                   nil,
		`{"filter":{"agentId":""}}`:                                        nil,
		`{"orderBy":"-createdAt","pager":{"limit":1}}`:                     all[8:],
		`{"orderBy":"+createdAt","pager":{"limit":1}}`:                     all[:1],
	} {
		expect.List(t, names(m.call("/v1/agent/list", body, 200), "displayName"), want, "%s", body)
	}
	expect.Equal(t, m.call("/v1/agent/list", `{"pager":{"limit":2}}`, 200)["totalCount"], 9.0, "totalCount")
	m.call("/v1/agent/update", fmt.Sprintf(`{"agentId":%q,"displayName":"Changed"}`, m.agents[store.Tap].ID), 200)
	for body, want := range map[string]string{`{"orderBy":"-updatedAt","pager":{"limit":1}}`: "Changed", `{"orderBy":"+updatedAt","pager":{"limit":1}}`: "Robin"} {
		if got := names(m.call("/v1/agent/list", body, 200), "displayName"); got[0] != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestIdempotencyKeyRepeatsTheFirstReply: a request that is sent again has no further effect.
func TestIdempotencyKeyRepeatsTheFirstReply(t *testing.T) {
	live := &fakeLive{}
	m := serve(t, twoThings, func(c *Config) { c.Live = live }).manager()
	talk := m.ask(m.conversation(store.Receptionist, "ann"), "", "Hello")
	live.thread = talk.threadID
	generated := regexp.MustCompile(`"generatedAt":"[^"]*"`) // of each reply, to the second
	send := func(ks, path, body, key string) reply {
		got := m.keyed(path, ks, body, key)
		got.body = generated.ReplaceAllString(got.body, `"generatedAt":""`)
		return got
	}
	for path, body := range map[string]string{
		"/v1/agent/create":  `{"displayName":"A","intellect":{"id":1001},"avatarIds":[]}`,
		"/v1/intellect/add": `{}`,
		"/v1/tool/add":      `{"name":"t","config":{"type":"client"}}`,
		"/v1/skill/add":     `{"name":"s","description":"d"}`,
		"/thread/push":      fmt.Sprintf(`{"id":%q,"content":"Ready.","request_vars":{"n":1}}`, talk.threadID),
		"/message/share":    fmt.Sprintf(`{"id":%q}`, talk.messageID),
	} {
		first, again := send(m.ks, path, body, "key-1"), send(m.ks, path, body, "key-1")
		if first.status != 200 || first.body != again.body {
			t.Errorf("%s: %s, then %s", path, first.body, again.body)
		}
		if other := send(m.ks, path, body, "key-2"); other.body == first.body {
			t.Errorf("%s with another key: %d %s", path, other.status, other.body)
		}
	}
	if got := send(m.stranger().ks, "/v1/skill/add", `{"name":"other","description":"d"}`, "key-1"); !strings.Contains(got.body, `"name":"other"`) {
		t.Errorf("another partner with the same key: %s", got.body)
	}
	if fmt.Sprint(live.said) != "[Ready. Ready.]" { // one for each key
		t.Errorf("said %q", live.said)
	}
	messages := fmt.Sprintf(`{"filter":{"objectType":"GenieListMessageFilter","threadIdEquals":%q}}`, talk.threadID)
	expect.Equal(t, m.call("/message/list", messages, 200)["totalCount"], 4.0, "messages")
	id := m.call("/v1/skill/add", `{"name":"gone","description":"d"}`, 200)["id"].(string)
	for range 2 {
		if got := send(m.ks, "/v1/skill/delete", fmt.Sprintf(`{"id":%q}`, id), "key-3"); got.status != 200 || got.body != fmt.Sprintf(`{"id":%q}`, id) {
			t.Errorf("delete: %d %s", got.status, got.body)
		}
	}
	for _, want := range []string{"key-5 1", "key-5 1", "key-6 0"} {
		key, total, _ := strings.Cut(want, " ")
		if got := send(m.ks, "/v1/thread/delete", fmt.Sprintf(`{"thread_ids":[%q]}`, talk.threadID), key); !strings.Contains(got.body, `"totalCount":`+total) {
			t.Errorf("delete of the thread with %s: %s", key, got.body)
		}
	}
	wantStatus(t, "delete with another key", send(m.ks, "/v1/skill/delete", fmt.Sprintf(`{"id":%q}`, id), "key-4"), 404, "")
}

// avatarOf is the id of a built-in agent's avatar.
func (v *service) avatarOf(agent string) string {
	v.t.Helper()
	a, err := v.store.Agent(v.t.Context(), v.partner.ID, v.agents[agent].ID)
	if err != nil || len(a.AvatarIDs) != 1 {
		v.t.Fatalf("avatars of %s: %v, %v", agent, a.AvatarIDs, err)
	}
	return a.AvatarIDs[0]
}

// TestAnAgentThatIsNotStoredLeavesNoIntellect: there was room for its intellect alone.
func TestAnAgentThatIsNotStoredLeavesNoIntellect(t *testing.T) {
	small := must.Get(store.OpenWithin(t.TempDir(), 1<<20, nil))(t)
	t.Cleanup(func() { must.Do(t, small.Close()) })
	v := serve(t, nil, func(c *Config) { c.Store, c.Tokens = small, token.NewAuthority(small) })
	v.store, v.partner = small, must.Get(small.Partners(t.Context()))(t)[0]
	agent := fmt.Sprintf(`{"displayName":"Ada","avatarIds":[],"intellect":{"name":"new"},"widgetConfig":{"text":%q}}`, strings.Repeat("x", 1_000_000))
	for path, body := range map[string]string{
		"create": agent,
		"update": fmt.Sprintf(`{"agentId":%q,`, must.Get(small.Agents(t.Context(), v.partner.ID))(t)[0].ID) + agent[1:],
	} {
		if got := v.post("/v1/agent/"+path, v.admin(), body); got.status != http.StatusInsufficientStorage {
			t.Fatalf("%s: %d %.200s", path, got.status, got.body)
		}
		_, total, err := store.Intellects(small).List(t.Context(), v.partner.ID, store.Query{Where: []store.Condition{store.Equals("name", "new")}})
		if err != nil || total != 0 {
			t.Errorf("%s: %d intellects are left, %v", path, total, err)
		}
	}
}

// TestARepeatedUpdateMakesOneIntellect of the fields in its body.
func TestARepeatedUpdateMakesOneIntellect(t *testing.T) {
	v := serve(t, nil, nil)
	body := fmt.Sprintf(`{"agentId":%q,"intellect":{"name":"new"}}`, v.agents[store.Silent].ID)
	var replies []string
	for range 2 {
		got := v.keyed("/v1/agent/update", v.admin(), body, "k")
		wantStatus(t, "update", got, 200, "")
		var agent struct{ Intellect struct{ ID int64 } }
		v.decode(got, &agent)
		replies = append(replies, fmt.Sprint(agent))
	}
	expect.Equal(t, replies[0], replies[1], "intellects %v", replies)
}
