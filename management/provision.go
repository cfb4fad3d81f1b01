package management

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Brief describes an agent to [Client.Provision]: either by a Description, or by a DisplayName
// and a Directive.
type Brief struct {
	// Description says in a sentence or more what the agent is for. The service makes a
	// [Profile] of it ([Application.GenerateProfile]), which becomes the prompts of the
	// intellect.
	Description string `json:"description,omitempty"`
	// DisplayName is what the agent is called; default the name of the profile.
	DisplayName string `json:"displayName,omitempty"`
	// Directive describes the agent's task; it becomes the intellect's base directive, a
	// template.
	Directive string `json:"directive,omitempty"`
	// OpeningPhrase is a template, or [SilentOpening]; "" is that of the profile, or without
	// a profile the service's default.
	OpeningPhrase string `json:"openingPhrase,omitempty"`
	// VoiceID and VisualID are ids of catalog items; "" is the first item of that type.
	VoiceID  string `json:"voiceId,omitempty"`
	VisualID string `json:"visualId,omitempty"`
	// AdminTags are the tags of the agent; nil is provisioned.
	AdminTags []string `json:"adminTags,omitempty"`
	// MaxConversationLength is how long a live conversation may be, in seconds: 1 to 3600; 0
	// is 600.
	MaxConversationLength int `json:"maxConversationLength,omitempty"`

	// The fields below are optional: if one can't be applied, the error is in
	// [Provisioned.Problems], and the agent is made anyway.

	// Capabilities are on, off or disabled by name.
	Capabilities map[string]string `json:"capabilities,omitempty"`
	// Tools are made and attached to the intellect.
	Tools []NewTool `json:"tools,omitempty"`
	// KnowledgeIDs and SkillIDs are attached to the intellect.
	KnowledgeIDs []int64    `json:"knowledgeIds,omitempty"`
	SkillIDs     []SkillRef `json:"skillIds,omitempty"`
}

// NewTool is a tool to make.
type NewTool struct {
	Name   string     `json:"name"`
	Config ToolConfig `json:"config"`
}

// Provisioned is what [Client.Provision] has made.
type Provisioned struct {
	// Name is what the agent is called.
	Name string `json:"name,omitempty"`
	// Profile is what the service made of the description, nil without one.
	Profile     *Profile `json:"profile,omitempty"`
	IntellectID int64    `json:"configId,omitempty"`
	ToolIDs     []string `json:"toolIds,omitempty"`
	AvatarID    string   `json:"avatarId,omitempty"`
	AgentID     string   `json:"agentId,omitempty"`
	WidgetID    string   `json:"widgetId,omitempty"`
	// PersonaLint has the texts in which the agent has another name.
	PersonaLint PersonaLint `json:"personaLint"`
	// Problems are the errors of the optional fields that could not be applied.
	Problems []error `json:"-"`
}

// What an agent has by default (management-api.md, F.10).
const (
	demoName           = "Demo agent"
	demoOpening        = "Hello!"
	provisionedTag     = "provisioned"
	provisionedSeconds = 600
)

// Provision makes an agent that pages can use: an intellect, an avatar, the agent, and its
// widget id (management-api.md, F.10).
//
// Errors: bad_request and the other codes of [Intellects.Add] before any request;
// provision_failed when a step fails. Its body has the name of the step as failedStep
// (generateProfile, intellect.add, extras, pick catalog, avatar.create, agent.create or
// resolveWidgetId), and as createdSoFar the ids of what was made, which are also in the first
// result; nothing is removed. With an [IdempotencyKey] the same call can be repeated: the
// service repeats its replies for what exists already, and the rest is made.
func (c *Client) Provision(ctx context.Context, b Brief, opts ...Option) (*Provisioned, error) {
	made := new(Provisioned)
	p := &provision{c, b, made, IntellectFields{}, settingsOf(opts).key}
	if err := p.check(); err != nil {
		return made, err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"generateProfile", p.profile},
		{"intellect.add", func(ctx context.Context) error {
			intellect, err := c.Intellects.Add(ctx, p.fields, p.key("intellect")...)
			if err == nil {
				made.IntellectID = intellect.ID
			}
			return err
		}},
		{"extras", p.extras},
		{"pick catalog", p.pick},
		{"avatar.create", p.avatar},
		{"agent.create", p.agent},
		{"resolveWidgetId", func(ctx context.Context) (err error) {
			made.WidgetID, err = c.Application.ResolveWidgetID(ctx, made.AgentID)
			return err
		}},
	} {
		if err := step.do(ctx); err != nil {
			return made, fault.New(fault.ProvisionFailed, "the step "+step.name+" failed").
				WithStatus(fault.From(err).Status).WithBody(map[string]any{"failedStep": step.name, "createdSoFar": made.ids()}).Wrap(err)
		}
	}
	return made, nil
}

// ids returns the ids of what was made, in the basic types of JSON, for the body of an error.
func (p *Provisioned) ids() map[string]any {
	ids := map[string]any{}
	if p.IntellectID != 0 {
		ids["configId"] = float64(p.IntellectID)
	}
	for name, id := range map[string]string{"avatarId": p.AvatarID, "agentId": p.AgentID} {
		if id != "" {
			ids[name] = id
		}
	}
	return ids
}

type provision struct {
	c      *Client
	b      Brief
	made   *Provisioned
	fields IntellectFields
	base   string // the idempotency key, "" for none
}

// check fills in what the brief says, and refuses a brief that can't be carried out.
func (p *provision) check() error {
	b := &p.b
	described := strings.TrimSpace(b.Description) != ""
	switch {
	case described && b.Directive != "":
		return badRequest("the brief must have a Description or a Directive, not both")
	case !described && b.Directive == "":
		return badRequest("the brief must have a Description, or a DisplayName and a Directive")
	case !described:
		if err := required("DisplayName", b.DisplayName); err != nil {
			return err
		}
		p.fields.BaseDirective = &b.Directive
	}
	if b.OpeningPhrase != "" {
		p.fields.OpeningPhrase = &b.OpeningPhrase
	}
	if b.AdminTags == nil {
		b.AdminTags = []string{provisionedTag}
	}
	b.MaxConversationLength = cmp.Or(b.MaxConversationLength, provisionedSeconds)
	return cmp.Or(p.fields.check(), checkLength(b.MaxConversationLength))
}

// profile completes the fields of the intellect, for a brief without a directive by a profile
// of the description.
func (p *provision) profile(ctx context.Context) error {
	b, opening := &p.b, p.b.OpeningPhrase
	if b.Directive == "" {
		profile, err := p.c.Application.GenerateProfile(ctx, b.Description)
		if err != nil {
			return err
		}
		p.made.Profile = profile
		b.DisplayName = cmp.Or(b.DisplayName, profile.Name, demoName)
		opening = cmp.Or(opening, profile.OpeningPhrase, demoOpening)
		p.fields.OpeningPhrase = &opening
		p.fields.BaseDirective = new("You are " + b.DisplayName + ". Keep your answers short, in the way people speak.")
		p.fields.Prompts = []Prompt{
			{Key: "goal", HeaderTemplate: "Your goal", Value: profile.Goal},
			{Key: "targetAudience", HeaderTemplate: "Who you talk with", Value: profile.TargetAudience},
			{Key: "restrictedTopics", HeaderTemplate: "What you don't talk about", Value: profile.RestrictedTopics},
			{Key: "name", HeaderTemplate: "Your name", Value: b.DisplayName},
		}
	}
	p.fields.Name, p.made.Name = &b.DisplayName, b.DisplayName
	p.made.PersonaLint = LintPersonaIdentity(Persona{
		Name: b.DisplayName, OpeningPhrase: opening, BaseDirective: *p.fields.BaseDirective, Prompts: p.fields.Prompts,
	})
	return nil
}

// key returns the option with the idempotency key of one create, none without a base.
func (p *provision) key(of string) []Option {
	if p.base == "" {
		return nil
	}
	return []Option{IdempotencyKey(p.base + "/" + of)}
}

// extras adds the optional parts. It fails only when ctx has ended.
func (p *provision) extras(ctx context.Context) error {
	intellects, id := p.c.Intellects, p.made.IntellectID
	var errs []error
	set := func(f IntellectFields) {
		_, err := intellects.Update(ctx, id, f)
		errs = append(errs, err)
	}
	if len(p.b.Capabilities) > 0 {
		errs = append(errs, intellects.SetCapabilities(ctx, id, p.b.Capabilities))
	}
	for i, t := range p.b.Tools {
		tool, err := p.c.Tools.Add(ctx, t.Name, t.Config, p.key("tool/"+strconv.Itoa(i))...)
		if err == nil {
			p.made.ToolIDs = append(p.made.ToolIDs, tool.ID)
		}
		errs = append(errs, err)
	}
	if len(p.made.ToolIDs) > 0 {
		set(IntellectFields{ToolIDs: p.made.ToolIDs})
	}
	if len(p.b.KnowledgeIDs) > 0 {
		set(IntellectFields{KnowledgeIDs: p.b.KnowledgeIDs})
	}
	if len(p.b.SkillIDs) > 0 {
		set(IntellectFields{SkillIDs: p.b.SkillIDs})
	}
	for _, err := range errs {
		if err != nil {
			p.made.Problems = append(p.made.Problems, err)
		}
	}
	return ctx.Err()
}

// pick chooses the first voice and visual of the catalog in place of those not given.
func (p *provision) pick(ctx context.Context) error {
	for _, choice := range []struct {
		kind CatalogType
		id   *string
	}{{CatalogVoice, &p.b.VoiceID}, {CatalogVisual, &p.b.VisualID}} {
		if *choice.id != "" {
			continue
		}
		item, err := First(p.c.Catalog.List(ctx, CatalogFilter{Type: choice.kind}, PageSize(1)))
		if err != nil {
			return err
		}
		*choice.id = item.ID
	}
	return nil
}

func (p *provision) avatar(ctx context.Context) error {
	avatar, err := p.c.Avatars.Create(ctx, AvatarInput{
		Voice:  AvatarVoice{ID: p.b.VoiceID, Speed: new(1.0)},
		Visual: &AvatarVisual{ID: p.b.VisualID, MotionControl: json.RawMessage(`{"speaking":0.6,"nonSpeaking":0.2}`)},
		Name:   p.b.DisplayName,
	}, p.key("avatar")...)
	if err == nil {
		p.made.AvatarID = avatar.ID
	}
	return err
}

func (p *provision) agent(ctx context.Context) error {
	agent, err := p.c.Agents.Create(ctx, AgentInput{
		DisplayName: p.b.DisplayName, Intellect: IntellectRef{ID: p.made.IntellectID}, AvatarIDs: []string{p.made.AvatarID}, AdminTags: p.b.AdminTags,
		MaxConversationLength: p.b.MaxConversationLength,
	}, p.key("agent")...)
	if err == nil {
		p.made.AgentID = agent.ID
	}
	return err
}
