package management

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// Intellects builds AI configurations (service.md, "Intellects"). All calls need an admin
// token. Update sets any field; a setter is for a field that only a null clears, or that is
// read and written as a whole. Arguments are checked first, and an invalid one is a
// bad_request; repeating a call has no further effect. Agents keep the id of an intellect
// that was deleted.
type Intellects struct{ Records[Intellect, int64] }

var intellects = collection[Intellect, int64]{at: appinit.Genie, path: "/v1/intellect", create: "add", what: "an intellect"}

// IntellectFields are the fields of an intellect that can be set. A nil field means the
// service's default in [Intellects.Add], and no change in [Intellects.Update]; an empty
// list or map removes all values. A field that only a null clears has a setter for it.
type IntellectFields struct {
	Name                 *string              `json:"name,omitempty"`
	Description          *string              `json:"description,omitempty"`
	Tags                 []string             `json:"tags,omitzero"`
	Status               *int                 `json:"status,omitempty"` // nil is active in Add
	BaseDirective        *string              `json:"base_directive,omitempty"`
	Prompts              []Prompt             `json:"prompts,omitzero"`
	Glossary             *string              `json:"glossary,omitempty"`
	ToolIDs              []string             `json:"tool_ids,omitzero"`
	KnowledgeIDs         []int64              `json:"knowledge_ids,omitzero"`
	SkillIDs             []SkillRef           `json:"skill_ids,omitzero"`
	AllowClientVariables *bool                `json:"allow_client_variables,omitempty"`
	ModelConfiguration   *ModelConfiguration  `json:"model_configuration,omitempty"`
	OpeningPhrase        *string              `json:"opening_phrase,omitempty"`
	ThreadStartTools     []string             `json:"thread_start_tools,omitzero"`
	AvatarSummaryConfig  *AvatarSummaryConfig `json:"avatar_summary_config,omitempty"`
	// Capabilities replace the whole map; [Intellects.SetCapabilities] keeps the rest.
	Capabilities map[string]string `json:"capabilities,omitzero"`
	// Secrets replace all of them; [Intellects.SetSecrets] keeps the rest.
	Secrets             map[string]string    `json:"secrets,omitzero"`
	MCPServers          MCPServers           `json:"mcp_servers,omitzero"`
	Language            *string              `json:"language,omitempty"`
	UserPropertiesForms []UserPropertiesForm `json:"user_properties_forms,omitzero"`
	Metadata            map[string]string    `json:"metadata,omitzero"`
}

// check checks the fields, and returns prompt_lint_failed for a bad template.
func (f *IntellectFields) check() error {
	texts := Intellect{Prompts: f.Prompts, AllowClientVariables: f.AllowClientVariables}
	if f.BaseDirective != nil {
		texts.BaseDirective = *f.BaseDirective
	}
	if f.Glossary != nil {
		texts.Glossary = *f.Glossary
	}
	errs := []error{
		checkPrompts(f.Prompts),
		uniqueIDs("tool_ids", f.ToolIDs),
		checkKnowledge(f.KnowledgeIDs),
		checkSkills(f.SkillIDs),
		f.ModelConfiguration.check(),
		uniqueIDs("thread_start_tools", f.ThreadStartTools),
		f.AvatarSummaryConfig.check(),
		checkCapabilities(f.Capabilities),
		checkSecrets(f.Secrets),
		checkMCPServers(f.MCPServers),
		checkForms(f.UserPropertiesForms),
		ifSet(f.OpeningPhrase, checkOpening),
	}
	if f.Status != nil && (*f.Status < IntellectDeleting || *f.Status > IntellectActive) {
		errs = append(errs, badRequest("status must be 0 (for deletion), 1 (pending) or 2 (active)"))
	}
	if f.Language != nil && !languageTag.MatchString(*f.Language) {
		errs = append(errs, badRequest(`language must be a BCP 47 tag such as "de" or "en-US"`))
	}
	return cmp.Or(append(errs, lintFailed(LintPrompts(&texts)))...)
}

// Add makes an intellect. Errors: bad_request, unknown_capability, invalid_url and
// prompt_lint_failed for a field that is invalid, and the service's forbidden for a skill
// that can't be used.
func (i Intellects) Add(ctx context.Context, f IntellectFields, opts ...Option) (*Intellect, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	i.hide(f.Secrets)
	return i.add(ctx, newIntellect(f), opts)
}

// Update changes an intellect and returns it. Errors are those of Add and Get.
func (i Intellects) Update(ctx context.Context, id int64, f IntellectFields) (*Intellect, error) {
	bad := f.check()
	i.hide(f.Secrets)
	f.UserPropertiesForms = withTypes(f.UserPropertiesForms)
	return i.update(ctx, id, intellectBody{InternalIntellect, f}, bad)
}

// intellectBody is the body of a write. The service requires the type in all of them
// (management-api.md, F.6: missing_discriminator).
type intellectBody struct {
	Type string `json:"type"`
	IntellectFields
}

// newIntellect is the body for a new intellect, which is active unless f says otherwise.
func newIntellect(f IntellectFields) intellectBody {
	if f.Status == nil {
		f.Status = new(IntellectActive)
	}
	f.UserPropertiesForms = withTypes(f.UserPropertiesForms)
	return intellectBody{Type: InternalIntellect, IntellectFields: f}
}

// set writes one field; a nil value clears it.
func (i Intellects) set(ctx context.Context, id int64, field string, value any, bad error) error {
	if err := cmp.Or(i.check(id), bad); err != nil {
		return err
	}
	return i.c.post(ctx, i.call("update", harmless), map[string]any{"id": id, "type": InternalIntellect, field: value}, nil)
}

// SetModelConfiguration chooses the model; nil restores the service's.
func (i Intellects) SetModelConfiguration(ctx context.Context, id int64, m *ModelConfiguration) error {
	return i.set(ctx, id, "model_configuration", orNull(m), m.check())
}

// SetOpeningPhrase sets what the agent says first: a template over request_vars and sys__*
// without secrets, or [SilentOpening]. "" restores the service's.
func (i Intellects) SetOpeningPhrase(ctx context.Context, id int64, phrase string) error {
	var value any = phrase
	if phrase == "" {
		value = nil
	}
	return i.set(ctx, id, "opening_phrase", value, checkOpening(phrase))
}

// SetAvatarSummaryConfig configures the summaries of conversations; nil restores the defaults.
// Each {{ key }} of the template must be a key of the analysis.
func (i Intellects) SetAvatarSummaryConfig(ctx context.Context, id int64, s *AvatarSummaryConfig) error {
	return i.set(ctx, id, "avatar_summary_config", orNull(s), s.check())
}

// SetCapabilities sets the states of some capabilities, on, off or disabled, and keeps the
// others: it reads the intellect and writes the whole map, so two calls at once for one
// intellect may lose a change. Errors: unknown_capability, bad_request for an invalid state,
// and capability_vetoed for switching a disabled capability on without [Force].
func (i Intellects) SetCapabilities(ctx context.Context, id int64, states map[string]string, opts ...Option) error {
	if err := cmp.Or(i.check(id), checkCapabilities(states)); err != nil {
		return err
	}
	if len(states) == 0 {
		return badRequest("name at least one capability")
	}
	intellect, err := i.Get(ctx, id)
	if err != nil {
		return err
	}
	merged, err := mergeCapabilities(intellect.Capabilities, states, settingsOf(opts).has(Force))
	if err != nil {
		return err
	}
	return i.set(ctx, id, "capabilities", merged, nil)
}

// SetCapability is [Intellects.SetCapabilities] for one capability.
func (i Intellects) SetCapability(ctx context.Context, id int64, name, state string, opts ...Option) error {
	return i.SetCapabilities(ctx, id, map[string]string{name: state}, opts...)
}

// SecretNames returns the names of the intellect's secrets, sorted. Values can't be read.
func (i Intellects) SecretNames(ctx context.Context, id int64) ([]string, error) {
	intellect, err := i.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return intellect.Secrets, nil
}

// SetSecrets sets some secrets, which templates read as secrets.NAME, and keeps the
// others. Two calls at once for one intellect may lose a change. A value must not be
// empty or ***, which stands for a value that is not shown.
func (i Intellects) SetSecrets(ctx context.Context, id int64, values map[string]string) error {
	if err := cmp.Or(i.check(id), checkSecrets(values)); err != nil {
		return err
	}
	if len(values) == 0 {
		return badRequest("name at least one secret")
	}
	i.hide(values)
	return i.writeSecrets(ctx, id, values, nil)
}

// DeleteSecrets deletes the secrets with these names, and keeps the others. It does not
// matter whether they exist. [ConfirmPermanent] is required.
func (i Intellects) DeleteSecrets(ctx context.Context, id int64, names []string, opts ...Option) error {
	err := cmp.Or(i.check(id), settingsOf(opts).confirm("a secret"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return badRequest("name at least one secret")
	}
	return i.writeSecrets(ctx, id, nil, names)
}

// writeSecrets writes all secrets. The mask as a value makes the service keep the stored
// one.
func (i Intellects) writeSecrets(ctx context.Context, id int64, values map[string]string, without []string) error {
	names, err := i.SecretNames(ctx, id)
	if err != nil {
		return err
	}
	all := map[string]string{}
	for _, name := range names {
		if !slices.Contains(without, name) {
			all[name] = mask
		}
	}
	maps.Copy(all, values)
	return i.set(ctx, id, "secrets", all, nil)
}

// hide keeps values out of errors: a service might repeat them in a refusal.
func (i Intellects) hide(values map[string]string) {
	for _, value := range values {
		i.c.secrets.Add(value)
	}
}

// ReplaceSecrets deletes all secrets and sets these. [ConfirmPermanent] is required.
func (i Intellects) ReplaceSecrets(ctx context.Context, id int64, values map[string]string, opts ...Option) error {
	if values == nil {
		values = map[string]string{}
	}
	i.hide(values)
	return i.set(ctx, id, "secrets", values, cmp.Or(checkSecrets(values), settingsOf(opts).confirm("the secrets")))
}

// ForcedLanguage is the language in which an agent answers and listens.
type ForcedLanguage struct {
	// ConfigID is the intellect, which is required.
	ConfigID int64
	// AgentID is the agent whose speech recognition is set; with "" it uses the language
	// of the intellect.
	AgentID string
	// Language is a BCP 47 tag such as "de" or "en-US"; "" removes the settings of an
	// earlier call.
	Language string
	// LanguageName is its name in the instruction to the model. 28 languages have a
	// default; others need one.
	LanguageName string
}

// SetForcedLanguage sets the language of the answers, by an instruction in the prompts,
// and the language of speech recognition. The prompts are read and written as a whole, so
// two calls at once for one intellect may lose a change. Error: bad_request for an invalid
// tag, and for an unknown language without a name.
func (i Intellects) SetForcedLanguage(ctx context.Context, l ForcedLanguage) error {
	if err := positive("ConfigID", l.ConfigID); err != nil {
		return err
	}
	var name string
	var tag any // null removes
	if l.Language != "" {
		var err error
		if name, err = languageName(l.Language, l.LanguageName); err != nil {
			return err
		}
		tag = l.Language
	}
	intellect, err := i.Get(ctx, l.ConfigID)
	if err != nil {
		return err
	}
	err = i.c.post(ctx, i.call("update", harmless), map[string]any{
		"id": l.ConfigID, "type": InternalIntellect, "language": tag, "prompts": orEmpty(withForcedLanguage(intellect.Prompts, name)),
	}, nil)
	if err != nil || l.AgentID == "" {
		return err
	}
	return i.c.post(ctx, i.c.Agents.call("update", harmless), map[string]any{"agentId": l.AgentID, "speechLanguage": tag}, nil)
}

// LintPrompts reads an intellect and checks its templates, also against the names of its
// secrets. It writes nothing.
func (i Intellects) LintPrompts(ctx context.Context, id int64) ([]Finding, error) {
	intellect, err := i.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return LintPrompts(intellect), nil
}

// orNull returns p, or an untyped nil for a nil pointer.
func orNull[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

// orEmpty makes a nil list an empty one, which is [] in JSON, not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
