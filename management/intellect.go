package management

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/template"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Intellect is the AI configuration of an agent (service.md, "Intellect"). Its id is also
// called configId.
type Intellect struct {
	ID   int64  `json:"id"`
	Name string `json:"name,omitempty"`
	// Description and Tags are the partner's own; the service does not read them.
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	// Type is internal for one that the service runs itself, the only type that this client
	// writes.
	Type string `json:"type,omitempty"`
	// Status is one of [IntellectDeleting], [IntellectPending] and [IntellectActive]; nil is
	// not known.
	Status *int `json:"status,omitempty"`
	// BaseDirective is the system prompt, a template.
	BaseDirective string   `json:"base_directive,omitempty"`
	Prompts       []Prompt `json:"prompts,omitempty"`
	// Glossary is a template too.
	Glossary string   `json:"glossary,omitempty"`
	ToolIDs  []string `json:"tool_ids,omitempty"`
	// KnowledgeIDs are the ids of knowledge records, at most [MaxKnowledgeIDs].
	KnowledgeIDs []int64    `json:"knowledge_ids,omitempty"`
	SkillIDs     []SkillRef `json:"skill_ids,omitempty"`
	// AllowClientVariables permits request_vars; nil means the default, true.
	AllowClientVariables *bool               `json:"allow_client_variables,omitempty"`
	ModelConfiguration   *ModelConfiguration `json:"model_configuration,omitempty"`
	// OpeningPhrase is a template over request_vars and sys__*, or [SilentOpening].
	OpeningPhrase string `json:"opening_phrase,omitempty"`
	// ThreadStartTools run in this order when a thread starts, before the first turn.
	ThreadStartTools    []string             `json:"thread_start_tools,omitempty"`
	AvatarSummaryConfig *AvatarSummaryConfig `json:"avatar_summary_config,omitempty"`
	// Capabilities are on, off or disabled by name; those that are missing have the
	// service's default.
	Capabilities map[string]string `json:"capabilities,omitempty"`
	// Secrets are the names of the secrets that are set. Values never come back.
	Secrets    SecretNames `json:"secrets,omitempty"`
	MCPServers MCPServers  `json:"mcp_servers,omitempty"`
	// Language is the language of speech recognition, BCP 47 as in "en-US".
	Language string `json:"language,omitempty"`
	// UserPropertiesForms are the forms that ask visitors for their properties.
	UserPropertiesForms []UserPropertiesForm `json:"user_properties_forms,omitempty"`
	// Metadata are values of the partner's own; the service does not read them.
	Metadata  map[string]string `json:"metadata,omitempty"`
	CreatedAt Time              `json:"created_at,omitempty"`
	UpdatedAt Time              `json:"updated_at,omitempty"`
	Receipt

	badForms bool // user_properties_forms could not be decoded
}

// UnmarshalJSON reads the known fields. A field of an unexpected type stays empty:
// service.md documents few types, and one such record must not make a list unreadable.
func (i *Intellect) UnmarshalJSON(data []byte) error {
	type fields Intellect
	err := json.Unmarshal(data, (*fields)(i))
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return err
	}
	i.badForms = strings.HasPrefix(mismatch.Field, "user_properties_forms")
	return nil
}

// ClientVariables reports whether conversations may send request_vars.
func (i *Intellect) ClientVariables() bool {
	return i.AllowClientVariables == nil || *i.AllowClientVariables
}

// InternalIntellect is the type of an intellect that the service runs itself.
const InternalIntellect = "internal"

// States of an intellect (management-api.md, F.6).
const (
	IntellectDeleting = 0
	IntellectPending  = 1
	IntellectActive   = 2
)

// Prompt is one part of the system prompt beside base_directive (management-api.md, F.6).
// The model reads it as "## header", then the value; a blank value or header removes it.
type Prompt struct {
	// Key identifies the prompt; required.
	Key string `json:"key"`
	// Label is its name for people; default Key.
	Label string `json:"label"`
	// HeaderTemplate is a template; default Label.
	HeaderTemplate string `json:"headerTemplate"`
	// Type is [PromptCustom], the default.
	Type string `json:"type"`
	// Value is a template.
	Value string `json:"value"`
}

// PromptCustom is the type of a [Prompt] that a partner has written.
const PromptCustom = "custom"

// MarshalJSON fills in the defaults.
func (p Prompt) MarshalJSON() ([]byte, error) {
	type plain Prompt
	return json.Marshal(plain(p.withDefaults()))
}

func (p Prompt) withDefaults() Prompt {
	p.Label = cmp.Or(p.Label, p.Key)
	p.HeaderTemplate = cmp.Or(p.HeaderTemplate, p.Label)
	p.Type = cmp.Or(p.Type, PromptCustom)
	return p
}

func checkPrompts(prompts []Prompt) error {
	for n, p := range prompts {
		switch {
		case p.Key == "":
			return badRequest(indexed("prompts", n) + " must have a key")
		case p.Type != "" && p.Type != PromptCustom:
			return badRequest(indexed("prompts", n) + ".type must be " + PromptCustom)
		}
	}
	return nil
}

// SkillRef attaches a skill to an intellect.
type SkillRef struct {
	ID string `json:"id"`
	// Mode is one of [SkillModes].
	Mode string `json:"mode"`
	// Condition is a bare expression such as sys__avatar_enabled, without {{ }};
	// "" always holds.
	Condition string `json:"condition,omitempty"`
}

// Modes of a skill (management-api.md, "intellectConfig").
const (
	// SkillAdhoc: the model loads the skill when it needs it.
	SkillAdhoc = "adhoc"
	// SkillAdhocSave: as adhoc, and it stays for the rest of the thread.
	SkillAdhocSave = "adhoc-save"
	// SkillPreloaded: the skill is part of the prompt from the start.
	SkillPreloaded = "preloaded"
)

// SkillModes are the values of [SkillRef].Mode.
var SkillModes = []string{SkillAdhoc, SkillAdhocSave, SkillPreloaded}

// ThinkingLevels are the values of [ModelConfiguration].ThinkingLevel. service.md does
// not show them; these are the ones of OpenAI-compatible services.
var ThinkingLevels = []string{"none", "minimal", "low", "medium", "high"}

// SummaryContentTypes are the values of [AvatarSummaryConfig].ContentType. service.md
// shows only text, the default.
var SummaryContentTypes = []string{"text", "markdown", "html", "json"}

// ModelConfiguration chooses the model and how it answers. Zero fields are the service's
// defaults.
type ModelConfiguration struct {
	ModelID string `json:"model_id,omitempty"`
	// MaxOutputTokens bounds one answer.
	MaxOutputTokens int `json:"max_output_tokens,omitempty"`
	// ThinkingLevel is one of [ThinkingLevels].
	ThinkingLevel string `json:"thinking_level,omitempty"`
	// Temperature is from 0 to 1; nil is the service's default.
	Temperature *float64 `json:"temperature,omitempty"`
}

// AvatarSummaryConfig configures the summary of a conversation at its end.
type AvatarSummaryConfig struct {
	// Prompt tells the model what to do; "" is the service's own.
	Prompt string `json:"prompt,omitempty"`
	// Analysis are the keys that the model fills in, each with what it means. Empty
	// means the one key summary.
	Analysis map[string]string `json:"analysis,omitempty"`
	// Template is the text of the summary; each {{ key }} in it must be a key of
	// Analysis. "" means {{ summary }}.
	Template string `json:"template,omitempty"`
	// ContentType is one of [SummaryContentTypes]; "" means text.
	ContentType string `json:"content_type,omitempty"`
}

// MCPServer is an external server of tools.
type MCPServer struct {
	Name string `json:"name"`
	// URL is absolute, http or https.
	URL string `json:"url"`
	// Headers may refer to secrets, as in "Bearer {{ secrets.CRM }}".
	Headers map[string]string `json:"headers,omitempty"`
	// AllowedTools are the tools of the server that may be called; nil is all of them.
	AllowedTools []string `json:"allowed_tools,omitempty"`
}

// MCPServers are servers, in JSON an object by their names (management-api.md, F.6,
// setMcpServers).
type MCPServers []MCPServer

// MarshalJSON writes the object.
func (s MCPServers) MarshalJSON() ([]byte, error) {
	type server struct { // without the name
		URL          string            `json:"url"`
		Headers      map[string]string `json:"headers,omitempty"`
		AllowedTools []string          `json:"allowed_tools,omitempty"`
	}
	byName := make(map[string]server, len(s))
	for _, m := range s {
		byName[m.Name] = server{m.URL, m.Headers, m.AllowedTools}
	}
	return json.Marshal(byName)
}

// UnmarshalJSON reads the object; the servers are in the order of their names.
func (s *MCPServers) UnmarshalJSON(data []byte) error {
	var byName map[string]MCPServer
	if err := json.Unmarshal(data, &byName); err != nil {
		return err
	}
	*s = make(MCPServers, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		m := byName[name]
		m.Name = name
		*s = append(*s, m)
	}
	return nil
}

// UserPropertiesForm asks visitors for properties of theirs (management-api.md, F.6). The
// service sets ID, Title and SecondaryTitle.
type UserPropertiesForm struct {
	ID             string `json:"id,omitempty"`
	Title          string `json:"title,omitempty"`
	SecondaryTitle string `json:"secondary_title,omitempty"`
	// CallStage is one of [CallStages].
	CallStage string `json:"call_stage"`
	// Properties are what is asked for, at least one.
	Properties []FormProperty `json:"properties"`
}

// FormProperty is one question of a [UserPropertiesForm].
type FormProperty struct {
	Key string `json:"key"`
	// Type is one of [ArgTypes]; "" is str.
	Type string `json:"type"`
}

// CallStages are when a form is shown (management-api.md, F.6, CALL_STAGES).
var CallStages = []string{"start", "middle", "end"}

// SecretNames are the names of secrets, sorted. Values in a reply are discarded while it
// is decoded.
type SecretNames []string

// UnmarshalJSON keeps the names of an object, or a list of names.
func (s *SecretNames) UnmarshalJSON(data []byte) error {
	var values map[string]json.RawMessage
	var names []string
	if json.Unmarshal(data, &values) == nil {
		names = slices.AppendSeq([]string{}, maps.Keys(values)) // nil would mean unknown
	} else if json.Unmarshal(data, &names) != nil {
		return nil
	}
	slices.Sort(names)
	*s = names
	return nil
}

// MaxKnowledgeIDs is how many knowledge records an intellect may have
// (management-api.md, "intellectConfig").
const MaxKnowledgeIDs = 1

// The checks of fields. Each error is bad_request unless another code is named.

func (m *ModelConfiguration) check() error {
	if m == nil {
		return nil
	}
	switch {
	case strings.ContainsAny(m.ModelID, " \t\r\n"):
		return badRequest("model_id must not have spaces in it")
	case m.MaxOutputTokens < 0:
		return badRequest("max_output_tokens must be a positive integer")
	case m.ThinkingLevel != "" && !slices.Contains(ThinkingLevels, m.ThinkingLevel):
		return oneOf("thinking_level", m.ThinkingLevel, ThinkingLevels)
	case m.Temperature != nil && !(*m.Temperature >= 0 && *m.Temperature <= 1): // NaN too
		return badRequest("temperature must be a number from 0 to 1")
	case *m == ModelConfiguration{}:
		return badRequest("model_configuration must have a field; nil clears it")
	}
	return nil
}

// checkOpening refuses what a spoken text must not contain: names that the service does
// not set, a token and secrets.
func checkOpening(phrase string) error {
	if phrase == SilentOpening {
		return nil
	}
	for _, f := range LintPrompt(phrase, PromptContext{Spoken: true}) {
		if f.Severity == SeverityError {
			return badRequest("opening_phrase: " + f.Detail)
		}
	}
	return nil
}

func (c *AvatarSummaryConfig) check() error {
	if c == nil {
		return nil
	}
	if err := oneOfOrEmpty("content_type", c.ContentType, SummaryContentTypes); err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(c.Analysis))
	for _, key := range keys {
		if !secretName(key) {
			return badRequest("analysis: the key " + strconv.Quote(key) + " must be a name of letters, digits and _")
		}
	}
	if len(keys) == 0 {
		keys = []string{"summary"}
	}
	if _, open := template.Parse(c.Template); open >= 0 {
		return badRequest("template: the braces {{ and }} must come in pairs")
	}
	for _, name := range template.Names(c.Template) {
		if !slices.Contains(keys, name) {
			return badRequest("template: {{ " + name + " }} must be a key of the analysis: " + strings.Join(keys, ", "))
		}
	}
	return nil
}

func checkSkills(refs []SkillRef) error {
	ids := make([]string, len(refs))
	for n, ref := range refs {
		ids[n] = ref.ID
		if err := oneOf(indexed("skill_ids", n)+".mode", ref.Mode, SkillModes); err != nil {
			return err
		}
		if strings.Contains(ref.Condition, "{{") || strings.Contains(ref.Condition, "}}") {
			return badRequest(indexed("skill_ids", n) + ".condition must be a bare expression such as sys__avatar_enabled, without {{ }}")
		}
	}
	return uniqueIDs("skill_ids", ids)
}

func checkKnowledge(ids []int64) error {
	if len(ids) > MaxKnowledgeIDs {
		return badRequest("knowledge_ids must have at most " + strconv.Itoa(MaxKnowledgeIDs) + " id")
	}
	for n, id := range ids {
		if err := recordID(indexed("knowledge_ids", n), id); err != nil {
			return err
		}
	}
	return nil
}

// recordID checks the id of a knowledge record, which may be 0 (management-api.md,
// "knowledge").
func recordID(field string, id int64) error {
	if id < 0 {
		return badRequest(field + " must be an integer that is not negative")
	}
	return nil
}

// checkCapabilities returns unknown_capability for an unknown name.
func checkCapabilities(states map[string]string) error {
	_, err := converse.MergeCapabilities(nil, states)
	return err
}

// checkSecrets refuses the mask as a value, because the service would keep the stored
// value instead.
func checkSecrets(values map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case !secretName(name):
			return badRequest("secrets: " + strconv.Quote(name) + " must be a name of letters, digits and _")
		case values[name] == mask:
			return badRequest("secrets: the value of " + name + " must not be " + mask + ", which stands for a value that is not shown")
		case values[name] == "":
			return badRequest("secrets: the value of " + name + " must not be empty; delete the secret instead")
		}
	}
	return nil
}

// checkMCPServers returns invalid_url for an address that is not http or https.
func checkMCPServers(servers []MCPServer) error {
	names := make([]string, len(servers))
	for n, s := range servers {
		if err := required(indexed("mcp_servers", n)+".name", s.Name); err != nil {
			return err
		}
		if slices.Contains(names[:n], s.Name) {
			return badRequest("mcp_servers must have each name once")
		}
		names[n] = s.Name
		if err := httpURL(indexed("mcp_servers", n)+".url", s.URL); err != nil {
			return err
		}
	}
	return nil
}

func checkForms(forms []UserPropertiesForm) error {
	for n, form := range forms {
		field := indexed("user_properties_forms", n)
		if err := oneOf(field+".call_stage", form.CallStage, CallStages); err != nil {
			return err
		}
		if len(form.Properties) == 0 {
			return badRequest(field + " must have a property")
		}
		var keys []string
		for m, p := range form.Properties {
			at := indexed(field+".properties", m)
			if !secretName(p.Key) {
				return badRequest(at + ".key must be a name of letters, digits and _")
			}
			if err := oneOfOrEmpty(at+".type", p.Type, ArgTypes); err != nil {
				return err
			}
			keys = append(keys, p.Key)
		}
		if err := uniqueIDs(field+".properties", keys); err != nil {
			return err
		}
	}
	return nil
}

// withTypes returns forms whose properties all have a type.
func withTypes(forms []UserPropertiesForm) []UserPropertiesForm {
	typed := slices.Clone(forms)
	for n := range typed {
		typed[n].Properties = slices.Clone(typed[n].Properties)
		for m := range typed[n].Properties {
			p := &typed[n].Properties[m]
			p.Type = cmp.Or(p.Type, ArgTypes[0])
		}
	}
	return typed
}

// mergeCapabilities returns stored with changes applied. The error is capability_vetoed
// for turning a disabled capability on or off, unless force is set.
func mergeCapabilities(stored, changes map[string]string, force bool) (map[string]string, error) {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if stored[name] == CapabilityDisabled && changes[name] == CapabilityOn && !force {
			return nil, fault.New(fault.CapabilityVetoed, "the capability "+name+" is disabled; set it with Force")
		}
	}
	merged := map[string]string{}
	maps.Copy(merged, stored)
	maps.Copy(merged, changes)
	return merged, nil
}
