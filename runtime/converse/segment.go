package converse

import "encoding/json"

// Type names what a segment is. The set is open: an unknown type is passed on,
// never an error (wire-protocol §4.4.2).
type Type string

// The known segment types (wire-protocol §4.4.2).
const (
	InitResponse     Type = "init_response"
	Think            Type = "think"
	Text             Type = "text"
	Avatar           Type = "avatar"
	AvatarFiller     Type = "avatar-filler"
	Tool             Type = "tool"
	ToolResponse     Type = "tool_response"
	WidgetPiece      Type = "unisphere-tool"
	Share            Type = "share"
	Thread           Type = "thread"
	Error            Type = "error"
	Interruption     Type = "interruption"
	UserInterruption Type = "user-interruption"
	Keepalive        Type = "keepalive"
)

// Spoken reports whether t is text that a person hears or reads as the answer:
// exactly text, avatar and avatar-filler (wire-protocol §4.4.2).
func (t Type) Spoken() bool { return t == Text || t == Avatar || t == AvatarFiller }

// Segment is one piece of brain output (wire-protocol §4.4.1).
type Segment struct {
	Role string `json:"role"`
	Type Type   `json:"type"`

	// Content is a string for most types, and for spoken ones always; an object
	// for interruption, and sometimes for widgets and share.
	Content json.RawMessage `json:"content"`

	SegmentNumber int     `json:"segmentNumber"` // position in the message
	Elapsed       float64 `json:"et"`            // seconds since the turn began

	SpeechID  string `json:"speechId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"`
	MessageID string `json:"messageId,omitempty"`

	SegmentStart bool `json:"segmentStart,omitempty"`
	SegmentEnd   bool `json:"segmentEnd,omitempty"`
	IsFinal      bool `json:"isFinal,omitempty"`

	// OpeningPhrase is set on the init_response of a live session only.
	OpeningPhrase string `json:"openingPhrase,omitempty"`

	Metadata     *Metadata     `json:"metadata,omitempty"`
	ToolMetadata *ToolMetadata `json:"tool_metadata,omitempty"`

	// Extra holds the keys of the object that have no field above, as they came:
	// the service may add keys that an application knows before this runtime does.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Metadata describes widgets and interruptions (wire-protocol §4.4.1).
type Metadata struct {
	WidgetName      string `json:"widgetName,omitempty"`
	RuntimeName     string `json:"runtimeName,omitempty"`
	Subtype         string `json:"subtype,omitempty"`
	ToolName        string `json:"tool_name,omitempty"`
	ToolDisplayName string `json:"tool_display_name,omitempty"`

	// Extra holds the other keys, as they came.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// ToolMetadata describes a tool call (wire-protocol §9.8).
type ToolMetadata struct {
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Args            json.RawMessage `json:"args,omitempty"`
	Type            string          `json:"type"` // api, client, csv, code
	WaitForResponse bool            `json:"wait_for_response"`

	// Extra holds the other keys, as they came.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// String returns s as the content of a segment.
func String(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil { // a string always marshals
		return json.RawMessage(`""`)
	}
	return b
}

// ContentString returns the content as text: a JSON string decoded, anything
// else as it stands.
func (s *Segment) ContentString() string {
	text, ok := unquote(s.Content)
	if !ok && string(s.Content) != "null" {
		return string(s.Content)
	}
	return text
}

// keySize is about what a key that has no field takes beside its text, in bytes.
const keySize = 64

// Size is about how many bytes s takes of what its service decides on.
func (s *Segment) Size() int {
	n := len(s.Role) + len(s.Type) + len(s.Content) + len(s.SpeechID) + len(s.ThreadID) + len(s.MessageID) +
		len(s.OpeningPhrase) + sizeOf(s.Extra)
	if m := s.Metadata; m != nil {
		n += len(m.WidgetName) + len(m.RuntimeName) + len(m.Subtype) + len(m.ToolName) + len(m.ToolDisplayName) + sizeOf(m.Extra)
	}
	if m := s.ToolMetadata; m != nil {
		n += len(m.ID) + len(m.Name) + len(m.Args) + len(m.Type) + sizeOf(m.Extra)
	}
	return n
}

func sizeOf(extra map[string]json.RawMessage) (n int) {
	for key, value := range extra {
		n += keySize + len(key) + len(value)
	}
	return n
}
