package api

import (
	"cmp"
	"encoding/json"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// viewSkill is a skill as clients see it; one without instructions has null (management-api.md, F.7).
func viewSkill(r *store.Record[store.Skill]) any {
	v := viewConversationHost(r).(fields)
	if r.Body.Instructions == "" {
		v["instructions"] = json.RawMessage("null")
	}
	return v
}

func (s *server) skills() *resource[store.Skill] {
	return &resource[store.Skill]{
		records: store.Skills(s.Store), view: viewSkill, needs: []string{"name", "description"}, set: setSkill,
		query: paged("SkillListFilter", true),
	}
}

func setSkill(old store.Skill, body fields) (store.Skill, error) {
	skill, err := overlay(old, store.Skill{}, body)
	return skill, cmp.Or(err, checkName("name", skill.Name))
}
