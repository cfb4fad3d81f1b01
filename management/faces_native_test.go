//go:build !js

package management_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// wav is a sound file of silence, with that many seconds.
func wav(seconds int) []byte {
	const rate = 8000
	size := uint32(seconds * rate * 2)
	var b bytes.Buffer
	b.WriteString("RIFF")
	_ = binary.Write(&b, binary.LittleEndian, 36+size)
	b.WriteString("WAVEfmt ")
	for _, field := range []any{uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate), uint16(2), uint16(16)} {
		_ = binary.Write(&b, binary.LittleEndian, field)
	}
	b.WriteString("data")
	_ = binary.Write(&b, binary.LittleEndian, size)
	b.Write(make([]byte, size))
	return b.Bytes()
}

// TestFacesAndVoicesOnTheService uploads what avatars are made of, makes some of it, and
// deletes all of that, on the local service.
func TestFacesAndVoicesOnTheService(t *testing.T) {
	c, _ := newClient(t)
	ctx := t.Context()
	eve := management.VisualAttributes{Name: "Eve", GenderPresentation: "female"}
	items := map[management.CatalogType]*management.CatalogItem{}
	for kind, create := range map[management.CatalogType]func() (*management.CatalogItem, error){
		management.CatalogVoice: func() (*management.CatalogItem, error) {
			return c.Catalog.CreateVoice(ctx, management.VoiceUpload{
				File: bytes.NewReader(wav(7)), VoiceAttributes: management.VoiceAttributes{Name: "Eve", Description: "calm"},
			})
		},
		management.CatalogVisual: func() (*management.CatalogItem, error) {
			return c.Catalog.CreateVisual(ctx, management.ImageUpload{File: bytes.NewReader(portrait()), VisualAttributes: eve})
		},
		management.CatalogFace: func() (*management.CatalogItem, error) {
			return c.Catalog.CreateFace(ctx, management.ImageUpload{File: bytes.NewReader(portrait()), VisualAttributes: eve})
		},
		management.CatalogBackground: func() (*management.CatalogItem, error) {
			return c.Catalog.CreateBackground(ctx, management.ImageUpload{File: bytes.NewReader(picture(16, 9)), VisualAttributes: eve})
		},
	} {
		before, err := management.Collect(c.Catalog.List(ctx, management.CatalogFilter{Type: kind}))
		must(t, "Collect", err)
		item, err := create()
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		items[kind] = item
		if item.Type != kind || len(item.AdminTags) != 1 || item.AdminTags[0] != "custom" {
			t.Errorf("%s: %+v", kind, item)
		}
		after, err := management.Collect(c.Catalog.List(ctx, management.CatalogFilter{Type: kind}))
		if err != nil || len(after) != len(before)+1 {
			t.Errorf("%s: %d items, then %d, %v", kind, len(before), len(after), err)
		}
	}
	if read, err := c.Catalog.Get(ctx, items[management.CatalogVisual].ID); err != nil || read.Attributes.Visual.Name != "Eve" || read.Attributes.Visual.Background != "Image" || !slices.Equal(read.Attributes.Visual.HairStyle, []string{"Short"}) {
		t.Errorf("%+v, %v", read, err)
	}
	short := management.VoiceUpload{File: bytes.NewReader(wav(2)), VoiceAttributes: management.VoiceAttributes{Name: "x", Description: "y"}}
	_, err := c.Catalog.CreateVoice(ctx, short)
	wantCode(t, "a short sample", err, fault.BadRequest)
	voice, err := c.Catalog.ImportVoiceFromProviderA(ctx, "demo-voice-1")
	must(t, "Catalog.ImportVoiceFromProviderA", err)
	_, err = c.Catalog.ImportVoiceFromProviderA(ctx, "x")
	wantCode(t, "provider A", err, fault.VoiceNotFoundProviderA)
	_, err = c.Catalog.ImportVoiceFromProviderB(ctx, "x")
	wantCode(t, "provider B", err, fault.VoiceNotFoundProviderB)

	avatar, err := c.Avatars.Create(ctx, management.AvatarInput{
		Name: "Eve", Voice: management.AvatarVoice{ID: items[management.CatalogVoice].ID, Speed: new(1.2)},
		Face:       &management.AvatarFace{ID: items[management.CatalogFace].ID},
		Background: &management.AvatarBackground{Type: management.BackgroundVisual, Value: items[management.CatalogBackground].ID},
	})
	must(t, "Avatars.Create", err)
	changed, err := c.Avatars.Update(ctx, avatar.ID, management.AvatarPatch{Voice: &management.AvatarVoice{ID: voice.ID}})
	if err != nil || changed.Name != "Eve" || changed.Voice.ID != voice.ID || changed.Face == nil {
		t.Errorf("%+v, %v", changed, err)
	}
	if read, err := c.Avatars.Get(ctx, avatar.ID); err != nil || read.Background.Value != items[management.CatalogBackground].ID || read.CreatedAt.Time().IsZero() {
		t.Errorf("%+v, %v", read, err)
	}
	_, err = c.Avatars.Create(ctx, management.AvatarInput{Voice: management.AvatarVoice{ID: items[management.CatalogVisual].ID}})
	wantCode(t, "a visual for a voice", err, fault.CatalogItemNotFound)
	_, err = c.Avatars.Get(ctx, avatarID)
	wantCode(t, "unknown", err, fault.APIException)
	if fault.From(err).Title != "AVATAR_NOT_FOUND" || !management.IsNotFound(err) {
		t.Errorf("title %q", fault.From(err).Title)
	}

	template, err := management.First(c.Avatars.Templates(ctx, nil))
	must(t, "First", err)
	if same, err := management.Collect(c.Avatars.Templates(ctx, []string{template.ID})); err != nil || len(same) != 1 || same[0].ID != template.ID {
		t.Errorf("%v, %v", same, err)
	}
	preset, err := c.Avatars.Create(ctx, management.AvatarInput{Voice: management.AvatarVoice{ID: voice.ID}, TemplateID: template.ID})
	if err != nil || preset.Visual == nil && preset.Face == nil {
		t.Errorf("%+v, %v", preset, err)
	}

	ids := map[string]bool{}
	for avatar, err := range c.Avatars.List(ctx, management.PageSize(1)) {
		must(t, "Avatars.List", err)
		ids[avatar.ID] = true
	}
	if !ids[avatar.ID] || !ids[preset.ID] {
		t.Errorf("avatars %v", ids)
	}
	if err := c.Avatars.Delete(ctx, avatar.ID, management.ConfirmPermanent); err != nil {
		t.Error(err)
	}
	if err := c.Avatars.Delete(ctx, avatar.ID, management.ConfirmPermanent); !management.IsNotFound(err) {
		t.Errorf("deleted twice: %v", err)
	}
	for kind, item := range items {
		if err := c.Catalog.Delete(ctx, item.ID, management.ConfirmPermanent); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		_, err := c.Catalog.Get(ctx, item.ID)
		wantCode(t, string(kind)+" deleted", err, fault.CatalogItemNotFound)
	}
}
