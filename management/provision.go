package management

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Brief describes an agent to [Client.Provision].
type Brief struct {
	// DisplayName is what the agent is called. Required.
	DisplayName string `json:"displayName"`
	// Directive describes the agent's task; it becomes the intellect's base directive, a
	// template. Required.
	Directive string `json:"directive"`
	// OpeningPhrase is a template, or [SilentOpening]; "" is the service's default.
	OpeningPhrase string `json:"openingPhrase,omitempty"`
	// VoiceID and VisualID are ids of catalog items; "" is the first item of that type.
	VoiceID  string `json:"voiceId,omitempty"`
	VisualID string `json:"visualId,omitempty"`
	// AdminTags are the tags of the agent.
	AdminTags []string `json:"adminTags,omitempty"`

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
	IntellectID int64    `json:"intellectId,omitempty"`
	ToolIDs     []string `json:"toolIds,omitempty"`
	AvatarID    string   `json:"avatarId,omitempty"`
	AgentID     string   `json:"agentId,omitempty"`
	WidgetID    string   `json:"widgetId,omitempty"`
	// Problems are the errors of the optional fields that could not be applied.
	Problems []error `json:"-"`
}

// Provision makes an agent that pages can use: an intellect, an avatar, the agent, and its
// widget id (management-api.md "One-call helpers").
//
// Errors: bad_request and the other codes of [Intellects.Add] before any request;
// provision_failed when a step fails. Its body has the name of the step (intellect, extras,
// avatar, agent or widget) and what was made so far, which is also in the first result;
// nothing is removed. With an [IdempotencyKey] the same call can be repeated: the service
// repeats its replies for what exists already, and the rest is made.
func (c *Client) Provision(ctx context.Context, b Brief, opts ...Option) (*Provisioned, error) {
	fields := IntellectFields{Name: &b.DisplayName, BaseDirective: &b.Directive}
	if b.OpeningPhrase != "" {
		fields.OpeningPhrase = &b.OpeningPhrase
	}
	made := new(Provisioned)
	if err := firstError(required("DisplayName", b.DisplayName), required("Directive", b.Directive), fields.check()); err != nil {
		return made, err
	}
	p := provision{c, b, made, settingsOf(opts).key}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"intellect", func(ctx context.Context) error {
			intellect, err := c.Intellects.Add(ctx, fields, p.key("intellect")...)
			if err == nil {
				made.IntellectID = intellect.ID
			}
			return err
		}},
		{"extras", p.extras},
		{"avatar", p.avatar},
		{"agent", p.agent},
		{"widget", func(ctx context.Context) (err error) {
			made.WidgetID, err = c.Application.ResolveWidgetID(ctx, made.AgentID)
			return err
		}},
	} {
		if err := step.do(ctx); err != nil {
			return made, fault.New(fault.ProvisionFailed, "the step "+step.name+" failed").
				WithStatus(fault.From(err).Status).WithBody(map[string]any{"step": step.name, "made": made.plain()}).Because(err)
		}
	}
	return made, nil
}

// plain returns p in the basic types of JSON, for the body of an error.
func (p *Provisioned) plain() map[string]any {
	plain := map[string]any{}
	data, err := json.Marshal(p)
	if err == nil {
		_ = json.Unmarshal(data, &plain) // data is valid: it has just been encoded
	}
	return plain
}

type provision struct {
	c    *Client
	b    Brief
	made *Provisioned
	base string // the idempotency key, "" for none
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
		errs = append(errs, intellects.SetToolIDs(ctx, id, p.made.ToolIDs...))
	}
	if len(p.b.KnowledgeIDs) > 0 {
		errs = append(errs, intellects.SetKnowledgeIDs(ctx, id, p.b.KnowledgeIDs...))
	}
	if len(p.b.SkillIDs) > 0 {
		errs = append(errs, intellects.SetSkillIDs(ctx, id, p.b.SkillIDs...))
	}
	for _, err := range errs {
		if err != nil {
			p.made.Problems = append(p.made.Problems, err)
		}
	}
	return ctx.Err()
}

// avatar makes an avatar from the given voice and visual, or from the first ones.
func (p *provision) avatar(ctx context.Context) error {
	ids := map[CatalogType]string{CatalogVoice: p.b.VoiceID, CatalogVisual: p.b.VisualID}
	for _, kind := range []CatalogType{CatalogVoice, CatalogVisual} {
		if ids[kind] != "" {
			continue
		}
		item, err := First(p.c.Catalog.List(ctx, CatalogFilter{Type: kind}, PageSize(1)))
		if err != nil {
			return err
		}
		ids[kind] = item.ID
	}
	avatar, err := p.c.Avatars.Create(ctx, AvatarInput{
		Voice: AvatarVoice{ID: ids[CatalogVoice]}, Visual: &AvatarVisual{ID: ids[CatalogVisual]}, Name: p.b.DisplayName,
	}, p.key("avatar")...)
	if err == nil {
		p.made.AvatarID = avatar.ID
	}
	return err
}

func (p *provision) agent(ctx context.Context) error {
	agent, err := p.c.Agents.Create(ctx, AgentInput{
		DisplayName: p.b.DisplayName, Intellect: IntellectRef{ID: p.made.IntellectID}, AvatarIDs: []string{p.made.AvatarID}, AdminTags: p.b.AdminTags,
	}, p.key("agent")...)
	if err == nil {
		p.made.AgentID = agent.ID
	}
	return err
}
