package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

// randomKind is a kind of records with values of its fields; a call takes any of them. A value that is a function
// makes it.
type randomKind struct {
	create, id string
	needs      []string
	fields     map[string][]any
}

// idOf returns the id of a record of a kind.
type idOf = func(kind string) any

// texts are values of a field that is a text, among them some that are refused.
var texts = []any{"one", "two {{ name }}", "é😀\u2028\x00'\"<&%_\\", strings.Repeat("x", maxName), strings.Repeat("x", maxName+1), "", " "}

var randomKinds = map[string]randomKind{
	"agent": {"create", "agentId", []string{"displayName", "intellect"}, map[string][]any{
		"displayName": texts, "intellect": {record{"id": 1001}, record{"id": 1}, record{"base_directive": "Be brief."}, record{"type": "x"}}, "speechLanguage": {"de", ""},
		"adminTags": {[]any{"a", "b"}, []any{"a", "a"}}, "maxConversationLength": {60, 3601}, "widgetConfig": {record{"a": 1}, 5},
		"screenShare": {record{"enabled": true}, 5},
	}},
	"avatar": {"create", "id", []string{"voice"}, map[string][]any{
		"voice": {record{"id": presetVoice}, record{"id": presetVoice, "speed": -1}, record{"id": "x"}}, "visual": {record{"id": presetVisual}, record{"id": presetVoice}},
		"name": texts[:3], "openingPhrase": texts[:3], "templateId": {"5ac0000000000000000000d1", "x"},
	}},
	"intellect": {"add", "id", nil, map[string][]any{
		"name": texts[:3], "base_directive": texts[:3], "status": {0, 2, 3}, "metadata": {record{"a": []any{nil}}, 5}, "tags": {[]any{"a"}, []any{""}},
		"capabilities": {record{"avatar": "on"}, record{"avatar": "maybe"}}, "model_configuration": {record{"model_id": "m"}, record{"temperature": 2}},
		"prompts": {[]any{record{"key": "goal", "headerTemplate": "Goal", "type": "custom", "value": "v"}}, []any{record{"type": "x"}}},
		"secrets": {record{"A": "hidden"}, record{"B": "***"}}, "user_properties_forms": {[]any{record{"call_stage": "start", "properties": []any{}}}, []any{nil}},
		"mcp_servers": {record{"docs": record{"url": "https://mcp.test/v1", "headers": record{"X": "{{ secrets.A }}"}}}, record{"docs": record{"url": "ftp://x"}}},
		"skill_ids":   {[]any{record{"id": "5ac00000-0000-4000-8000-0000000000c1", "mode": "adhoc"}}, []any{record{"id": "x", "mode": "adhoc"}}}, "tool_ids": {func(id idOf) any { return []any{id("tool")} }, []any{nil}},
	}},
	"tool": {"add", "id", []string{"name", "config"}, map[string][]any{
		"name": {"a", "b", "c", "no name"}, "config": {record{"type": "client", "description": "d"}, record{"csv": "a,b"}, record{"type": "code", "code": "("}, record{"args": 5}},
	}},
	"skill": {"add", "id", []string{"name", "description"}, map[string][]any{"name": texts, "description": texts[:4], "instructions": {"i"}}},
	"knowledge": {"add", "id", []string{"name"}, map[string][]any{
		"name": texts, "description": texts[:3], "tags": {[]any{"a"}, []any{"a", "a"}},
		"config": {record{"sources": []any{record{"type": "text", "name": "n", "content": "soup", "entry_id": "e"}}}, record{"sources": []any{record{"type": "film"}}}},
	}},
	"insight-settings": {"create", "id", []string{"key", "title", "prompt", "valueType"}, map[string][]any{
		"key": {"mood", "1x"}, "title": texts, "prompt": texts[:4], "valueType": {"string", "number[]", "object"}, "status": {"active", "disabled", "x"},
	}},
	"lifecycle": {"create", "id", []string{"name", "eventType", "actions"}, map[string][]any{
		"name": texts, "eventType": {"session_ended", "analysis_updated", "x"}, "description": texts[:2],
		"actions": {func(id idOf) any {
			return []any{record{"type": "sendEmail", "emailTemplateId": id("email-template"), "to": "a@b"}}
		}, []any{record{"type": "x"}}, []any{}},
	}},
	"email-template": {"add", "id", []string{"appGuid", "name", "subject", "body", "from", "language"}, map[string][]any{
		"appGuid": {"g"}, "name": texts, "subject": texts, "body": texts[:4], "from": {"f"}, "language": {"en", "de"}, "status": {"active", "x"},
	}},
}

// TestRandomKindsAreComplete: each kind of records that can be deleted is one that random calls are about.
func TestRandomKindsAreComplete(t *testing.T) {
	for _, path := range managementPaths() {
		kind, deletes := strings.CutSuffix(strings.TrimPrefix(path, "/v1/"), "/delete")
		if _, ok := randomKinds[kind]; deletes && !ok && kind != "catalog-item" { // which is made with a file
			t.Errorf("randomKinds has no %s: add it, with values of its fields, some of which are refused", kind)
		}
	}
}

type record = map[string]any

// partner is a server with an admin token, and the model of its records by kind and id.
type partner struct {
	scope   store.Scope
	ks      string
	records map[string]map[string]record
}

// randomCalls makes random calls and compares each reply with the model.
type randomCalls struct {
	*world
	partners []*partner
}

// TestRandomRecords: random calls about the records of two partners. Each record is as the last call that was not refused has made
// it, in a get and once in the pages of a list; an update leaves what it does not name; a record can be written as it is read; what is deleted and what another partner has is not there.
func TestRandomRecords(t *testing.T) {
	kinds := slices.Sorted(maps.Keys(randomKinds))
	for seed := range uint64(4) {
		v := serve(t, nil, nil)
		c := &randomCalls{&world{t: t, service: v, random: rand.New(rand.NewPCG(seed, 0))}, []*partner{
			{scope: store.Scope{PartnerID: v.partner.ID, Admin: true}, ks: v.admin()}, {scope: store.Scope{PartnerID: 77, Admin: true}, ks: v.stranger().ks},
		}}
		for _, p := range c.partners {
			p.records = map[string]map[string]record{}
			for _, kind := range kinds {
				p.records[kind] = c.all(p, kind, 1)
			}
		}
		for range 200 {
			p, kind := c.partners[c.random.IntN(2)], kinds[c.random.IntN(len(kinds))]
			[]func(*partner, string){c.add, c.add, c.add, c.update, c.update, c.update, c.delete, c.pushOne}[c.random.IntN(8)](p, kind)
		}
		for _, p := range c.partners {
			for _, kind := range kinds {
				if got := c.all(p, kind, 1+c.random.IntN(9)); !reflect.DeepEqual(got, p.records[kind]) {
					t.Errorf("%s: listed %v, want %v", kind, got, p.records[kind])
				}
			}
		}
		if t.Failed() {
			t.Fatalf("with the seed %d", seed)
		}
	}
}

// post makes a call, and returns nil for one that was refused.
func (c *randomCalls) post(p *partner, path string, body record) record {
	text := must.Get(json.Marshal(body))(c.t)
	got := c.send(path, "KS "+p.ks, "application/json", string(text))
	reply := record{}
	if got.status >= 500 || json.Unmarshal([]byte(got.body), &reply) != nil {
		c.t.Errorf("%s %s: %d %q", path, text, got.status, got.body)
	}
	if got.status != 200 || reply["objectType"] == "KalturaAPIException" {
		return nil
	}
	delete(reply, "_meta")
	return reply
}

// body has some fields of a kind with any of their values, and one in other letters now and then.
func (c *randomCalls) body(p *partner, k randomKind, all bool) record {
	body := record{}
	for _, name := range slices.Sorted(maps.Keys(k.fields)) {
		values := k.fields[name]
		if all && slices.Contains(k.needs, name) || c.random.IntN(3) == 0 {
			body[name] = values[min(c.random.IntN(len(values)), c.random.IntN(len(values)))] // the first ones more often
			if made, ok := body[name].(func(idOf) any); ok {
				body[name] = made(func(kind string) any { return c.any(p, kind) })
			}
		}
	}
	if c.random.IntN(20) == 0 {
		body[strings.ToUpper(slices.Sorted(maps.Keys(k.fields))[0])] = "other letters"
	}
	return body
}

// keep checks the reply of a write, and puts it into the model.
func (c *randomCalls) keep(p *partner, kind string, sent, old, got record) {
	k := randomKinds[kind]
	for name, value := range sent {
		if text, ok := value.(string); ok && text != "" && got[name] != text {
			c.t.Errorf("%s: sent %s %q, got %v", kind, name, text, got[name])
		}
		if strings.HasSuffix(strings.ToLower(name), "tags") && !reflect.DeepEqual(got[name], value) {
			c.t.Errorf("%s: sent %s %v, got %v", kind, name, value, got[name])
		}
	}
	for name, value := range old {
		_, named := sent[name]
		follows := strings.HasPrefix(name, "updated") || kind == "tool" && name == "config" || kind == "knowledge" && name == "status" // as the name and the sources
		if !named && !follows && !reflect.DeepEqual(got[name], value) {
			c.t.Errorf("%s: an update with %v changed %s from %v to %v", kind, sent, name, value, got[name])
		}
	}
	p.records[kind][fmt.Sprint(got[k.id])] = c.writeBack(p, kind, got)
	if kind == "agent" {
		id := got["intellect"].(record)["id"]
		if made := c.post(p, "/v1/intellect/get", record{"id": id}); made != nil { // perhaps with the agent
			p.records["intellect"][fmt.Sprint(id)] = made
		}
	}
}

// writeBack sends a record as it was read: what only the service sets changes nothing. Only the template of an avatar is refused.
func (c *randomCalls) writeBack(p *partner, kind string, read record) record {
	sent := maps.Clone(read)
	delete(sent, "templateId")
	got := c.post(p, "/v1/"+kind+"/update", sent)
	want := maps.Clone(read)
	for _, field := range []string{"updatedAt", "updated_at"} {
		if value, there := got[field]; there {
			want[field] = value
		}
	}
	if !reflect.DeepEqual(got, want) {
		c.t.Errorf("%s: sent %v as it was read, got %v", kind, want, got)
	}
	return got
}

func (c *randomCalls) add(p *partner, kind string) {
	body := c.body(p, randomKinds[kind], true)
	if got := c.post(p, "/v1/"+kind+"/"+randomKinds[kind].create, body); got != nil {
		c.keep(p, kind, body, nil, got)
	}
}

// any returns the id of a record of either partner.
func (c *randomCalls) any(p *partner, kind string) any {
	owner := p
	if c.random.IntN(8) == 0 {
		owner = c.partners[c.random.IntN(2)]
	}
	ids := slices.Sorted(maps.Keys(owner.records[kind]))
	if len(ids) == 0 {
		return "none"
	}
	return owner.records[kind][ids[c.random.IntN(len(ids))]][randomKinds[kind].id]
}

func (c *randomCalls) update(p *partner, kind string) {
	k, id := randomKinds[kind], c.any(p, kind)
	body := c.body(p, k, false)
	body[k.id] = id
	old := p.records[kind][fmt.Sprint(id)]
	got := c.post(p, "/v1/"+kind+"/update", body)
	switch {
	case got != nil && old == nil:
		c.t.Errorf("%s: changed what the partner does not have: %v", kind, got)
	case got != nil:
		c.keep(p, kind, body, old, got)
	case old != nil && !reflect.DeepEqual(c.post(p, "/v1/"+kind+"/get", record{k.id: id}), old):
		c.t.Errorf("%s: an update that was refused changed %v", kind, old)
	}
}

func (c *randomCalls) delete(p *partner, kind string) {
	k, id := randomKinds[kind], c.any(p, kind)
	c.post(p, "/v1/"+kind+"/delete", record{k.id: id})
	delete(p.records[kind], fmt.Sprint(id))
	if got := c.post(p, "/v1/"+kind+"/get", record{k.id: id}); got != nil {
		c.t.Errorf("%s: deleted, or not the partner's, and there: %v", kind, got)
	}
	naming := map[string]string{"avatar": "agent", "tool": "intellect", "skill": "intellect", "knowledge": "intellect"}[kind]
	if naming != "" { // the id leaves their lists
		p.records[naming] = c.all(p, naming, maxPageSize)
	}
}

// pushOne talks, and pushes a message whose variable may make it too long: then the thread does not get it.
func (c *randomCalls) pushOne(p *partner, _ string) {
	said := c.send("/assistant/converse", "KS "+p.ks, "application/json", `{"userMessage":"Hello"}`)
	var first struct{ ThreadID string }
	said.body, _, _ = strings.Cut(said.body, "\n")
	c.service.decode(said, &first)
	long := strings.Repeat("x", 1+c.random.IntN(2)*20_000)
	pushed := c.post(p, "/thread/push", record{"id": first.ThreadID, "content": "{{ v }}{{ v }}", "request_vars": record{"v": long}})
	thread, err := c.service.store.Thread(c.t.Context(), p.scope, first.ThreadID)
	if err != nil || len(thread.Vars) > 0 != (pushed != nil) {
		c.t.Errorf("a push (%v) left %d variables, %v", pushed, len(thread.Vars), err)
	}
}

// all reads all pages of a list of the partner's own records. Each record is there once.
func (c *randomCalls) all(p *partner, kind string, size int) map[string]record {
	records, count := map[string]record{}, 0
	for page := 0; ; page++ {
		filter := record{}
		if kind == "tool" || kind == "skill" {
			filter["objectType"] = map[string]string{"tool": "ToolListFilter", "skill": "SkillListFilter"}[kind]
		}
		got := c.post(p, "/v1/"+kind+"/list", record{"filter": filter, "pager": record{"offset": page * size, "limit": size, "pageIndex": page + 1, "pageSize": size}})
		objects := got["objects"].([]any)
		for _, object := range objects {
			r := object.(record)
			if id := fmt.Sprint(r[randomKinds[kind].id]); r["partner_id"] != 0.0 { // not a shared one
				records[id] = r
			} else {
				count--
			}
		}
		if count += len(objects); len(objects) < size {
			if shared := int(got["totalCount"].(float64)) - count; count != len(records) || shared < 0 || shared > 1 {
				c.t.Errorf("%s: %d objects, %d of them different, totalCount %v", kind, count, len(records), got["totalCount"])
			}
			return records
		}
	}
}
