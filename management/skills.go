package management

import (
	"context"
	"iter"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Skills are instructions that intellects share (service.md, "Skills"). All calls need an
// admin token.
type Skills struct{ c *Client }

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

func (s *Skill) recordID() string { return s.ID }

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

var skills = collection[Skill, *Skill, string]{at: appinit.Genie, path: "/v1/skill", create: "add", what: "a skill"}

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
	err := firstError(required("Name", in.Name), required("Description", in.Description), checkInstructions(in.Instructions))
	if err != nil {
		return nil, err
	}
	return skills.add(ctx, s.c, in, opts)
}

// Get reads a skill of the account's own. Errors: bad_request for an empty id; not_found,
// for a shared skill too.
func (s Skills) Get(ctx context.Context, id string) (*Skill, error) {
	return skills.get(ctx, s.c, id)
}

// List iterates over the account's skills and the shared ones.
func (s Skills) List(ctx context.Context, opts ...Option) iter.Seq2[*Skill, error] {
	return skills.list(ctx, s.c, query{Filter: typed{"SkillListFilter"}}, nil, opts)
}

// Update changes a skill and returns it. Errors are those of Add and Get, and bad_request
// for an empty patch.
func (s Skills) Update(ctx context.Context, id string, p SkillPatch) (*Skill, error) {
	return skills.update(
		ctx, s.c, id, p,
		ifSet(p.Name, nonEmpty("Name")), ifSet(p.Description, nonEmpty("Description")), ifSet(p.Instructions, checkInstructions),
	)
}

// Referencing returns the intellects that refer to the skill. It reads all intellects.
func (s Skills) Referencing(ctx context.Context, id string) ([]*Intellect, error) {
	if err := required("the id of a skill", id); err != nil {
		return nil, err
	}
	return s.c.Intellects.naming(ctx, namesSkill(id))
}

func namesSkill(id string) func(*Intellect) bool {
	return func(i *Intellect) bool {
		return slices.ContainsFunc(i.SkillIDs, func(ref SkillRef) bool { return ref.ID == id })
	}
}

// Delete deletes a skill. It reads all intellects first, and fails with skill_in_use when
// one refers to it. Options: [ConfirmPermanent] (confirmation_required without it), [Force]
// to delete it anyway.
func (s Skills) Delete(ctx context.Context, id string, opts ...Option) error {
	return skills.delete(ctx, s.c, id, func() error {
		return s.c.Intellects.unused(ctx, fault.SkillInUse, "the skill", namesSkill(id))
	}, opts)
}
