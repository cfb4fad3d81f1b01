package api

import (
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// skillView is a skill as clients see it. A shared one has the partner 0.
type skillView struct {
	ID        string `json:"id"`
	PartnerID int64  `json:"partner_id"`
	store.Skill
	Instructions *string   `json:"instructions"` // null without any (management-api.md, F.7)
	CreatedAt    time.Time `json:"created_at"`
	UpdatedAt    time.Time `json:"updated_at"`
}

func viewSkill(r *store.Record[store.Skill]) skillView {
	v := skillView{ID: r.ID, PartnerID: r.PartnerID, Skill: r.Body, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt}
	if r.Body.Instructions != "" {
		v.Instructions = &r.Body.Instructions
	}
	return v
}

func (s *server) skills() *resource[store.Skill] {
	return &resource[store.Skill]{
		records: s.Store.Skills(), view: anyView(viewSkill), needs: []string{"name", "description"}, set: setSkill,
		query: paged("SkillListFilter", true),
	}
}

func setSkill(old store.Skill, body fields) (store.Skill, error) {
	skill, err := overlay(old, store.Skill{}, body)
	return skill, errors.Join(err, checkName("name", skill.Name))
}
