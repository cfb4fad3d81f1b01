package api

import (
	"errors"
	"net/http"
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

func (s *server) skillRoutes(mux *http.ServeMux) {
	s.manage(mux, "/v1/skill/add", withBody(s.skillAdd))
	s.manage(mux, "/v1/skill/update", withBody(s.skillUpdate))
	s.manage(mux, "/v1/skill/list", withBody(func(c *call, body listQuery) (any, error) {
		q := store.Query{Shared: true}
		if err := body.indexed(&q); err != nil {
			return nil, err
		}
		if err := newFilter(body.Filter, "SkillListFilter").done(); err != nil {
			return nil, err
		}
		list, total, err := s.Store.Skills().List(c.ctx(), c.claims.PartnerID, q)
		return listed(list, total, err, viewSkill)
	}))
	s.manage(mux, "/v1/skill/get", withID(func(c *call, id string) (any, error) {
		r, err := s.Store.Skills().Get(c.ctx(), c.claims.PartnerID, id)
		return viewed(r, err, viewSkill)
	}))
	s.manage(mux, "/v1/skill/delete", withID(func(c *call, id string) (any, error) {
		return idRequest{id}, s.Store.Skills().Delete(c.ctx(), c.claims.PartnerID, id)
	}))
}

func (s *server) skillAdd(c *call, body fields) (any, error) {
	if err := body.need("name", "description"); err != nil {
		return nil, err
	}
	skill, err := setSkill(store.Skill{}, body)
	if err != nil {
		return nil, err
	}
	r, err := s.Store.Skills().Create(c.ctx(), c.claims.PartnerID, skill)
	return viewed(r, err, viewSkill)
}

func (s *server) skillUpdate(c *call, body fields) (any, error) {
	var id string
	if err := body.take("id", &id); err != nil {
		return nil, err
	}
	r, err := s.Store.Skills().Update(c.ctx(), c.claims.PartnerID, id, func(skill *store.Skill) (err error) {
		*skill, err = setSkill(*skill, body)
		return err
	})
	return viewed(r, err, viewSkill)
}

func setSkill(old store.Skill, body fields) (store.Skill, error) {
	skill, err := overlay(old, store.Skill{}, body)
	return skill, errors.Join(err, checkName("name", skill.Name))
}
