package management

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"image"
	_ "image/jpeg" // a format of portraits
	_ "image/png"  // the other one
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Catalog has the voices, visuals, faces and backgrounds that avatars are made of: the
// service's presets and the account's own (service.md "Catalog"). All calls need an admin
// token. Only management-api.md has Get and Delete; an unknown item is catalog_item_not_found,
// and avatars keep the id of one that was deleted.
type Catalog struct{ Records[CatalogItem, string] }

// CatalogType is what a catalog item is.
type CatalogType string

// The types of catalog items.
const (
	CatalogVisual     CatalogType = "Visual"
	CatalogVoice      CatalogType = "Voice"
	CatalogFace       CatalogType = "Face"
	CatalogBackground CatalogType = "Background"
)

// CatalogItem is one item.
type CatalogItem struct {
	// ID is what an avatar refers to, as voice.id for example.
	ID         string            `json:"itemId"`
	Type       CatalogType       `json:"type"`
	AdminTags  Tags              `json:"adminTags"`
	Attributes CatalogAttributes `json:"attributes"`
	// ImageURL, LoadingVideo and VoiceSampleURL are previews, not what is rendered live.
	ImageURL       string `json:"imageUrl"`
	LoadingVideo   string `json:"loadingVideo"`
	VoiceSampleURL string `json:"voiceSampleUrl"`
	Receipt
}

// CatalogAttributes describe an item for people who choose one.
type CatalogAttributes struct {
	Visual *VisualAttributes `json:"visual,omitempty"`
	Voice  *VoiceAttributes  `json:"voice,omitempty"`
}

// VisualAttributes describe a picture (management-api.md, F.4).
type VisualAttributes struct {
	Name string `json:"name"`
	// GenderPresentation is Masculine or Feminine.
	GenderPresentation string `json:"genderPresentation"`
	SkinTone           string `json:"skinTone"`
	AgeGroup           string `json:"ageGroup"`
	HairColor          string `json:"hairColor"`
	HairStyle          Tags   `json:"hairStyle,omitempty"`
	Clothing           Tags   `json:"clothing,omitempty"`
	Glasses            bool   `json:"glasses"`
	// Background is the backdrop of the photo, not the background of an avatar.
	Background string `json:"background"`
}

// VoiceAttributes describe a voice.
type VoiceAttributes struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Language is an ISO 639-1 code, as in "en".
	Language string `json:"language"`
}

// Tags are admin tags or other texts: a list, or a single string in some replies.
type Tags []string

// UnmarshalJSON reads a list, or one text.
func (t *Tags) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = nil
		if one != "" {
			*t = Tags{one}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// CatalogFilter selects items.
type CatalogFilter struct {
	// Type is one of the types; "" is every one.
	Type CatalogType `json:"typeEqual,omitempty"`
}

// VoiceUpload is a voice to clone. File, Name and Description are required.
type VoiceUpload struct {
	// File is a sound file with more than about six seconds of one person's speech.
	// That person must have agreed to the clone.
	File io.Reader
	// FileName is its name; default "voice".
	FileName string
	VoiceAttributes
}

// ImageUpload is a picture from which a visual, a face or a background is made. File, Name
// and GenderPresentation are required; the others default to Light, YoungAdult, Brown, Short,
// Casual and Image (management-api.md, F.4).
//
// A portrait (visual, face) is a square JPEG or PNG in sRGB of at least 2048×2048 pixels,
// best 2600×2600: one person who faces the camera with open eyes and closed mouth, evenly
// lit, shoulders and upper chest visible, the head 20 to 25 % of the height and in the
// centre, one background to every edge (service.md "Limits").
type ImageUpload struct {
	File io.Reader
	// FileName is its name; default "image".
	FileName string
	VisualAttributes
}

const (
	// customTag marks what an account has uploaded.
	customTag = "custom"
	// maxUpload bounds a file, which is held in memory.
	maxUpload = 30 << 20
	// minPortrait is the least width and height of a portrait in pixels.
	minPortrait = 2048

	defaultLanguage = "en"
)

var catalogItems = collection[CatalogItem, string]{at: appinit.Agentic, path: "/catalog-item", create: "create", what: "a catalog item", key: "itemId"}

// List iterates over the items that f selects. Error: bad_request for an unknown type.
func (g Catalog) List(ctx context.Context, f CatalogFilter, opts ...Option) iter.Seq2[*CatalogItem, error] {
	var bad error
	switch f.Type {
	case "", CatalogVisual, CatalogVoice, CatalogFace, CatalogBackground:
	default:
		bad = badRequest("Type must be Visual, Voice, Face or Background")
	}
	return g.list(ctx, query{Filter: f}, bad, opts)
}

// CreateVoice clones a voice. Its ID is what an avatar takes as Voice.ID. Errors:
// bad_request for missing attributes and for a file that is not sound.
func (g Catalog) CreateVoice(ctx context.Context, in VoiceUpload, opts ...Option) (*CatalogItem, error) {
	in.Language = cmp.Or(in.Language, defaultLanguage)
	if err := cmp.Or(required("Name", in.Name), required("Description", in.Description), checkLanguage(in.Language)); err != nil {
		return nil, err
	}
	data, err := readUpload(in.File)
	if err != nil {
		return nil, err
	}
	kind := http.DetectContentType(data)
	if strings.HasPrefix(kind, "image/") || strings.HasPrefix(kind, "text/") {
		return nil, badRequest("the file must be sound; it is " + kind)
	}
	return g.create(ctx, "", cmp.Or(in.FileName, "voice"), kind, data, CatalogAttributes{Voice: &in.VoiceAttributes}, opts)
}

// CreateVisual makes a visual, which is animated live, from a portrait. Its ID is what an
// avatar takes as Visual.ID. Errors: bad_request for missing attributes and for a file
// that is not a portrait as [ImageUpload] describes it.
func (g Catalog) CreateVisual(ctx context.Context, in ImageUpload, opts ...Option) (*CatalogItem, error) {
	return g.createImage(ctx, CatalogVisual, in, opts)
}

// CreateFace makes a face from a portrait; errors are those of CreateVisual.
func (g Catalog) CreateFace(ctx context.Context, in ImageUpload, opts ...Option) (*CatalogItem, error) {
	return g.createImage(ctx, CatalogFace, in, opts)
}

// CreateBackground makes a background from a JPEG or PNG picture of any size; errors are
// those of CreateVisual.
func (g Catalog) CreateBackground(ctx context.Context, in ImageUpload, opts ...Option) (*CatalogItem, error) {
	return g.createImage(ctx, CatalogBackground, in, opts)
}

func (g Catalog) createImage(ctx context.Context, t CatalogType, in ImageUpload, opts []Option) (*CatalogItem, error) {
	if err := cmp.Or(required("Name", in.Name), required("GenderPresentation", in.GenderPresentation)); err != nil {
		return nil, err
	}
	data, err := readUpload(in.File)
	if err != nil {
		return nil, err
	}
	if err := checkImage(data, t != CatalogBackground); err != nil {
		return nil, err
	}
	a := in.VisualAttributes
	a.Background, a.SkinTone = cmp.Or(a.Background, "Image"), cmp.Or(a.SkinTone, "Light")
	a.AgeGroup, a.HairColor = cmp.Or(a.AgeGroup, "YoungAdult"), cmp.Or(a.HairColor, "Brown")
	if a.HairStyle == nil {
		a.HairStyle = Tags{"Short"}
	}
	if a.Clothing == nil {
		a.Clothing = Tags{"Casual"}
	}
	if t == CatalogVisual {
		t = "" // the service's default for a picture
	}
	return g.create(ctx, t, cmp.Or(in.FileName, "image"), http.DetectContentType(data), data, CatalogAttributes{Visual: &a}, opts)
}

// create uploads a file. Type is sent for faces and backgrounds only (service.md
// "Catalog").
func (g Catalog) create(ctx context.Context, t CatalogType, name, kind string, data []byte, a CatalogAttributes, opts []Option) (*CatalogItem, error) {
	attributes, err := json.Marshal(a)
	if err != nil {
		return nil, fault.From(err)
	}
	fields := []field{{"attributes", string(attributes)}, {"adminTags", customTag}}
	if t != "" {
		fields = append(fields, field{"type", string(t)})
	}
	return g.sendItem(ctx, g.call("create", keyed), upload{"file", name, kind, data}, fields, opts)
}

// sendItem sends a form with one file, and reads the item in the reply.
func (g Catalog) sendItem(ctx context.Context, e endpoint, file upload, fields []field, opts []Option) (*CatalogItem, error) {
	body, err := formWith(file, fields...)
	if err != nil {
		return nil, err
	}
	return g.send(ctx, e, body, opts)
}

// ImportVoiceFromProviderA makes a catalog voice from a voice of provider A. Error:
// voice_not_found_provider_a for an unknown id; nothing is created then.
func (g Catalog) ImportVoiceFromProviderA(ctx context.Context, voiceID string, opts ...Option) (*CatalogItem, error) {
	return g.importVoice(ctx, "createVoiceFromProviderA", voiceID, fault.VoiceNotFoundProviderA, opts)
}

// ImportVoiceFromProviderB is ImportVoiceFromProviderA for provider B, with
// voice_not_found_provider_b.
func (g Catalog) ImportVoiceFromProviderB(ctx context.Context, voiceID string, opts ...Option) (*CatalogItem, error) {
	return g.importVoice(ctx, "createVoiceFromProviderB", voiceID, fault.VoiceNotFoundProviderB, opts)
}

// ImportVoiceFromElevenLabs makes a catalog voice from a voice of ElevenLabs. Error:
// voice_not_found_elevenlabs for an unknown id; nothing is created then.
func (g Catalog) ImportVoiceFromElevenLabs(ctx context.Context, voiceID string, opts ...Option) (*CatalogItem, error) {
	return g.importVoice(ctx, "createVoiceFromElevenLabs", voiceID, fault.VoiceNotFoundElevenLabs, opts)
}

// ImportVoiceFromCartesia is ImportVoiceFromElevenLabs for Cartesia, with
// voice_not_found_cartesia.
func (g Catalog) ImportVoiceFromCartesia(ctx context.Context, voiceID string, opts ...Option) (*CatalogItem, error) {
	return g.importVoice(ctx, "createVoiceFromCartesia", voiceID, fault.VoiceNotFoundCartesia, opts)
}

// CatalogPatch describes a change of an item; nil fields stay as they are.
type CatalogPatch struct {
	// Attributes are set by visual or voice, then by their names; null removes one, and others
	// stay as they are.
	Attributes map[string]map[string]any `json:"attributes,omitempty"`
	// AdminTags replace all tags.
	AdminTags []string `json:"adminTags,omitzero"`
	// File replaces the item's file.
	File io.Reader `json:"-"`
	// FileName is its name; default "upload.bin".
	FileName string `json:"-"`
}

// Update changes an item of the account's own and returns it (management-api.md, F.4). Errors:
// bad_request for an empty patch, catalog_item_not_found, also for a preset.
func (g Catalog) Update(ctx context.Context, id string, p CatalogPatch) (*CatalogItem, error) {
	if p.File == nil {
		return g.update(ctx, id, p)
	}
	if err := g.check(id); err != nil {
		return nil, err
	}
	data, err := readUpload(p.File)
	if err != nil {
		return nil, err
	}
	fields := []field{{"itemId", id}}
	if p.Attributes != nil {
		attributes, err := json.Marshal(p.Attributes)
		if err != nil {
			return nil, badRequest("Attributes must be values of JSON").Wrap(err)
		}
		fields = append(fields, field{"attributes", string(attributes)})
	}
	if p.AdminTags != nil {
		fields = append(fields, field{"adminTags", strings.Join(p.AdminTags, ",")})
	}
	return g.sendItem(ctx, g.call("update", harmless), upload{"file", cmp.Or(p.FileName, "upload.bin"), http.DetectContentType(data), data}, fields, nil)
}

func (g Catalog) importVoice(ctx context.Context, call, voiceID string, unknown fault.Code, opts []Option) (*CatalogItem, error) {
	if err := required("the voice id", voiceID); err != nil {
		return nil, err
	}
	e := g.call(call, keyed)
	item, err := g.fetch(ctx, e, map[string]string{"voiceId": voiceID}, opts...)
	if err != nil && unknownVoice(err) {
		f := fault.From(err)
		return nil, fault.New(unknown, "").WithStatus(f.Status).At(e.path).Wrap(err)
	}
	return item, err
}

// unknownVoice reports whether err is one of the errors by which the service reports that
// a provider does not have a voice.
func unknownVoice(err error) bool {
	for _, code := range [...]fault.Code{
		fault.VoiceNotFoundElevenLabs, fault.VoiceNotFoundCartesia, fault.VoiceNotFoundProviderA, fault.VoiceNotFoundProviderB, fault.NotFound,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return strings.HasPrefix(fault.From(err).Title, "VOICE_DOES_NOT_EXIST")
}

// readUpload reads a file to its end.
func readUpload(r io.Reader) ([]byte, error) {
	if r == nil {
		return nil, badRequest("File must not be nil")
	}
	data, err := io.ReadAll(io.LimitReader(r, maxUpload+1))
	switch {
	case err != nil:
		return nil, badRequest("the file can't be read").Wrap(err)
	case len(data) == 0:
		return nil, badRequest("the file is empty")
	case len(data) > maxUpload:
		return nil, badRequest("the file must not have more than " + strconv.Itoa(maxUpload>>20) + " MiB")
	}
	return data, nil
}

func checkImage(data []byte, portrait bool) error {
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch least := strconv.Itoa(minPortrait); {
	case err != nil:
		return badRequest("the file must be a JPEG or PNG picture")
	case portrait && (config.Width != config.Height || config.Width < minPortrait):
		return badRequest("the portrait must be square and have at least " + least + "×" + least + " pixels")
	}
	return nil
}

func checkLanguage(code string) error {
	if len(code) != 2 || code[0] < 'a' || code[0] > 'z' || code[1] < 'a' || code[1] > 'z' {
		return badRequest(`Language must be an ISO 639-1 code, as in "en"`)
	}
	return nil
}
