//go:build !js

package management_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

const avatarJSON = `{"id":"` + avatarID + `","name":"Front desk","voice":{"id":"v-1","speed":1.1},"visual":{"id":"i-1","motionControl":{"a":1}},"createdAt":1767323045}`

func TestAvatars(t *testing.T) {
	const id, template = `"id":"` + avatarID + `"`, `{"id":"t-1","name":"Calm","voice":{"id":"v-1"},"face":{"id":"f-1"},"background":{"type":"color","value":"#fff"}}`
	visual := `{"voice":{"id":"v-1","speed":1.1},"visual":{"id":"i-1","motionControl":{"a":1}},"name":"Front desk"}`
	face := `{"voice":{"id":"v-1"},"face":{"id":"f-1"},"background":{"type":"color","value":"#fff"},"templateId":"t-1","openingPhrase":"Hi"}`
	testCalls(t, []call{
		{"Avatars.Create", `[` + visual + `]`, "agent /avatar/create", visual, avatarJSON, visual},
		{"Avatars.Create", `[` + face + `]`, "agent /avatar/create", face, avatarJSON, ""},
		{"Avatars.Update", `["` + avatarID + `",{"name":""}]`, "agent /avatar/update", `{` + id + `,"name":""}`, avatarJSON, ""},
		{"Avatars.Get", `["` + avatarID + `"]`, "agent /avatar/get", `{` + id + `}`, avatarJSON, `{"name":"Front desk"}`},
		{"Avatars.List", `[]`, "agent /avatar/list", `{"pager":{"offset":0,"limit":30}}`, listOf(avatarJSON), `[{"name":"Front desk"}]`},
		{"Avatars.Templates", `[null]`, "agent /avatar-template/list", `{"pager":{"offset":0,"limit":30}}`, listOf(template), `[` + template + `]`},
		{"Avatars.Templates", `[["t-1"]]`, "agent /avatar-template/list", `{"filter":{"idsIn":["t-1"]},"pager":{"offset":0,"limit":30}}`, listOf(template), ""},
		{"Avatars.Delete", `["` + avatarID + `","confirm"]`, "agent /avatar/delete", `{` + id + `}`, `null`, ""},
	})
}

func TestAvatarsThatAreRefusedWithoutARequest(t *testing.T) {
	refusals := []refusal{{"Avatars.Delete", `["` + avatarID + `"]`, fault.ConfirmationRequired}}
	const face, color = `"voice":{"id":"v-1"},"face":{"id":"f-1"}`, `"background":{"type":"color","value":"#fff"}`
	for _, in := range []string{
		`"name":"no voice"`,
		`"voice":{"id":"v-1"},"adminTags":["prod"]`,
		`"voice":{"id":"v-1","speed":0}`,
		face,
		`"voice":{"id":"v-1"},` + color,
		face + `,` + color + `,"visual":{"id":"i-1"}`,
		face + `,"background":{"type":"video"}`,
		`"voice":{"id":"v-1"},"face":{},` + color,
		`"voice":{"id":"v-1"},"visual":{}`,
		`"voice":{"id":"v-1"},"visual":{"id":"i-1","motionControl":[]}`,
	} {
		refusals = append(refusals, refusal{"Avatars.Create", `[{` + in + `}]`, fault.BadRequest})
	}
	for _, patch := range []string{``, `"adminTags":["prod"]`, `"name":"x","templateId":"t-1"`, `"voice":{}`, `"background":{}`} {
		refusals = append(refusals, refusal{"Avatars.Update", `["` + avatarID + `",{` + patch + `}]`, fault.BadRequest})
	}
	for _, id := range []string{"", "x", avatarID + "0", "0123456789abcdef0123456g"} {
		refusals = append(
			refusals, refusal{"Avatars.Get", `["` + id + `"]`, fault.BadRequest}, refusal{"Avatars.Update", `["` + id + `",{"name":"x"}]`, fault.BadRequest},
			refusal{"Avatars.Delete", `["` + id + `","confirm"]`, fault.BadRequest},
		)
	}
	testRefusals(t, refusals)
	// These have no JSON.
	f := newFake(t, nil)
	for name, in := range map[string]management.AvatarInput{
		"speed that is no number":    {Voice: management.AvatarVoice{ID: "v-1", Speed: new(math.NaN())}},
		"motion that does not parse": {Voice: management.AvatarVoice{ID: "v-1"}, Visual: &management.AvatarVisual{ID: "i-1", MotionControl: json.RawMessage(`{`)}},
	} {
		_, err := f.Avatars.Create(t.Context(), in)
		wantCode(t, name, err, fault.BadRequest)
	}
	wantRequests(t, f)
}

func TestAvatarNotFoundIsKnownByItsTitle(t *testing.T) {
	f := newFake(t, map[string][]answer{"/avatar/get": {
		{0, `{"code":"AVATAR_NOT_FOUND","message":"no avatar has this id","args":{}}`},
		{0, `{"code":"AVATAR_LOCKED","message":"locked","args":{}}`},
	}})
	_, err := f.Avatars.Get(t.Context(), avatarID)
	wantCode(t, "unknown", err, fault.APIException)
	if fault.From(err).Title != "AVATAR_NOT_FOUND" || !management.IsNotFound(err) {
		t.Errorf("title %q, not found %v", fault.From(err).Title, management.IsNotFound(err))
	}
	_, err = f.Avatars.Get(t.Context(), avatarID)
	wantCode(t, "locked", err, fault.APIException)
	if management.IsNotFound(err) || management.IsNotFound(nil) {
		t.Error("everything is not found")
	}
}
