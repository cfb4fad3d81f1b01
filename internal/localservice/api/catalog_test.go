package api

import (
	"bytes"
	"fmt"
	"image"
	pngs "image/png"
	"mime/multipart"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

func png(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, pngs.Encode(&out, image.NewGray(image.Rect(0, 0, 8, 8))))
	return out.Bytes()
}

// send uploads a file to the catalog.
func (v *service) send(ks string, fields map[string]string, data []byte) reply {
	v.t.Helper()
	return v.sendTo(catalogCreatePath, ks, fields, data)
}

func (v *service) sendTo(path, ks string, fields map[string]string, data []byte) reply {
	v.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		form.WriteField(name, value) //nolint:errcheck // into memory
	}
	if data != nil {
		part := must.Get(form.CreateFormFile("file", "upload"))(v.t)
		part.Write(data) //nolint:errcheck // into memory
	}
	form.Close() //nolint:errcheck // into memory
	return v.do(v.request("POST", path, ks, form.FormDataContentType(), body.String()))
}

func (v *service) upload(ks string, fields map[string]string, data []byte) map[string]any {
	v.t.Helper()
	var item map[string]any
	v.decode(v.send(ks, fields, data), &item)
	return item
}

func TestCatalog(t *testing.T) {
	m := serve(t, nil, nil).manager()
	list := func(body string) map[string]any { return m.call("/v1/catalog-item/list", body, 200) }
	visuals := list(`{"filter":{"typeEqual":"Visual"},"pager":{"offset":0,"limit":100}}`)
	expect.Equal(t, visuals["totalCount"], 4.0, "visuals %v", visuals)
	for i, id := range names(visuals, "itemId") {
		expect.Equal(t, id, fmt.Sprint(presetVisual[:23], i+1), "visual %d", i)
	}
	presets := list(`{"filter":{"typeEqual":"Voice"}}`)
	if voice := presets["objects"].([]any)[0].(map[string]any); voice["attributes"].(map[string]any)["voice"].(map[string]any)["language"] == nil {
		t.Errorf("voices %v", presets)
	}

	visual := m.upload(m.ks, map[string]string{"adminTags": "custom", "attributes": `{"visual":{"name":"Mine"}}`}, png(t))
	if visual["type"] != "Visual" || fmt.Sprint(visual["adminTags"]) != "[custom]" || visual["loadingVideo"] == "" {
		t.Errorf("visual %v", visual)
	}
	if bare := m.upload(m.ks, nil, png(t)); bare["type"] != "Visual" {
		t.Errorf("without any attribute: %v", bare)
	}
	for _, kind := range []string{"Face", "Background"} {
		if got := m.upload(m.ks, map[string]string{"type": kind}, png(t)); got["type"] != kind || got["imageUrl"] == nil {
			t.Errorf("%s: %v", kind, got)
		}
	}
	sample := audio.EncodeWAV(make([]int16, 7*8000), 8000)
	voice := m.upload(m.ks, map[string]string{"attributes": `{"voice":{"name":"V","description":"d","language":"en"}}`, "adminTags": "custom"}, sample)
	got := m.do(m.request("GET", voice["voiceSampleUrl"].(string), "", "", ""))
	if voice["type"] != "Voice" || len(got.body) != len(strings.TrimSpace(string(sample))) {
		t.Errorf("voice %v, %d bytes", voice, len(got.body))
	}
	for provider, code := range map[string]string{"ProviderA": "PROVIDER_A", "ProviderB": "PROVIDER_B", "ElevenLabs": "ELEVEN_LABS", "Cartesia": "CARTESIA"} {
		path := "/v1/catalog-item/createVoiceFrom" + provider
		if got := m.call(path, `{"voiceId":"demo-voice-1"}`, 200); got["type"] != "Voice" || got["itemId"] == nil {
			t.Errorf("import %v", got)
		}
		before := list(`{}`)["totalCount"]
		m.refuses(path, `{"voiceId":"unknown"}`, 200, "VOICE_DOES_NOT_EXIST_ON_"+code)
		m.refuses(path, `{}`, 400, "voiceId")
		if after := list(`{}`)["totalCount"]; after != before {
			t.Errorf("an unknown voice was imported: %v, then %v", before, after)
		}
	}

	other := m.stranger()
	if got := names(other.call("/v1/catalog-item/list", `{}`, 200), "itemId"); slices.Contains(got, visual["itemId"].(string)) || len(got) != 8 {
		t.Errorf("another partner has %v", got)
	}
	about := fmt.Sprintf(`{"itemId":%q}`, visual["itemId"])
	other.refuses("/v1/catalog-item/get", about, 200, "CATALOG_ITEM_NOT_FOUND")
	other.refuses("/v1/catalog-item/delete", about, 200, "CATALOG_ITEM_NOT_FOUND")
	m.refuses("/v1/catalog-item/delete", `{"itemId":"`+presetVisual+`"}`, 200, "CATALOG_ITEM_NOT_FOUND")
	m.call("/v1/catalog-item/get", about, 200)
	wantStatus(t, "the picture after deletes that were refused", m.do(m.request("GET", visual["imageUrl"].(string), "", "", "")), 200, "")
	m.call("/v1/catalog-item/delete", about, 200)
	m.refuses("/v1/catalog-item/get", about, 200, "CATALOG_ITEM_NOT_FOUND")
	wantStatus(t, "the picture of a deleted item", m.do(m.request("GET", visual["imageUrl"].(string), "", "", "")), 404, "")
	m.refuses("/v1/catalog-item/list", `{"filter":{"typeEqual":"Film"}}`, 400, "typeEqual")
	m.refuses("/v1/catalog-item/list", `{"filter":{"type":"Voice"}}`, 400, "type")
}

// TestCatalogUpdate: tags, attributes and the file of the partner's own items.
func TestCatalogUpdate(t *testing.T) {
	m := serve(t, nil, nil).manager()
	visual := m.upload(m.ks, map[string]string{
		"adminTags": "custom,hotel", "attributes": `{"visual":{"name":"Mine","hairStyle":["Short"],"glasses":false,"skinTone":"Light"}}`,
	}, png(t))
	if got := fmt.Sprint(visual["adminTags"], visual["attributes"]); got != "[custom hotel] map[visual:map[glasses:false hairStyle:[Short] name:Mine skinTone:Light]]" {
		t.Errorf("created %s", got)
	}
	id, picture := visual["itemId"], visual["imageUrl"].(string)
	got := m.call(catalogUpdatePath, fmt.Sprintf(`{"itemId":%q,"attributes":{"visual":{"name":"Yours","glasses":true,"skinTone":null}},"adminTags":["x"]}`, id), 200)
	if text := fmt.Sprint(got["adminTags"], got["attributes"]); text != "[x] map[visual:map[glasses:true hairStyle:[Short] name:Yours]]" || got["imageUrl"] != picture {
		t.Errorf("updated %s, %v", text, got["imageUrl"])
	}
	form := func(data []byte) reply {
		return m.sendTo(catalogUpdatePath, m.ks, map[string]string{"itemId": id.(string), "adminTags": "a,b", "attributes": `{"visual":{"name":"Third"}}`}, data)
	}
	var changed map[string]any
	m.decode(form(png(t)), &changed)
	if changed["imageUrl"] == picture || fmt.Sprint(changed["adminTags"]) != "[a b]" || changed["attributes"].(map[string]any)["visual"].(map[string]any)["name"] != "Third" {
		t.Errorf("with a file %v", changed)
	}
	wantStatus(t, "the former picture", m.do(m.request("GET", picture, "", "", "")), 404, "")
	wantStatus(t, "the new one", m.do(m.request("GET", changed["imageUrl"].(string), "", "", "")), 200, "")
	wantStatus(t, "a form without a file", form(nil), 200, "")
	wantStatus(t, "sound for a picture", form([]byte("ID3")), 400, "")
	m.refuses(catalogUpdatePath, `{"itemId":"`+presetVisual+`","adminTags":[]}`, 404, "CATALOG_ITEM_NOT_FOUND")
	m.refuses(catalogUpdatePath, `{"adminTags":[]}`, 400, "itemId")
	m.refuses(catalogUpdatePath, fmt.Sprintf(`{"itemId":%q,"adminTags":["a","a"]}`, id), 400, "unique")
	m.stranger().refuses(catalogUpdatePath, fmt.Sprintf(`{"itemId":%q,"adminTags":[]}`, id), 404, "CATALOG_ITEM_NOT_FOUND")
	voice := m.upload(m.ks, map[string]string{"attributes": `{"voice":{"name":"V","description":"d","language":"english"}}`}, []byte("ID3"))
	m.refuses(catalogUpdatePath, fmt.Sprintf(`{"itemId":%q,"attributes":{"voice":{"description":" "}}}`, voice["itemId"]), 400, "description")
}

func TestUploadsThatAreRefused(t *testing.T) {
	m := serve(t, nil, nil).manager()
	voice := map[string]string{"attributes": `{"voice":{"name":"V","description":"d"}}`}
	for _, tt := range []struct {
		name   string
		fields map[string]string
		data   []byte
		text   string
	}{
		{"no file", nil, nil, "file"},
		{"text", nil, []byte("hello"), "picture"},
		{"a picture of 2³¹ × 2³¹", nil, []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x06\x00\x00\x00\x2b\x0a\x9c\xa1"), "picture"},
		{"a clip", nil, []byte("\x1a\x45\xdf\xa3webm"), "picture"},
		{"an unknown type", map[string]string{"type": "Film"}, png(t), "type"},
		{"broken attributes", map[string]string{"attributes": `{`}, png(t), "JSON"},
		{"a picture for a voice", voice, png(t), "sound"},
		{"a voice without a description", map[string]string{"attributes": `{"voice":{"name":"V"}}`}, []byte("ID3"), "description"},
		{"a sample with a format of 4 GB", voice, []byte("RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\xff"), "cannot be read"},
		{"a short sample", voice, audio.EncodeWAV(make([]int16, 5*8000), 8000), "longer"},
	} {
		if got := m.send(m.ks, tt.fields, tt.data); got.status != 400 || !strings.Contains(got.body, tt.text) {
			t.Errorf("%s: %d %s, want 400 and %q", tt.name, got.status, got.body, tt.text)
		}
	}
	m.refuses(catalogCreatePath, `{}`, 400, "multipart")
	wantStatus(t, "no admin", m.send(m.conversation("receptionist", "ann"), nil, png(t)), 403, "")
	if got := m.send(m.ks, nil, make([]byte, maxUpload)); got.status != 413 {
		t.Errorf("too large: %d %s", got.status, got.body)
	}
}
