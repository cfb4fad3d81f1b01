package management

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Skills are instructions that intellects share (service.md, "Skills"). The shared ones are
// listed too, but not found by Get. All calls need an admin token.
type Skills struct{ Records[Skill, string] }

// Skill is a skill's record.
type Skill struct {
	ID string `json:"id"`
	SkillInput
	// PartnerID is 0 for a shared skill, nil if the service does not return it.
	PartnerID *int64 `json:"partner_id,omitempty"`
	CreatedAt Time   `json:"created_at,omitempty"`
	UpdatedAt Time   `json:"updated_at,omitempty"`
	Receipt
}

// Shared reports whether the skill is shared by all accounts. A shared skill is listed and
// may be attached to an intellect; get, update and delete fail with not_found.
func (s *Skill) Shared() bool { return s.PartnerID != nil && *s.PartnerID == 0 }

// SkillInput is a new skill. Name and Description are required.
type SkillInput struct {
	// Name is unique within the account.
	Name        string `json:"name"`
	Description string `json:"description"`
	// Instructions are a template, which may use sys__* variables.
	Instructions string `json:"instructions,omitempty"`
}

// SkillPatch describes a change of a skill; nil fields stay as they are.
type SkillPatch struct {
	Name         *string `json:"name,omitempty"`
	Description  *string `json:"description,omitempty"`
	Instructions *string `json:"instructions,omitempty"`
}

var skills = collection[Skill, string]{
	at: appinit.Genie, path: "/v1/skill", create: "add", what: "a skill", all: query{Filter: typed{"SkillListFilter"}},
	inUse: fault.SkillInUse, names: func(i *Intellect, id string) bool {
		return slices.ContainsFunc(i.SkillIDs, func(ref SkillRef) bool { return ref.ID == id })
	},
}

func checkInstructions(instructions string) error {
	findings := LintPrompt(instructions, PromptContext{})
	for n := range findings {
		findings[n].Field = "instructions"
	}
	return lintFailed(findings)
}

// Add makes a skill. Errors: bad_request for missing fields, prompt_lint_failed for the
// instructions, the service's conflict for a name that is in use.
func (s Skills) Add(ctx context.Context, in SkillInput, opts ...Option) (*Skill, error) {
	err := cmp.Or(required("Name", in.Name), required("Description", in.Description), checkInstructions(in.Instructions))
	if err != nil {
		return nil, err
	}
	return s.add(ctx, in, opts)
}

// Update changes a skill and returns it. Errors are those of Add and Get, and bad_request
// for an empty patch.
func (s Skills) Update(ctx context.Context, id string, p SkillPatch) (*Skill, error) {
	return s.update(
		ctx, id, p,
		ifSet(p.Name, nonEmpty("Name")), ifSet(p.Description, nonEmpty("Description")), ifSet(p.Instructions, checkInstructions),
	)
}

// Referencing returns the intellects that refer to the skill. It reads all intellects.
func (s Skills) Referencing(ctx context.Context, id string) ([]*Intellect, error) {
	return s.referencing(ctx, id)
}
