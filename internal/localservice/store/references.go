package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Kinds of records to which others refer.
const (
	AvatarKind    = "avatar"
	CatalogKind   = "catalog-item"
	CategoryKind  = "category"
	EmailKind     = "email-template"
	InsightKind   = "insight-setting"
	IntellectKind = "intellect"
	KnowledgeKind = "knowledge"
	SkillKind     = "skill"
	ToolKind      = "tool"
)

// Reference is an id in a record that leads to another one.
type Reference struct {
	Kind string // of the other record
	ID   string
	Type string // of a catalog item; "" for other kinds
}

// MissingError means that a record refers to one that does not exist, or that belongs to another partner.
type MissingError struct{ Reference }

func (e *MissingError) Error() string {
	return "there is no " + strings.ReplaceAll(e.Kind, "-", " ") + " " + e.ID
}

// checkReferences returns a [MissingError] for the first reference to a record that the partner
// does not have, and that is not shared. Those that are also in known are not checked: what they
// lead to may have been deleted, and clients write back what they have read.
func checkReferences(ctx context.Context, tx *sql.Tx, partnerID int64, references, known []Reference) error {
	for _, r := range references {
		if slices.Contains(known, r) {
			continue
		}
		var there bool
		err := tx.QueryRowContext(ctx,
			`SELECT 1 FROM objects WHERE kind = ? AND partner_id IN (?, ?) AND id = ? AND (? = '' OR json_extract(body, '$.type') = ?)`,
			r.Kind, partnerID, SharedPartner, r.ID, r.Type, r.Type).Scan(&there)
		if errors.Is(err, sql.ErrNoRows) {
			return &MissingError{r}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// to makes references of ids.
func to(kind string, ids ...string) []Reference {
	list := make([]Reference, len(ids))
	for i, id := range ids {
		list[i] = Reference{Kind: kind, ID: id}
	}
	return list
}

func (a *AgentRecord) references() []Reference {
	return append(to(AvatarKind, a.AvatarIDs...), Reference{Kind: IntellectKind, ID: strconv.FormatInt(a.Intellect.ID, 10)})
}

func (in *Intellect) references() []Reference {
	list := slices.Concat(to(ToolKind, in.ToolIDs...), to(ToolKind, in.ThreadStartTools...), to(CategoryKind, in.LinkedCategories()...))
	for _, id := range in.KnowledgeIDs {
		if id != DocumentsID {
			list = append(list, to(KnowledgeKind, strconv.FormatInt(id, 10))...)
		}
	}
	for _, skill := range in.SkillIDs {
		list = append(list, to(SkillKind, skill.ID)...)
	}
	return list
}

func (a *Avatar) references() []Reference {
	list := []Reference{{CatalogKind, a.Voice.ID, VoiceItem}}
	if a.Visual != nil {
		list = append(list, Reference{CatalogKind, a.Visual.ID, VisualItem})
	}
	if a.Face != nil {
		list = append(list, Reference{CatalogKind, a.Face.ID, FaceItem})
	}
	if b := a.Background; b != nil && b.Type == "visual" {
		list = append(list, Reference{CatalogKind, b.Value, BackgroundItem})
	}
	return list
}

func (r *Rule) references() (list []Reference) {
	for _, action := range r.Actions {
		list = append(list, to(InsightKind, action.InsightSettingIDs...)...)
		if action.EmailTemplateID != "" {
			list = append(list, to(EmailKind, action.EmailTemplateID)...)
		}
	}
	return list
}
