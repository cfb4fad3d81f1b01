package management

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// Avatars builds avatars, each a voice with a visual or with a face before a background
// (service.md "Avatars"). An id that is not 24 hexadecimal digits is a bad_request; an unknown
// one is api_exception with the title AVATAR_NOT_FOUND. All calls need an admin token.
type Avatars struct{ Records[Avatar, string] }

// Avatar is an avatar's record.
type Avatar struct {
	// ID is 24 hexadecimal digits.
	ID string `json:"id"`
	AvatarInput
	CreatedAt Time `json:"createdAt"`
	UpdatedAt Time `json:"updatedAt"`
	Receipt
}

// AvatarVoice is a voice of the catalog.
type AvatarVoice struct {
	// ID is the itemId of a catalog voice.
	ID string `json:"id"`
	// Speed is a factor, of which the service uses about 0.7 to 1.2; nil is the voice's own.
	Speed *float64 `json:"speed,omitempty"`
}

// AvatarVisual is a visual of the catalog.
type AvatarVisual struct {
	// ID is the itemId of a catalog visual.
	ID string `json:"id"`
	// MotionControl is {speaking, nonSpeaking}, each from 0 to 1 (management-api.md, F.3).
	MotionControl json.RawMessage `json:"motionControl,omitempty"`
}

// AvatarFace is a face of the catalog.
type AvatarFace struct {
	ID string `json:"id"`
}

// AvatarBackground is what is behind a face.
type AvatarBackground struct {
	// Type is color or visual.
	Type string `json:"type"`
	// Value is the colour, or the itemId of a catalog background.
	Value string `json:"value,omitempty"`
}

// Types of an [AvatarBackground].
const (
	BackgroundColor  = "color"
	BackgroundVisual = "visual"
)

// AvatarInput is a new avatar, and what a record has of it. Voice is required; Face and Background must be set together,
// and not with Visual.
type AvatarInput struct {
	Voice      AvatarVoice       `json:"voice"`
	Visual     *AvatarVisual     `json:"visual,omitempty"`
	Face       *AvatarFace       `json:"face,omitempty"`
	Background *AvatarBackground `json:"background,omitempty"`
	// TemplateID is the id of one of [Avatars.Templates].
	TemplateID string `json:"templateId,omitempty"`
	Name       string `json:"name,omitempty"`
	// OpeningPhrase is best left empty; the intellect's is the opening line.
	OpeningPhrase string `json:"openingPhrase,omitempty"`
	// AdminTags must be empty: agents have tags, avatars do not. The field exists so that
	// tags in the input are refused instead of being lost.
	AdminTags []string `json:"adminTags,omitempty"`
}

// AvatarPatch describes a change of an avatar; nil fields stay as they are.
type AvatarPatch struct {
	Voice         *AvatarVoice      `json:"voice,omitempty"`
	Visual        *AvatarVisual     `json:"visual,omitempty"`
	Face          *AvatarFace       `json:"face,omitempty"`
	Background    *AvatarBackground `json:"background,omitempty"`
	Name          *string           `json:"name,omitempty"`
	OpeningPhrase *string           `json:"openingPhrase,omitempty"`
	// AdminTags and TemplateID must be empty: avatars have no tags, and the template of an
	// avatar can't be changed.
	AdminTags  []string `json:"adminTags,omitempty"`
	TemplateID string   `json:"templateId,omitempty"`
}

var avatars = collection[Avatar, string]{
	at: appinit.Agentic, path: "/avatar", create: "create", what: "an avatar", all: query{omitFilter: true}, checkID: checkAvatarID,
}

var avatarPresets = listing{endpoint: endpoint{at: appinit.Agentic, path: "/avatar-template/list", again: harmless}}

func (in *AvatarInput) check() error {
	switch {
	case (in.Face == nil) != (in.Background == nil):
		return badRequest("Face and Background go together")
	case in.Face != nil && in.Visual != nil:
		return badRequest("an avatar has either a Visual, or a Face and a Background")
	}
	return cmp.Or(noAvatarTags(in.AdminTags), in.Voice.check(), ifSet(in.Visual, AvatarVisual.check), ifSet(in.Face, AvatarFace.check), ifSet(in.Background, AvatarBackground.check))
}

func (p *AvatarPatch) check() error {
	if p.TemplateID != "" {
		return badRequest("the template of an avatar can't be changed; create another avatar")
	}
	return cmp.Or(noAvatarTags(p.AdminTags), ifSet(p.Voice, AvatarVoice.check), ifSet(p.Visual, AvatarVisual.check), ifSet(p.Face, AvatarFace.check), ifSet(p.Background, AvatarBackground.check))
}

func noAvatarTags(tags []string) error {
	if len(tags) > 0 {
		return badRequest("avatars have no admin tags; tag the agent instead")
	}
	return nil
}

func (v AvatarVoice) check() error {
	if v.Speed != nil && !(*v.Speed > 0) {
		return badRequest("Voice.Speed must be a number above 0")
	}
	return required("Voice.ID", v.ID)
}

func (v AvatarVisual) check() error {
	if v.MotionControl != nil && !strings.HasPrefix(strings.TrimSpace(string(v.MotionControl)), "{") {
		return badRequest("Visual.MotionControl must be a JSON object")
	}
	return required("Visual.ID", v.ID)
}

func (f AvatarFace) check() error { return required("Face.ID", f.ID) }

func (b AvatarBackground) check() error {
	if b.Type != BackgroundColor && b.Type != BackgroundVisual {
		return badRequest("Background.Type must be color or visual")
	}
	return nil
}

// Create makes an avatar. Errors: bad_request for a missing voice, for a face without a
// background or the reverse, and for admin tags.
func (a Avatars) Create(ctx context.Context, in AvatarInput, opts ...Option) (*Avatar, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	return a.add(ctx, in, opts)
}

// Templates iterates over the avatar templates, or over those with the given ids. Each is a
// curated pair of a voice and a visual, or a face before a background.
func (a Avatars) Templates(ctx context.Context, ids []string, opts ...Option) iter.Seq2[*Avatar, error] {
	q := query{omitFilter: true}
	if len(ids) > 0 {
		q = query{Filter: map[string][]string{"idsIn": ids}}
	}
	return list[Avatar](ctx, a.c, avatarPresets, q, nil, opts)
}

// Update changes an avatar and returns it. Errors: those of Create and Get, and
// bad_request for an empty patch and for a template.
func (a Avatars) Update(ctx context.Context, id string, p AvatarPatch) (*Avatar, error) {
	return a.update(ctx, id, p, p.check())
}

// Clone makes a copy of an avatar, with an id of its own. Errors are those of Get.
func (a Avatars) Clone(ctx context.Context, id string, opts ...Option) (*Avatar, error) {
	if err := checkAvatarID(id); err != nil {
		return nil, err
	}
	return a.fetch(ctx, a.call("clone", keyed), a.about(id), opts...)
}

// avatarID matches the id of an avatar.
var avatarID = regexp.MustCompile(`^[0-9a-fA-F]{24}$`)

func checkAvatarID(id string) error {
	if !avatarID.MatchString(id) {
		return badRequest("the id of an avatar must be 24 hexadecimal digits")
	}
	return nil
}
