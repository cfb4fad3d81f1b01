//go:build !js

package management_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// portrait is the smallest PNG that is taken for one.
var portrait = sync.OnceValue(func() []byte { return picture(2048, 2048) })

func picture(width, height int) []byte {
	var data bytes.Buffer
	// One bit for a pixel.
	if err := png.Encode(&data, image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black, color.White})); err != nil {
		panic(err)
	}
	return data.Bytes()
}

// sound is the beginning of a WAV file, as far as its type is read from it.
const sound = "RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00"

// upload reads the latest request as a form: its fields, and its file as "name type size".
func upload(t *testing.T, f *fake) map[string]string {
	t.Helper()
	asked := f.take()
	a := asked[len(asked)-1]
	kind, params, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" || a.path != "/catalog-item/create" || a.header.Get("Idempotency-Key") == "" {
		t.Fatalf("%s %s %v", a.path, kind, err)
	}
	fields := map[string]string{}
	reader := multipart.NewReader(strings.NewReader(a.body), params["boundary"])
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			return fields
		}
		must.Do(t, err)
		data := must.Get(io.ReadAll(part))(t)
		fields[part.FormName()] = string(data)
		if part.FileName() != "" {
			fields[part.FormName()] = fmt.Sprint(part.FileName(), " ", part.Header.Get("Content-Type"), " ", len(data))
		}
	}
}

func wantFields(t *testing.T, got map[string]string, want ...string) {
	t.Helper()
	expect.Equal(t, len(got)*2, len(want), "fields %q", got)
	for i := 0; i < len(want); i += 2 {
		expect.Equal(t, got[want[i]], want[i+1], "%s is", want[i])
	}
}

func TestCatalogUploads(t *testing.T) {
	f := newFake(t, map[string][]answer{"/catalog-item/create": {
		{0, `{"itemId":"i-1","type":"Voice","adminTags":"custom","attributes":{"voice":{"name":"Ann","language":"en"}}}`},
		{0, `{"itemId":"i-2","loadingVideo":"https://x.example/l.mp4"}`},
		{0, `{"itemId":"i-3","type":"Face","adminTags":["custom","a"]}`},
	}})
	ctx := t.Context()
	voice := must.Get(f.Catalog.CreateVoice(ctx, management.VoiceUpload{
		File: strings.NewReader(sound), FileName: `ann "1".wav`, VoiceAttributes: management.VoiceAttributes{Name: "Ann", Description: "calm"},
	}))(t)
	if voice.ID != "i-1" || len(voice.AdminTags) != 1 || voice.AdminTags[0] != "custom" || voice.Attributes.Voice.Name != "Ann" {
		t.Errorf("got %+v", voice)
	}
	wantFields(t, upload(t, f),
		"file", `ann "1".wav audio/wave `+fmt.Sprint(len(sound)), "adminTags", "custom",
		"attributes", `{"voice":{"name":"Ann","description":"calm","language":"en"}}`)

	in := management.ImageUpload{File: bytes.NewReader(portrait()), VisualAttributes: management.VisualAttributes{Name: "Eve", GenderPresentation: "female"}}
	visual := must.Get(f.Catalog.CreateVisual(ctx, in))(t)
	if visual.ID != "i-2" || visual.LoadingVideo != "https://x.example/l.mp4" {
		t.Errorf("got %+v", visual)
	}
	file := fmt.Sprint("image image/png ", len(portrait()))
	wantFields(t, upload(t, f), "file", file, "adminTags", "custom", "attributes",
		`{"visual":{"name":"Eve","genderPresentation":"female","skinTone":"Light","ageGroup":"YoungAdult","hairColor":"Brown","hairStyle":["Short"],"clothing":["Casual"],"glasses":false,"background":"Image"}}`)

	in.File, in.SkinTone, in.AgeGroup, in.HairColor, in.Background = bytes.NewReader(portrait()), "a", "b", "c", "d"
	face, err := f.Catalog.CreateFace(ctx, in)
	if err != nil || len(face.AdminTags) != 2 {
		t.Fatal(face, err)
	}
	const attributes = `{"visual":{"name":"Eve","genderPresentation":"female","skinTone":"a","ageGroup":"b","hairColor":"c","hairStyle":["Short"],"clothing":["Casual"],"glasses":false,"background":"d"}}`
	wantFields(t, upload(t, f), "file", file, "adminTags", "custom", "type", "Face", "attributes", attributes)

	var photo bytes.Buffer
	must.Do(t, jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 64, 36)), nil))
	in.File = bytes.NewReader(photo.Bytes())
	must.Get(f.Catalog.CreateBackground(ctx, in))(t)
	wantFields(t, upload(t, f), "file", fmt.Sprint("image image/jpeg ", photo.Len()), "adminTags", "custom", "type", "Background", "attributes", attributes)
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestCatalogUploadsThatAreRefusedWithoutARequest(t *testing.T) {
	f := newFake(t, nil)
	ctx := t.Context()
	good := management.VoiceAttributes{Name: "Ann", Description: "calm"}
	for name, in := range map[string]management.VoiceUpload{
		"no name":        {File: strings.NewReader(sound), VoiceAttributes: management.VoiceAttributes{Description: "calm"}},
		"no description": {File: strings.NewReader(sound), VoiceAttributes: management.VoiceAttributes{Name: "Ann"}},
		"language":       {File: strings.NewReader(sound), VoiceAttributes: management.VoiceAttributes{Name: "Ann", Description: "calm", Language: "English"}},
		"no file":        {VoiceAttributes: good},
		"empty file":     {File: strings.NewReader(""), VoiceAttributes: good},
		"text":           {File: strings.NewReader("<html>"), VoiceAttributes: good},
		"picture":        {File: bytes.NewReader(picture(2, 2)), VoiceAttributes: good},
		"broken file":    {File: broken{}, VoiceAttributes: good},
	} {
		_, err := f.Catalog.CreateVoice(ctx, in)
		wantCode(t, name, err, fault.BadRequest)
	}
	eve := management.VisualAttributes{Name: "Eve", GenderPresentation: "female"}
	for name, in := range map[string]management.ImageUpload{
		"no name":   {File: bytes.NewReader(portrait()), VisualAttributes: management.VisualAttributes{GenderPresentation: "female"}},
		"no gender": {File: bytes.NewReader(portrait()), VisualAttributes: management.VisualAttributes{Name: "Eve"}},
		"no file":   {VisualAttributes: eve},
		"sound":     {File: strings.NewReader(sound), VisualAttributes: eve},
	} {
		for kind, create := range map[string]func() (*management.CatalogItem, error){
			"visual":     func() (*management.CatalogItem, error) { return f.Catalog.CreateVisual(ctx, in) },
			"face":       func() (*management.CatalogItem, error) { return f.Catalog.CreateFace(ctx, in) },
			"background": func() (*management.CatalogItem, error) { return f.Catalog.CreateBackground(ctx, in) },
		} {
			_, err := create()
			wantCode(t, kind+": "+name, err, fault.BadRequest)
		}
	}
	_, err := f.Catalog.CreateFace(ctx, management.ImageUpload{File: io.LimitReader(zeros{}, 30<<20+1), VisualAttributes: eve})
	wantCode(t, "too large", err, fault.BadRequest)
	for name, data := range map[string][]byte{"not square": picture(2600, 2048), "small": picture(2047, 2047)} {
		_, err := f.Catalog.CreateVisual(ctx, management.ImageUpload{File: bytes.NewReader(data), VisualAttributes: eve})
		wantCode(t, name, err, fault.BadRequest)
	}
	wantRequests(t, f)
	testRefusals(t, []refusal{
		{"Catalog.List", `[{"typeEqual":"voice"}]`, fault.BadRequest},
		{"Catalog.Get", `[""]`, fault.BadRequest},
		{"Catalog.Delete", `["i-1"]`, fault.ConfirmationRequired},
		{"Catalog.ImportVoiceFromProviderA", `[""]`, fault.BadRequest},
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestCatalogListsAndImports(t *testing.T) {
	const a, b = "/catalog-item/createVoiceFromProviderA", "/catalog-item/createVoiceFromProviderB"
	const item = `{"itemId":"v-1","type":"Voice","attributes":{"voice":{"name":"Ann"}},"voiceSampleUrl":"https://x.example/s.mp3"}`
	testCalls(t, []call{
		{"Catalog.List", `[{"typeEqual":"Voice"},100]`, "agent /catalog-item/list", `{"filter":{"typeEqual":"Voice"},"pager":{"offset":0,"limit":100}}`, listOf(item), `[` + item + `]`},
		{"Catalog.Get", `["v-1"]`, "agent /catalog-item/get", `{"itemId":"v-1"}`, item, item},
		{"Catalog.Delete", `["v-1","confirm"]`, "agent /catalog-item/delete", `{"itemId":"v-1"}`, `null`, ""},
		{"Catalog.ImportVoiceFromProviderA", `["x-1"]`, "agent " + a, `{"voiceId":"x-1"}`, item, item},
		{"Catalog.ImportVoiceFromProviderB", `["x-1"]`, "agent " + b, `{"voiceId":"x-1"}`, item, item},
	})
	f := newFake(t, map[string][]answer{
		a: {{404, `{"message":"VOICE_DOES_NOT_EXIST_ON_ELEVEN_LABS"}`}, {0, `{"code":"VOICE_DOES_NOT_EXIST_ON_PROVIDER_A","message":"unknown","args":[]}`}},
		b: {{404, `{"message":"VOICE_DOES_NOT_EXIST_ON_CARTESIA"}`}, {404, `{}`}, {403, ``}},
	})
	for range 2 {
		wantCode(t, "A", drop(f.Catalog.ImportVoiceFromProviderA(t.Context(), "x-1")), fault.VoiceNotFoundProviderA)
		wantCode(t, "B", drop(f.Catalog.ImportVoiceFromProviderB(t.Context(), "x-1")), fault.VoiceNotFoundProviderB)
	}
	wantCode(t, "B forbidden", drop(f.Catalog.ImportVoiceFromProviderB(t.Context(), "x-1")), fault.Forbidden)
}
