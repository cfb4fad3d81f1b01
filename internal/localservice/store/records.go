package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
)

// AgentRecord is the stored form of an agent, which combines avatars and an intellect.
// [Agent] is the assembled form.
type AgentRecord struct {
	AgentFields
	Name     string `json:"name,omitempty"` // of a built-in agent, as in "receptionist"
	WidgetID string `json:"widgetId"`

	// NewIntellect is stored with the agent, which gets its id; nil keeps that of Intellect.
	NewIntellect *Intellect `json:"-"`
}

// AgentFields are what a partner sets of an agent (service.md, Agent; management-api.md, F.3).
// Their JSON is that of the API.
type AgentFields struct {
	DisplayName string       `json:"displayName"`
	Intellect   IntellectRef `json:"intellect"`
	AvatarIDs   []string     `json:"avatarIds"` // empty for a voice without a picture
	AdminTags   []string     `json:"adminTags"`
	ScreenShare struct {
		Enabled bool `json:"enabled"`
	} `json:"screenShare"`
	// SpeechLanguage is that of speech recognition, "" for the intellect's. It is of this
	// service alone.
	SpeechLanguage string `json:"speechLanguage"`
	// MaxConversationLength is the length of a live conversation in seconds; 0 is the limit
	// of the service, if it has one.
	MaxConversationLength int `json:"maxConversationLength,omitempty"`
	// WidgetConfig and EmbedConfig are JSON objects for the page, which the service
	// passes on unchanged; nil is none.
	WidgetConfig json.RawMessage `json:"widgetConfig,omitempty"`
	EmbedConfig  json.RawMessage `json:"embedConfig,omitempty"`
}

// IntellectRef names the intellect of an agent.
type IntellectRef struct {
	Type string `json:"intellectType"` // OwnIntellect
	ID   int64  `json:"id"`
}

// OwnIntellect is the only type of an [IntellectRef] here: an intellect of this service.
const OwnIntellect = "genie"

// NewAgent returns the fields of an agent without an intellect.
func NewAgent() AgentFields { return AgentFields{AvatarIDs: []string{}, AdminTags: []string{}} }

// Intellect is the AI configuration of an agent. Its JSON is that of the API, except that
// the values of secrets never leave the service.
type Intellect struct {
	Type                 string              `json:"type"` // InternalIntellect
	Name                 string              `json:"name"`
	Description          string              `json:"description"`
	Tags                 []string            `json:"tags"`
	Status               *int                `json:"status"` // nil is IntellectActive
	BaseDirective        string              `json:"base_directive"`
	Prompts              []Prompt            `json:"prompts"`
	Glossary             string              `json:"glossary"`
	ToolIDs              []string            `json:"tool_ids"`
	KnowledgeIDs         []int64             `json:"knowledge_ids"`
	SkillIDs             []SkillRef          `json:"skill_ids"`
	AllowClientVariables bool                `json:"allow_client_variables"`
	Model                *ModelConfiguration `json:"model_configuration"` // nil is the service's
	OpeningPhrase        *string             `json:"opening_phrase"`      // nil is [DefaultOpening]
	ThreadStartTools     []string            `json:"thread_start_tools"`
	Summary              *SummaryConfig      `json:"avatar_summary_config"` // nil is [DefaultSummary]
	// Capabilities are the stored states, on, off or disabled. They replace the defaults,
	// and a client may replace them unless they are disabled (protocol §4.9).
	Capabilities map[string]string    `json:"capabilities"`
	MCPServers   map[string]MCPServer `json:"mcp_servers"` // by their names
	Secrets      map[string]string    `json:"secrets"`
	Language     string               `json:"language"` // BCP 47, as in "en-US"

	UserPropertiesForms json.RawMessage `json:"user_properties_forms"`
	BrainConfig         json.RawMessage `json:"brain_config"`
	Metadata            json.RawMessage `json:"metadata"`

	// The fields below are extensions of this service.
	TapToTalk            bool     `json:"tap_to_talk"`
	CameraAnalysis       bool     `json:"camera_analysis"`
	InterruptionsEnabled bool     `json:"interruptions_enabled"`
	Starters             []string `json:"starter_questions"`
	Script               string   `json:"script"`
}

// InternalIntellect is the only type of an [Intellect] here.
const InternalIntellect = "internal"

// States of an [Intellect] (management-api.md, F.6). They are stored only: every intellect
// answers.
const (
	IntellectDeleting = 0
	IntellectPending  = 1 // of a new one that names none
	IntellectActive   = 2
)

// BrainConfig is what this service uses of the brain configuration of an intellect
// (management-api.md, F.6, "Brain config input").
type BrainConfig struct {
	Model              string `json:"agent_llm"` // unless the intellect has a model of its own
	PerMinute          *int   `json:"rate_limit_per_minute"`
	PerHour            *int   `json:"rate_limit_per_hour"`
	AnonymousPerMinute *int   `json:"anonymous_rate_limit_per_minute"`
	AnonymousPerHour   *int   `json:"anonymous_rate_limit_per_hour"`
}

// TurnLimits are how many turns a user may have; nil is no limit.
type TurnLimits struct{ PerMinute, PerHour *int }

// Brain returns the brain configuration. One of an unknown form is empty.
func (in *Intellect) Brain() (b BrainConfig) {
	if len(in.BrainConfig) > 0 && json.Unmarshal(in.BrainConfig, &b) != nil {
		return BrainConfig{}
	}
	return b
}

// DefaultOpening is the opening phrase of an intellect that has none.
const DefaultOpening = "Hello! I'm {{ agent_name }}. How can I help you?"

// NewIntellect returns an intellect with default settings.
func NewIntellect() Intellect {
	return Intellect{
		Type: InternalIntellect, AllowClientVariables: true, InterruptionsEnabled: true, Language: "en-US",
		Prompts: []Prompt{}, ToolIDs: []string{}, KnowledgeIDs: []int64{}, SkillIDs: []SkillRef{},
		ThreadStartTools: []string{}, Capabilities: map[string]string{}, MCPServers: map[string]MCPServer{},
		Secrets: map[string]string{}, Starters: []string{}, Tags: []string{},
	}
}

// Prompt is a part of the system prompt, after the base directive (management-api.md, F.6).
type Prompt struct {
	Key            string `json:"key"`
	Label          string `json:"label,omitempty"`
	HeaderTemplate string `json:"headerTemplate,omitempty"`
	Type           string `json:"type,omitempty"` // CustomPrompt
	Value          string `json:"value"`          // a template
}

// CustomPrompt is the only type of a [Prompt].
const CustomPrompt = "custom"

// Shown reports whether the prompt is part of what the model reads: it needs a header and a
// value.
func (p *Prompt) Shown() bool {
	return strings.TrimSpace(p.Value) != "" && strings.TrimSpace(p.HeaderTemplate) != ""
}

// SkillRef attaches a skill to an intellect.
type SkillRef struct {
	ID        string `json:"id"`
	Mode      string `json:"mode"`
	Condition string `json:"condition,omitempty"` // a bare expression; "" always holds
}

// Modes of a [SkillRef].
const (
	SkillAdhoc     = "adhoc"      // read by the brain when it needs it
	SkillAdhocSave = "adhoc-save" // and kept for the rest of the thread
	SkillPreloaded = "preloaded"  // in every prompt
)

// ModelConfiguration chooses the model and how it answers.
type ModelConfiguration struct {
	ModelID         string   `json:"model_id,omitempty"`
	MaxOutputTokens int64    `json:"max_output_tokens,omitempty"`
	ThinkingLevel   string   `json:"thinking_level,omitempty"`
	Temperature     *float64 `json:"temperature,omitempty"` // 0 to 1
}

// SummaryConfig configures the summary of a finished thread.
type SummaryConfig struct {
	Prompt      string            `json:"prompt,omitempty"`
	Analysis    map[string]string `json:"analysis,omitempty"` // keys and what to find out for each
	Template    string            `json:"template,omitempty"` // over the keys of Analysis
	ContentType string            `json:"content_type,omitempty"`
}

// DefaultSummary returns the configuration of an intellect that has none.
func DefaultSummary() SummaryConfig {
	return SummaryConfig{
		Analysis: map[string]string{"summary": "A summary of the conversation in a few sentences."},
		Template: "{{ summary }}", ContentType: "text",
	}
}

// MCPServer is a server of tools outside the service, reached by the streamable HTTP of
// the Model Context Protocol. Its JSON is that of the API (management-api.md, F.6,
// setMcpServers).
type MCPServer struct {
	Name    string            `json:"-"`
	URL     string            `json:"url"`     // a template
	Headers map[string]string `json:"headers"` // templates
	// AllowedTools are the names of the tools that are used; nil means all.
	AllowedTools []string `json:"allowed_tools"`

	// Type and Transport are always the same, prompts and resources are not used.
	Type             string   `json:"type"`
	Transport        string   `json:"transport"`
	AllowedPrompts   []string `json:"allowed_prompts"`
	AllowedResources []string `json:"allowed_resources"`
}

// Avatar is a voice with a face.
type Avatar struct {
	Name          string      `json:"name,omitempty"`
	Voice         AvatarVoice `json:"voice"`
	Visual        *Visual     `json:"visual,omitempty"`
	Face          *Item       `json:"face,omitempty"` // with a background
	Background    *Background `json:"background,omitempty"`
	TemplateID    string      `json:"templateId,omitempty"`
	OpeningPhrase string      `json:"openingPhrase,omitempty"`
}

// AvatarVoice is a voice of the catalog.
type AvatarVoice struct {
	ID    string   `json:"id"`
	Speed *float64 `json:"speed,omitempty"`
}

// Visual is a visual of the catalog.
type Visual struct {
	ID            string          `json:"id"`
	MotionControl json.RawMessage `json:"motionControl,omitempty"`
}

// Motion is how much a visual moves, each from 0 to 1; nil is the default.
type Motion struct {
	Speaking    *float64 `json:"speaking"`
	NonSpeaking *float64 `json:"nonSpeaking"`
}

// Motion reads MotionControl. Other fields of it are ignored.
func (v *Visual) Motion() (m Motion, err error) {
	if len(v.MotionControl) == 0 {
		return m, nil
	}
	err = json.Unmarshal(v.MotionControl, &m)
	for _, amount := range []*float64{m.Speaking, m.NonSpeaking} {
		if amount != nil && (*amount < 0 || *amount > 1) {
			err = errors.Join(err, errMotion)
		}
	}
	return m, err
}

var errMotion = errors.New("motion is a number from 0 to 1")

// Item is an item of the catalog.
type Item struct {
	ID string `json:"id"`
}

// Background is what is shown behind a face.
type Background struct {
	Type  string `json:"type"` // color or visual
	Value string `json:"value,omitempty"`
}

// Tool is a tool that intellects refer to.
type Tool struct {
	Name   string     `json:"name"`
	Config ToolConfig `json:"config"`
}

// Skill is an instruction that intellects refer to.
type Skill struct {
	Name         string `json:"name"`
	Description  string `json:"description"`
	Instructions string `json:"instructions"`
}

const agentKind = "agent"

// AgentRecords is the collection of agents.
func AgentRecords(s *Store) Collection[AgentRecord] {
	c := Collection[AgentRecord]{store: s, kind: agentKind, newID: UUID, references: (*AgentRecord).references}
	c.parts = func(ctx context.Context, tx *sql.Tx, partnerID int64, a *AgentRecord) error {
		if a.NewIntellect == nil {
			return nil
		}
		made, err := Intellects(s).create(ctx, tx, partnerID, *a.NewIntellect)
		a.Intellect, a.NewIntellect = IntellectRef{Type: OwnIntellect, ID: made.Number()}, nil
		return err
	}
	return c
}

// Intellects is the collection of intellects. Their ids are numbers, the configuration
// ids of tokens.
func Intellects(s *Store) Collection[Intellect] {
	return Collection[Intellect]{store: s, kind: IntellectKind, references: (*Intellect).references}
}

// Avatars is the collection of avatars.
func Avatars(s *Store) Collection[Avatar] {
	return Collection[Avatar]{store: s, kind: AvatarKind, newID: HexID, namedBy: []idList{{agentKind, "avatarIds"}}, references: (*Avatar).references}
}

// ToolRecords is the collection of tools. Their names are unique within a partner.
func ToolRecords(s *Store) Collection[Tool] {
	c := Collection[Tool]{store: s, kind: ToolKind, newID: UUID, name: func(t *Tool) string { return t.Name }}
	c.namedBy = []idList{{IntellectKind, "tool_ids"}, {IntellectKind, "thread_start_tools"}}
	return c
}

// Skills is the collection of skills. Their names are unique within a partner.
func Skills(s *Store) Collection[Skill] {
	c := Collection[Skill]{store: s, kind: SkillKind, newID: UUID, name: func(t *Skill) string { return t.Name }}
	c.namedBy = []idList{{IntellectKind, "skill_ids"}}
	return c
}
