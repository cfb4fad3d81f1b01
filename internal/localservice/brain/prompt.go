package brain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// instructions returns the system prompt: the directive, prompts, glossary and skills of
// the agent, and the results of the tools that ran when the thread began.
func (q *Question) instructions() string {
	p := &q.Profile
	parts := []string{Render(p.BaseDirective, q.Vars)}
	for _, prompt := range p.Prompts {
		if prompt.Shown() {
			parts = append(parts, "## "+Render(prompt.HeaderTemplate, q.Vars)+"\n"+Render(prompt.Value, q.Vars))
		}
	}
	if p.Glossary != "" {
		parts = append(parts, "Glossary:\n"+Render(p.Glossary, q.Vars))
	}
	var offered []string
	for _, skill := range q.skills() {
		if skill.Ref.Mode == store.SkillPreloaded || slices.Contains(q.LoadedSkills, skill.Name) {
			parts = append(parts, "Skill "+skill.Name+":\n"+Render(skill.Instructions, q.Vars))
		} else {
			offered = append(offered, "- "+skill.Name+": "+skill.Description)
		}
	}
	if len(offered) > 0 {
		parts = append(parts, "Skills that "+loadSkill+" loads when you need one:\n"+strings.Join(offered, "\n"))
	}
	for _, r := range q.Started {
		parts = append(parts, fmt.Sprintf("Result of the tool %s, which ran when the conversation began: %s", r.Tool, r.Result))
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n")
}

// skills returns the attached skills whose condition holds. A condition that can't be
// evaluated does not hold.
func (q *Question) skills() []store.AttachedSkill {
	return slices.DeleteFunc(slices.Clone(q.Profile.Skills), func(skill store.AttachedSkill) bool {
		ok, err := Holds(skill.Ref.Condition, q.Vars)
		return err != nil || !ok
	})
}

// loadSkill is the function by which a model loads a skill.
const loadSkill = "load_skill"

// load returns the instructions of a skill, and keeps the skill for the thread if its
// mode requires that.
func (q *Question) load(name string) (string, bool) {
	for _, skill := range q.skills() {
		if skill.Name != name {
			continue
		}
		if skill.Ref.Mode == store.SkillAdhocSave && q.KeepSkill != nil {
			if err := q.KeepSkill(name); err != nil {
				return "", false
			}
		}
		return Render(skill.Instructions, q.Vars), true
	}
	return "", false
}
