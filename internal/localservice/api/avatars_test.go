package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

const (
	presetVisual = "5ac0000000000000000000a1"
	presetVoice  = "5ac0000000000000000000b1"
)

// TestAvatarRoutes has what TestRandomRecords does not try.
func TestAvatarRoutes(t *testing.T) {
	m := serve(t, nil, nil).manager()
	made := m.call("/v1/avatar/create", `{"name":"N","voice":{"id":"`+presetVoice+`","speed":1.2},"visual":{"id":"`+presetVisual+`","motionControl":{"a":1}}}`, 200)
	id := made["id"].(string)
	if len(id) != 24 || fmt.Sprint(made["voice"]) != "map[id:"+presetVoice+" speed:1.2]" {
		t.Errorf("created %v", made)
	}
	face := m.upload(m.ks, map[string]string{"type": "Face"}, png(t))["itemId"]
	got := m.call("/v1/avatar/update", fmt.Sprintf(`{"id":%q,"face":{"id":%q},"background":{"type":"color","value":"#123456"}}`, id, face), 200)
	if got["visual"] != nil || got["face"] == nil || fmt.Sprint(got["background"]) != "map[type:color value:#123456]" {
		t.Errorf("a face instead of the visual: %v", got)
	}
	got = m.call("/v1/avatar/update", fmt.Sprintf(`{"id":%q,"name":"L","visual":null}`, id), 200)
	if got["name"] != "L" || got["face"] == nil || got["background"] == nil {
		t.Errorf("a visual that is removed takes the face along: %v", got)
	}
	got = m.call("/v1/avatar/update", fmt.Sprintf(`{"id":%q,"visual":{"id":%q},"face":null,"background":null}`, id, presetVisual), 200)
	if got["visual"] == nil || got["face"] != nil || got["background"] != nil {
		t.Errorf("the visual again: %v", got)
	}
	got = m.call("/v1/avatar/update", fmt.Sprintf(`{"id":%q,"name":"K","face":null,"background":null}`, id), 200)
	if got["name"] != "K" || got["visual"] == nil {
		t.Errorf("a face that is removed takes the visual along: %v", got)
	}
	for _, body := range []string{`{}`, `{"id":"0123456789abcdef01234567"}`} {
		m.refuses("/v1/avatar/get", body, 200, `"title":"AVATAR_NOT_FOUND"`)
	}
}

func TestAvatarsThatAreRefused(t *testing.T) {
	m := serve(t, nil, nil).manager()
	id := m.avatarOf(store.Receptionist)
	voice := `"voice":{"id":"` + presetVoice + `"}`
	for _, tt := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"create", `{}`, 400, "voice"},
		{"create", `{"voice":{}}`, 400, "voice"},
		{"create", `{"voice":{"id":"` + presetVisual + `"}}`, 200, "CATALOG_ITEM_NOT_FOUND"},
		{"create", `{"voice":{"id":"none"}}`, 200, "CATALOG_ITEM_NOT_FOUND"},
		{"create", `{"voice":{"id":"` + presetVisual + `"},"visual":{"id":"` + presetVisual + `"}}`, 200, "CATALOG_ITEM_NOT_FOUND"},
		{"create", `{"voice":{"id":"` + presetVoice + `","speed":0}}`, 400, "speed"},
		{"create", `{` + voice + `,"adminTags":["x"]}`, 400, "adminTags"},
		{"create", `{` + voice + `,"face":{"id":"x"}}`, 400, "background"},
		{"create", `{` + voice + `,"background":{"type":"color"}}`, 400, "background"},
		{"create", `{` + voice + `,"visual":{"id":"x"},"face":{"id":"x"},"background":{"type":"color"}}`, 400, "face"},
		{"create", `{` + voice + `,"face":{"id":"x"},"background":{"type":"film"}}`, 400, "background"},
		{"create", `{` + voice + `,"face":{"id":"x"},"background":{"type":"color","value":"url(x)"}}`, 400, "background"},
		{"create", `{` + voice + `,"visual":{"id":"` + presetVisual + `","motionControl":[]}}`, 400, "motionControl"},
		{"create", `{` + voice + `,"templateId":"none"}`, 200, "AVATAR_TEMPLATE_NOT_FOUND"},
		{"update", `{"id":"` + id + `","templateId":"5ac0000000000000000000d1"}`, 400, "templateId"},
		{"update", `{"id":"` + id + `","voice":null}`, 400, "voice"},
		{"update", `{"name":"x"}`, 400, "id"},
		{"update", `{"id":"x","name":"x"}`, 400, "id"},
		{"get", `{"id":"x"}`, 400, "id"},
		{"delete", `{"id":"0123456789abcdef0123456g"}`, 400, "id"},
		{"list", `{"filter":{"name":"x"}}`, 400, "name"},
	} {
		m.refuses("/v1/avatar/"+tt.path, tt.body, tt.status, tt.text)
	}
}

func TestAvatarTemplates(t *testing.T) {
	m := serve(t, nil, nil).manager()
	list := m.call("/v1/avatar-template/list", `{"pager":{"offset":0,"limit":30}}`, 200)
	expect.Equal(t, list["totalCount"], 2.0, "list %v", list)
	if one := m.call("/v1/avatar-template/list", `{"filter":{"idsIn":["5ac0000000000000000000d2"]}}`, 200); !slices.Equal(names(one, "name"), []string{"Ada"}) {
		t.Errorf("by id %v", one)
	}
	made := m.call("/v1/avatar/create", `{"voice":{"id":"`+presetVoice+`"},"templateId":"5ac0000000000000000000d2"}`, 200)
	if fmt.Sprint(made["visual"]) != "map[id:5ac0000000000000000000a2]" || made["templateId"] != "5ac0000000000000000000d2" {
		t.Errorf("from a template %v", made)
	}
}

// TestRenamesWhatHasLostAPart: a part that no longer exists stays, also when it is written as it was read, and is refused elsewhere.
func TestRenamesWhatHasLostAPart(t *testing.T) {
	v := serve(t, nil, nil)
	m := v.manager()
	visual := v.upload(m.ks, map[string]string{"attributes": `{"visual":{"name":"mine"}}`}, png(t))["itemId"]
	avatar := m.call("/v1/avatar/create", fmt.Sprintf(`{"name":"A","voice":{"id":%q},"visual":{"id":%q}}`, presetVoice, visual), 200)["id"]
	intellect := m.call("/v1/intellect/add", `{}`, 200)["id"]
	agent := m.call("/v1/agent/create", fmt.Sprintf(`{"displayName":"A","intellect":{"id":%v},"avatarIds":[]}`, intellect), 200)["agentId"]
	m.call("/v1/catalog-item/delete", fmt.Sprintf(`{"itemId":%q}`, visual), 200)
	m.call("/v1/intellect/delete", fmt.Sprintf(`{"id":%v}`, intellect), 200)
	for _, field := range []string{`"name":"B"`, `"voice":{"id":"` + presetVoice + `"}`} {
		if got := m.call("/v1/avatar/update", fmt.Sprintf(`{"id":%q,%s}`, avatar, field), 200); got["id"] != avatar {
			t.Errorf("%s: %v", field, got)
		}
	}
	if got := m.call("/v1/agent/update", fmt.Sprintf(`{"agentId":%q,"displayName":"B"}`, agent), 200); got["displayName"] != "B" {
		t.Errorf("the agent: %v", got)
	}
	m.call("/v1/avatar/update", fmt.Sprintf(`{"id":%q,"visual":{"id":%q}}`, avatar, visual), 200)
	read := must.Get(json.Marshal(m.call("/v1/agent/get", fmt.Sprintf(`{"agentId":%q}`, agent), 200)))(t)
	m.call("/v1/agent/update", string(read), 200)
	m.refuses("/v1/avatar/create", fmt.Sprintf(`{"voice":{"id":%q},"visual":{"id":%q}}`, presetVoice, visual), 200, "CATALOG_ITEM_NOT_FOUND")
	m.refuses("/v1/agent/update", fmt.Sprintf(`{"agentId":%q,"intellect":{"id":%v}}`, v.agents[store.Silent].ID, intellect), 200, "AGENT_PARTNER_CONFIG_NOT_FOUND")
}

// TestAppInitShowsTheAvatars: their pictures and clips can be loaded, and what was
// configured for the page is handed on.
func TestAppInitShowsTheAvatars(t *testing.T) {
	v := serve(t, nil, nil)
	m := v.manager()
	visual := v.upload(m.ks, map[string]string{"attributes": `{"visual":{"name":"mine"}}`}, png(t))["itemId"]
	own := m.call("/v1/avatar/create", fmt.Sprintf(`{"voice":{"id":%q},"visual":{"id":%q}}`, presetVoice, visual), 200)["id"]
	made := m.call("/v1/agent/create", fmt.Sprintf(`{"displayName":"A","intellect":{"id":1001},"avatarIds":[%q,%q],
		"widgetConfig":{"color":"red"},"embedConfig":{"x":1}}`, own, v.avatarOf(store.Receptionist)), 200)
	widget := m.call("/v1/application/resolveWidgetId", fmt.Sprintf(`{"agentId":%q}`, made["agentId"]), 200)["widgetId"].(string)
	v.agents["new"] = store.Agent{WidgetID: widget}
	init := (&manager{v, v.widget("new")}).call("/v1/application/appInit", "", 200)
	if fmt.Sprint(init["widgetConfig"], init["embedConfig"]) != "map[color:red] map[x:1]" {
		t.Errorf("configs %v %v", init["widgetConfig"], init["embedConfig"])
	}
	avatars := init["avatars"].([]any)
	if len(avatars) != 2 || avatars[0].(map[string]any)["id"] != own {
		t.Fatalf("avatars %v", avatars)
	}
	for i, want := range []string{"image/png", "image/png"} {
		a := avatars[i].(map[string]any)
		for field, want := range map[string]string{"previewImageUrl": want, "loadingVideoUrl": "video/webm"} {
			got := v.do(v.request("GET", a[field].(string), "", "", ""))
			if got.status != 200 || got.header.Get("Content-Type") != want || len(got.body) < 60 {
				t.Errorf("%s %v: %d %s, %d bytes", field, a[field], got.status, got.header.Get("Content-Type"), len(got.body))
			}
		}
	}
	wantStatus(t, "an unknown picture", v.do(v.request("GET", AssetPrefix+"none", "", "", "")), 404, "")
	// Without its avatars an agent is a voice; without its intellect it can't be talked to.
	m.call("/v1/avatar/delete", fmt.Sprintf(`{"id":%q}`, own), 200)
	if init := (&manager{v, v.widget("new")}).call("/v1/application/appInit", "", 200); len(init["avatars"].([]any)) != 1 {
		t.Errorf("avatars %v", init["avatars"])
	}
	m.call("/v1/intellect/delete", `{"id":1001}`, 200)
	got := v.post("/v1/application/appInit", v.widget("new"), "")
	if !strings.Contains(got.body, "AGENT_PARTNER_CONFIG_NOT_FOUND") {
		t.Errorf("without its intellect: %d %s", got.status, got.body)
	}
}
