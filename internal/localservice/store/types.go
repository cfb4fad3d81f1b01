package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"time"
)

// Partner is an account. Secret is its admin secret: it mints tokens and must
// never be logged.
type Partner struct {
	ID     int64
	Secret string
}

// Agent is an agent assembled from its parts.
type Agent struct {
	ID        string // UUID
	PartnerID int64
	Name      string // of a built-in agent, as in "receptionist", else the display name
	ConfigID  int64  // of its intellect, the id in geniegpcid
	WidgetID  string
	AvatarIDs []string
	Profile   Profile

	WidgetConfig, EmbedConfig json.RawMessage // for the page, nil for none
}

// Profile describes how an agent looks, speaks and thinks, for use in a conversation. It
// is assembled from an [AgentRecord], its [Intellect] and the records that these refer to.
type Profile struct {
	// Intellect has the knowledge that the agent may use, and the model of its brain
	// configuration unless it has one of its own.
	Intellect

	DisplayName string
	// Opening is a template over request variables and sys__*. The phrase "<blank>" is a
	// silent opening (protocol §7.6).
	Opening string

	AudioMode   bool
	ScreenShare bool

	// Turns are the limits of a user with an id, Anonymous those of every other one.
	Turns, Anonymous TurnLimits

	// MaxConversation is how long a live conversation may be; 0 is the limit of the
	// service, if it has one.
	MaxConversation time.Duration

	Avatar *AvatarProfile // nil for an agent without one

	Tools      []ToolDef
	StartTools []ToolDef // run when a thread begins
	Skills     []AttachedSkill
	Servers    []MCPServer // their tools are added to Tools for each turn
}

// AvatarProfile is how an agent looks and sounds: an [Avatar] with what it refers to. An item that no longer exists
// leaves its fields empty.
type AvatarProfile struct {
	ID, Name string

	VoiceID       string
	VoiceName     string
	VoiceLanguage string
	Speed         float64 // of the voice, 0 for the usual one

	// Face is the name of the preset visual that resembles the avatar's visual or face most.
	Face string
	// Speaking and NonSpeaking are the motion of the visual, 0 to 1; nil is the default.
	Speaking, NonSpeaking *float64
}

// AttachedSkill is a skill with the way in which an intellect uses it.
type AttachedSkill struct {
	Skill
	Ref SkillRef
}

// Tool returns the tool with that name.
func (p *Profile) Tool(name string) (ToolDef, bool) {
	for _, t := range p.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return ToolDef{}, false
}

// DefaultAgentID labels threads of tokens that name no agent (service.md,
// Thread).
const DefaultAgentID = "default"

// States of a thread.
const (
	ThreadActive    = "active"
	ThreadCompleted = "completed"
)

// Thread is a stored dialogue. Its JSON is that of the API.
type Thread struct {
	ID        string         `json:"id"` // UUID
	PartnerID int64          `json:"-"`
	UserID    string         `json:"user_id"`  // "" for an anonymous visitor
	TokenID   string         `json:"-"`        // of the token that created it
	Widget    bool           `json:"-"`        // that is a widget's token; only [Store.CreateThread] reads it
	AgentID   string         `json:"agent_id"` // DefaultAgentID when the token named none
	ConfigID  int64          `json:"-"`
	Title     string         `json:"title"`
	Status    string         `json:"status"`
	ContextID string         `json:"-"`
	Vars      map[string]any `json:"-"` // request variables merged over HTTP turns
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`

	ThreadMetadata `json:"thread_metadata"`

	// Changed are the keys of the analysis to which [Store.UpdateThread] has given a
	// new value.
	Changed []string `json:"-"`
	// Depth is how many events led to an update, 0 if a client made it. It is not stored.
	Depth int `json:"-"`
}

// ThreadMetadata is what is known about a conversation.
type ThreadMetadata struct {
	Analysis map[string]any `json:"analysis"`
	Outcome
}

// Role is the role of a message's author. Transcripts contain it as it is.
type Role string

// The roles of a message.
const (
	Human   Role = "human"
	AI      Role = "ai"
	Opening Role = "opening"
	System  Role = "system" // for the brain alone; it is not spoken
)

// Part is one piece of a message: spoken text, or a widget.
type Part struct {
	Type     string          `json:"type"`
	Content  json.RawMessage `json:"content"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Message is one line of a thread.
type Message struct {
	ID        string // UUID
	ThreadID  string // "" for a shared copy
	PartnerID int64
	UserID    string
	ConfigID  int64
	// SharedFrom is, of a shared copy, the thread of its original; "" if the reader may not
	// know it.
	SharedFrom string
	Role       Role
	ReplyTo    string // of an answer: the id of the line it answers
	Title      string // of a shared copy
	Parts      []Part
	// Unfinished marks an answer that is still being given, or that was cut off when
	// the service ended.
	Unfinished bool
	Followups  []string  // questions that an answer offers, for [Store.AddMessage]
	Rating     *Feedback // nil without a rating
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Feedback is a rating of an answer. Its JSON is that of the API (service.md, Message,
// feedback row).
type Feedback struct {
	MessageID  string    `json:"message_id"`
	ThreadID   string    `json:"thread_id"` // "" for a shared copy
	ConfigID   int64     `json:"genie_id,string"`
	UserID     string    `json:"user_id"`
	IsPositive bool      `json:"is_positive"`
	Comment    string    `json:"comment"`
	CreatedAt  time.Time `json:"created_at"`
	UpdatedAt  time.Time `json:"updated_at"`
}

// Passage is a piece of text that an agent can answer from.
type Passage struct {
	Title   string // of the document
	Heading string // of the section, "" at the top of the document
	Body    string // Markdown
	Source  string // the file it came from, "" for a text of a partner's own
	EntryID string // of the source in its record
	Line    int    // of the document on which Body begins, from 1
}

// Scope is the access of a caller. The zero scope has access to nothing.
type Scope struct {
	PartnerID int64
	Admin     bool // every thread of the partner
	UserID    string
	TokenID   string
	Widget    bool // a visitor of a page, known by its token alone
}

// Reaches reports whether the scope may access, by id, what a caller with the scope
// owner has created.
func (s Scope) Reaches(owner Scope) bool {
	switch {
	case s.PartnerID != owner.PartnerID:
		return false
	case s.Admin:
		return true
	default:
		return s.UserID == owner.UserID && (!s.Widget || s.TokenID == owner.TokenID) && (s.UserID != "" || s.Widget == owner.Widget)
	}
}

// rater identifies the caller as the author of a rating of a shared message.
func (s Scope) rater() string {
	if s.UserID != "" {
		return "user:" + s.UserID
	}
	return "token:" + s.TokenID
}

// ThreadLabel returns a label for a thread in logs. The id itself must not be logged,
// because it gives access to an anonymous thread.
func ThreadLabel(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:labelBytes])
}

// labelBytes are enough of a hash to tell threads apart, in bytes.
const labelBytes = 6

// traceparent is the W3C form of a trace context.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// TraceLabel returns a client's traceparent for the log, "" for what is none.
func TraceLabel(text string) string { return traceparent.FindString(text) }

// Page selects a part of a list.
type Page struct{ Offset, Limit int }

// DefaultProfile is the persona that answers for a token without a brain
// configuration.
func DefaultProfile() Profile {
	in := persona("Alex", "Hello! I'm Alex, the default persona. How can I help you?")
	return Profile{Intellect: in, DisplayName: in.Name, Opening: *in.OpeningPhrase}
}
