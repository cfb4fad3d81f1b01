package converse

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/jsonbounds"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Call is a tool call parsed from a segment (protocol §10.5).
type Call struct {
	Name string `json:"name"`
	// Args is an object, empty if the call has none.
	Args json.RawMessage `json:"args" ts:"Record<string, unknown>"`
	// Fused are earlier argument objects in the same segment that belong to
	// other tools, in order (protocol §10.6).
	Fused []json.RawMessage `json:"fusedArgs,omitempty" ts:"Record<string, unknown>[]"`
	// ID is the id with which the call is answered, empty if the call has none.
	ID string `json:"id,omitempty"`
	// Kind is the kind of tool: api, client, csv or code.
	Kind string `json:"type,omitempty"`
	// Blocking reports that the brain waits for an answer.
	Blocking bool `json:"waitForResponse"`
	// Raw is the content the call was parsed from.
	Raw string `json:"raw"`
}

var noArgs = json.RawMessage(`{}`)

// ParseCall reads a [Tool] segment; ok is false if it names no tool. The arguments
// are those in the text, or else those in ToolMetadata. A call is a text, namely a
// name followed by JSON: content of another type is no call, even if its JSON has text
// before its first brace (protocol §4.4.2, §10.5).
func ParseCall(s *Segment) (c Call, ok bool) {
	if c.Raw, ok = s.Content.(string); !ok {
		return Call{}, false
	}
	name, rest := c.Raw, ""
	if i := strings.IndexByte(c.Raw, '{'); i >= 0 {
		name, rest = c.Raw[:i], c.Raw[i:]
	}
	if c.Name = strings.TrimSpace(name); c.Name == "" {
		return c, false
	}
	objects := splitObjects(rest)
	c.Args = noArgs
	if n := len(objects); n > 0 {
		c.Args = objects[n-1]
		if n > 1 {
			c.Fused = objects[:n-1]
		}
	}
	if m := s.ToolMetadata; m != nil {
		c.ID, c.Kind, c.Blocking = m.ID, m.Type, m.WaitForResponse
		if len(objects) == 0 && json.Valid(m.Args) && isObject(m.Args) {
			c.Args = m.Args
		}
	}
	return c, true
}

// splitObjects returns the consecutive JSON objects at the start of s, and stops
// at the first that is broken.
func splitObjects(s string) (objects []json.RawMessage) {
	for decoder := json.NewDecoder(strings.NewReader(s)); ; {
		var object json.RawMessage
		if decoder.Decode(&object) != nil || object[0] != '{' {
			return objects
		}
		objects = append(objects, object)
	}
}

// ResponseName returns the tool that a [ToolResponse] segment names, "" if none
// (protocol §10.5).
func ResponseName(s *Segment) string {
	text := strings.TrimSpace(s.ContentString())
	end := strings.IndexFunc(text, unicode.IsSpace)
	if end < 0 {
		return ""
	}
	name, rest := text[:end], strings.TrimSpace(text[end:])
	if !strings.HasPrefix(rest, "responded") {
		return ""
	}
	if after := strings.TrimPrefix(rest, "responded"); after != "" && isWord(after[0]) {
		return ""
	}
	return name
}

func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// Consent is a tool that runs only when the user has authorised it
// (protocol §10.8).
type Consent struct {
	// AuthURL is the address at which the user authorises it: absolute, http or https.
	AuthURL         string `json:"authUrl"`
	ToolName        string `json:"toolName,omitempty"`
	ToolDisplayName string `json:"toolDisplayName,omitempty"`
}

// ParseConsent reads an [Interruption] that asks for consent; ok is false for any
// other segment, and for one without an address that a page may open.
func ParseConsent(s *Segment) (c Consent, ok bool) {
	if s.Type != Interruption || s.Metadata == nil || s.Metadata.Subtype != "oauth_required" {
		return Consent{}, false
	}
	values, isObject := parseJSON(s.ContentString())
	if !isObject {
		values = map[string]any{"auth_url": s.ContentString()}
	}
	c = Consent{ToolName: s.Metadata.ToolName, ToolDisplayName: s.Metadata.ToolDisplayName}
	c.AuthURL = (&body{values: values}).webLink("auth_url")
	return c, c.AuthURL != ""
}

// Canonical returns JSON with the keys of every object sorted and no white
// space, so that equal values have equal text; numbers are kept as they were written. What
// is nested deeper than [MaxDepth] keeps the order of its keys.
func Canonical(raw json.RawMessage) string {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	switch {
	case !json.Valid(raw):
		return string(raw)
	case jsonbounds.Check(raw, MaxDepth, 0) != nil:
		var out bytes.Buffer
		_ = json.Compact(&out, raw) // it is valid
		return out.String()
	}
	_ = decoder.Decode(&value)
	sorted, _ := json.Marshal(value) // made of JSON's own types
	return string(sorted)
}

// Dispatcher decides which tool calls of a turn run: each distinct call once,
// and the argument objects of fused calls under the name that their result has
// (protocol §10.6). Calls beyond [MaxKept] bytes in a turn don't run, because every
// call that has run is remembered. The zero value is ready.
type Dispatcher struct {
	fired map[string]bool // name and canonical arguments, this turn
	named map[string]bool // names dispatched, this piece of speech
	fused []json.RawMessage
	bytes int // of calls, this turn
}

// NewTurn clears everything. It is called when a new turn begins, not when one continues.
func (d *Dispatcher) NewTurn() { *d = Dispatcher{} }

// NewSpeech removes the fused calls that no result has named. It is called when a piece of
// speech begins.
func (d *Dispatcher) NewSpeech() { d.named, d.fused = nil, nil }

// Call reports whether c is to run.
func (d *Dispatcher) Call(c Call) bool {
	if d.bytes += len(c.Raw) + len(c.Args); d.bytes > MaxKept || !d.fire(c) {
		return false
	}
	d.fused = append(d.fused, c.Fused...)
	return true
}

// Response returns the fused call that a tool's result names, if any.
func (d *Dispatcher) Response(s *Segment) (Call, bool) {
	name := ResponseName(s)
	if name == "" || d.named[name] || len(d.fused) == 0 {
		return Call{}, false
	}
	c := Call{Name: name, Args: d.fused[0], Raw: s.ContentString()}
	d.fused = d.fused[1:]
	return c, d.fire(c)
}

func (d *Dispatcher) fire(c Call) bool {
	key := c.Name + ":" + Canonical(c.Args)
	if d.fired[key] {
		return false
	}
	if d.fired == nil {
		d.fired = map[string]bool{}
	}
	if d.named == nil {
		d.named = map[string]bool{}
	}
	d.fired[key] = true
	d.named[c.Name] = true
	return true
}

// ArgsSchema checks the arguments of a tool, top level only
// (protocol §10.7).
type ArgsSchema map[string]ArgSchema

// ArgSchema is the rule for one argument.
type ArgSchema struct {
	Type     string `json:"type"` // str, int, float, bool, list, dict; "" is any
	Required bool   `json:"required"`
	Enum     []any  `json:"enum"`
}

var argTypes = []string{"str", "int", "float", "bool", "list", "dict"}

// ArgTypes returns the types that an argument of a tool can have.
func ArgTypes() []string { return slices.Clone(argTypes) }

// Valid returns a bad_request if the schema has an unknown type.
func (s ArgsSchema) Valid() error {
	for name, rule := range s {
		if rule.Type != "" && !slices.Contains(argTypes, rule.Type) {
			return fault.New(fault.BadRequest, "the type of the argument "+name+" must be one of "+strings.Join(argTypes, ", "))
		}
	}
	return nil
}

// Check returns what is wrong with args, one sentence for each argument, in the
// order of their names.
func (s ArgsSchema) Check(args json.RawMessage) []string {
	var values map[string]json.RawMessage // as they were written: 1.0 is not an int
	if json.Unmarshal(args, &values) != nil || values == nil {
		return []string{"the arguments must be an object"}
	}
	var errs []string
	for name, rule := range s {
		value, ok := values[name]
		switch {
		case !ok:
			if rule.Required {
				errs = append(errs, name+" is missing")
			}
		case !isType(value, rule.Type):
			errs = append(errs, name+" must be of type "+rule.Type)
		case rule.Enum != nil && !oneOf(value, rule.Enum):
			errs = append(errs, name+" is not one of the allowed values")
		}
	}
	slices.Sort(errs)
	return errs
}

func isType(value json.RawMessage, name string) bool {
	text := strings.TrimSpace(string(value))
	if text == "" {
		return false
	}
	switch name {
	case "str":
		return text[0] == '"'
	case "int":
		_, err := strconv.ParseInt(text, 10, 64)
		return err == nil
	case "float":
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	case "bool":
		return text == "true" || text == "false"
	case "list":
		return text[0] == '['
	case "dict":
		return text[0] == '{'
	}
	return true
}

func oneOf(value json.RawMessage, enum []any) bool {
	for _, e := range enum {
		b, err := json.Marshal(e)
		if err == nil && Canonical(b) == Canonical(value) {
			return true
		}
	}
	return false
}
