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
	f := newFake(t, map[string][]answer{
		"/avatar/create": {{0, avatarJSON}}, "/avatar/get": {{0, avatarJSON}}, "/avatar/update": {{0, avatarJSON}}, "/avatar/delete": {{0, `null`}},
		"/avatar/list":          {{0, `{"totalCount":1,"objects":[` + avatarJSON + `]}`}},
		"/avatar-template/list": {{0, `{"totalCount":1,"objects":[{"id":"t-1","name":"Calm","voice":{"id":"v-1"},"face":{"id":"f-1"},"background":{"type":"color","value":"#fff"}}]}`}},
	})
	ctx := t.Context()
	asked := func(path, body string) {
		t.Helper()
		if a, _ := f.last(); a.service != "agent" || a.path != path || a.body != body {
			t.Errorf("asked %s %s %s", a.service, a.path, a.body)
		}
	}
	made, err := f.Avatars.Create(ctx, management.AvatarInput{
		Voice: management.AvatarVoice{ID: "v-1", Speed: new(1.1)}, Visual: &management.AvatarVisual{ID: "i-1", MotionControl: json.RawMessage(`{"a":1}`)}, Name: "Front desk",
	})
	if err != nil {
		t.Fatal(err)
	}
	asked("/avatar/create", `{"voice":{"id":"v-1","speed":1.1},"visual":{"id":"i-1","motionControl":{"a":1}},"name":"Front desk"}`)
	if made.ID != avatarID || made.Voice.ID != "v-1" || *made.Voice.Speed != 1.1 || made.Visual.ID != "i-1" || made.CreatedAt.Time().IsZero() {
		t.Errorf("got %+v", made)
	}
	_, err = f.Avatars.Create(ctx, management.AvatarInput{
		Voice: management.AvatarVoice{ID: "v-1"}, Face: &management.AvatarFace{ID: "f-1"},
		Background: &management.AvatarBackground{Type: management.BackgroundColor, Value: "#fff"}, TemplateID: "t-1", OpeningPhrase: "Hi",
	})
	if err != nil {
		t.Fatal(err)
	}
	asked("/avatar/create", `{"voice":{"id":"v-1"},"face":{"id":"f-1"},"background":{"type":"color","value":"#fff"},"templateId":"t-1","openingPhrase":"Hi"}`)
	if _, err := f.Avatars.Update(ctx, avatarID, management.AvatarPatch{Name: new("")}); err != nil {
		t.Fatal(err)
	}
	asked("/avatar/update", `{"id":"`+avatarID+`","name":""}`)
	if _, err := f.Avatars.Get(ctx, avatarID); err != nil {
		t.Fatal(err)
	}
	asked("/avatar/get", `{"id":"`+avatarID+`"}`)
	if all, err := management.Collect(f.Avatars.List(ctx)); err != nil || len(all) != 1 || all[0].Name != "Front desk" {
		t.Errorf("%v, %v", all, err)
	}
	asked("/avatar/list", `{"pager":{"offset":0,"limit":30}}`)
	template, err := management.First(f.Avatars.Templates(ctx, nil))
	if err != nil || template.ID != "t-1" || template.Face.ID != "f-1" || template.Background.Value != "#fff" || template.Voice.ID != "v-1" {
		t.Errorf("%+v, %v", template, err)
	}
	asked("/avatar-template/list", `{"pager":{"offset":0,"limit":30}}`)
	if _, err := management.First(f.Avatars.Templates(ctx, []string{"t-1"})); err != nil {
		t.Error(err)
	}
	asked("/avatar-template/list", `{"filter":{"idsIn":["t-1"]},"pager":{"offset":0,"limit":30}}`)
	if err := f.Avatars.Delete(ctx, avatarID, management.ConfirmPermanent); err != nil {
		t.Fatal(err)
	}
	asked("/avatar/delete", `{"id":"`+avatarID+`"}`)
}

func TestAvatarsThatAreRefusedWithoutARequest(t *testing.T) {
	f := newFake(t, nil)
	ctx := t.Context()
	voice, face := management.AvatarVoice{ID: "v-1"}, &management.AvatarFace{ID: "f-1"}
	color := &management.AvatarBackground{Type: "color", Value: "#fff"}
	for name, in := range map[string]management.AvatarInput{
		"no voice":                   {},
		"admin tags":                 {Voice: voice, AdminTags: []string{"prod"}},
		"face alone":                 {Voice: voice, Face: face},
		"background alone":           {Voice: voice, Background: color},
		"visual and face":            {Voice: voice, Face: face, Background: color, Visual: &management.AvatarVisual{ID: "i-1"}},
		"another background":         {Voice: voice, Face: face, Background: &management.AvatarBackground{Type: "video"}},
		"face without an id":         {Voice: voice, Face: &management.AvatarFace{}, Background: color},
		"visual without an id":       {Voice: voice, Visual: &management.AvatarVisual{}},
		"motion that is no object":   {Voice: voice, Visual: &management.AvatarVisual{ID: "i-1", MotionControl: json.RawMessage(`[]`)}},
		"speed 0":                    {Voice: management.AvatarVoice{ID: "v-1", Speed: new(0.0)}},
		"speed that is no number":    {Voice: management.AvatarVoice{ID: "v-1", Speed: new(math.NaN())}},
		"motion that does not parse": {Voice: voice, Visual: &management.AvatarVisual{ID: "i-1", MotionControl: json.RawMessage(`{`)}},
	} {
		_, err := f.Avatars.Create(ctx, in)
		wantCode(t, name, err, fault.BadRequest)
	}
	for name, p := range map[string]management.AvatarPatch{
		"nothing":      {},
		"admin tags":   {AdminTags: []string{"prod"}},
		"template":     {Name: new("x"), TemplateID: "t-1"},
		"no voice":     {Voice: &management.AvatarVoice{}},
		"bad backdrop": {Background: &management.AvatarBackground{}},
	} {
		_, err := f.Avatars.Update(ctx, avatarID, p)
		wantCode(t, name, err, fault.BadRequest)
	}
	for _, id := range []string{"", "x", avatarID + "0", "0123456789abcdef0123456g"} {
		_, err := f.Avatars.Get(ctx, id)
		wantCode(t, "get "+id, err, fault.BadRequest)
		_, err = f.Avatars.Update(ctx, id, management.AvatarPatch{Name: new("x")})
		wantCode(t, "update "+id, err, fault.BadRequest)
		wantCode(t, "delete "+id, f.Avatars.Delete(ctx, id, management.ConfirmPermanent), fault.BadRequest)
	}
	wantCode(t, "not confirmed", f.Avatars.Delete(ctx, avatarID), fault.ConfirmationRequired)
	if asked := f.take(); len(asked) != 0 {
		t.Errorf("asked %v", asked)
	}
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
