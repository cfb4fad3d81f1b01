package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CatalogItem is a visual, a voice, a face or a background.
type CatalogItem struct {
	Type       string                    `json:"type"`
	AdminTags  []string                  `json:"adminTags"`
	Attributes map[string]map[string]any `json:"attributes"`           // by visual or voice, then by their names
	AssetID    string                    `json:"assetId,omitempty"`    // of an uploaded file
	ProviderID string                    `json:"providerId,omitempty"` // of an imported voice
}

// SetAttributes sets attributes, by visual or voice, then by their names; nil removes one.
// Others stay as they are.
func (c *CatalogItem) SetAttributes(groups map[string]map[string]any) {
	all := map[string]map[string]any{}
	for group, attributes := range c.Attributes {
		all[group] = maps.Clone(attributes)
	}
	for group, attributes := range groups {
		if all[group] == nil {
			all[group] = map[string]any{}
		}
		maps.Copy(all[group], attributes)
		maps.DeleteFunc(all[group], func(_ string, value any) bool { return value == nil })
	}
	c.Attributes = all
}

// Texts returns the attributes of a visual or a voice that are texts.
func (c *CatalogItem) Texts(group string) map[string]string {
	texts := map[string]string{}
	for name, value := range c.Attributes[group] {
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	return texts
}

// Types of a [CatalogItem].
const (
	VisualItem     = "Visual"
	VoiceItem      = "Voice"
	FaceItem       = "Face"
	BackgroundItem = "Background"
)

// Catalog is the collection of catalog items.
func Catalog(s *Store) Collection[CatalogItem] {
	return Collection[CatalogItem]{store: s, kind: CatalogKind, newID: HexID, hasFile: true}
}

// AvatarTemplates is the collection of presets from which avatars can be made, which all
// partners share.
func AvatarTemplates(s *Store) Collection[Avatar] {
	return Collection[Avatar]{store: s, kind: "avatar-template", newID: HexID}
}

// Ids of shared records; they are the same in every database.
const (
	presetVisual = "5ac0000000000000000000a1"
	presetVoice  = "5ac0000000000000000000b1"
)

// seedShared adds the shared records that are not there yet.
func (s *Store) seedShared(ctx context.Context) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		if err := errors.Join(Catalog(s).ensureAll(ctx, tx, presets()), AvatarTemplates(s).ensureAll(ctx, tx, presetTemplates())); err != nil {
			return err
		}
		return Skills(s).ensure(ctx, tx, "5ac00000-0000-4000-8000-0000000000c1", Skill{
			Name: "small talk", Description: "How to answer greetings, thanks and goodbyes.",
			Instructions: "Answer a greeting, thanks or a goodbye in one friendly sentence, and offer help with the visitor's question.",
		})
	})
}

// ensureAll adds records in the order of their ids, which is then that of lists.
func (c Collection[T]) ensureAll(ctx context.Context, tx *sql.Tx, records map[string]T) error {
	for _, id := range slices.Sorted(maps.Keys(records)) {
		if err := c.ensure(ctx, tx, id, records[id]); err != nil {
			return err
		}
	}
	return nil
}

// ensure inserts a shared record unless it is there.
func (c Collection[T]) ensure(ctx context.Context, tx *sql.Tx, id string, body T) error {
	var there bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM objects WHERE kind = ? AND partner_id = ? AND id = ?)`,
		c.kind, SharedPartner, id).Scan(&there); err != nil || there {
		return err
	}
	_, err := c.insert(ctx, tx, SharedPartner, id, body)
	return err
}

// presetVisuals are the attributes of the preset visuals. Each has a drawn face.
var presetVisuals = []map[string]string{
	visual("Robin", "neutral", "light", "adult", "brown", "casual", "studio"),
	visual("Ada", "feminine", "medium", "adult", "black", "formal", "office"),
	visual("Noor", "feminine", "dark", "young", "black", "casual", "plain"),
	visual("Ben", "masculine", "light", "senior", "grey", "formal", "office"),
}

func visual(name, gender, skin, age, hair, clothing, background string) map[string]string {
	return map[string]string{
		"name": name, "genderPresentation": gender, "skinTone": skin, "ageGroup": age, "hairColor": hair,
		"clothing": clothing, "background": background,
	}
}

// likeness is how much an attribute of a visual counts when it is the same in another one.
var likeness = map[string]int{"genderPresentation": 4, "skinTone": 3, "hairColor": 2, "ageGroup": 2, "clothing": 1}

// NearestFace returns the name of the preset visual that resembles a visual with these attributes most: its own name if it
// is a preset, and the first one if it has no attribute in common with any.
func NearestFace(attributes map[string]string) string {
	best, most := presetVisuals[0], 0
	for _, preset := range presetVisuals {
		if maps.Equal(preset, attributes) {
			return preset["name"]
		}
		same := 0
		for key, weight := range likeness {
			// The values that clients send begin like these: "YoungAdult", "Light".
			if strings.HasPrefix(strings.ToLower(attributes[key]), preset[key]) {
				same += weight
			}
		}
		if same > most {
			best, most = preset, same
		}
	}
	return best["name"]
}

func presets() map[string]CatalogItem {
	items := map[string]CatalogItem{}
	for i, attributes := range presetVisuals {
		item := CatalogItem{
			Type: VisualItem, AdminTags: []string{"preset"}, Attributes: map[string]map[string]any{"visual": {}},
		}
		for name, text := range attributes {
			item.Attributes["visual"][name] = text
		}
		items[fmt.Sprintf("%s%d", presetVisual[:len(presetVisual)-1], i+1)] = item
	}
	for i, v := range []struct{ name, description, language string }{
		{"Clear", "The service's usual voice.", "en"},
		{"Deep", "A lower voice.", "en"},
		{"Bright", "A higher voice.", "en"},
		{"Klar", "A German voice.", "de"},
	} {
		items[fmt.Sprintf("%s%d", presetVoice[:len(presetVoice)-1], i+1)] = CatalogItem{
			Type: VoiceItem, AdminTags: []string{"preset"}, Attributes: map[string]map[string]any{"voice": {
				"name": v.name, "description": v.description, "language": v.language,
			}},
		}
	}
	return items
}

func presetTemplates() map[string]Avatar {
	return map[string]Avatar{
		"5ac0000000000000000000d1": {Name: "Robin", Voice: AvatarVoice{ID: presetVoice}, Visual: &Visual{ID: presetVisual}},
		"5ac0000000000000000000d2": {Name: "Ada", Voice: AvatarVoice{ID: "5ac0000000000000000000b3"}, Visual: &Visual{ID: "5ac0000000000000000000a2"}},
	}
}
