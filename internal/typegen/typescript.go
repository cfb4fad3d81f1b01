package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// renamed contains the TypeScript names of Go types whose own names would be ambiguous or
// already exist in TypeScript.
var renamed = map[string]string{
	"runtime/avatar.State":          "AvatarState",
	"runtime/event.Mode":            "AvatarMode",
	"runtime/chat.State":            "ChatState",
	"runtime/chat.StateChanged":     "ChatStateChanged",
	"runtime/chat.Snapshot":         "ChatSnapshot",
	"runtime/agent.State":           "AgentState",
	"runtime/agent.Mode":            "AgentMode",
	"runtime/agent.StateChanged":    "AgentStateChanged",
	"runtime/agent.Snapshot":        "AgentSnapshot",
	"runtime/avatar.Capabilities":   "AgentAbilities",
	"runtime/event.Channel":         "MediaChannel",
	"runtime/media.Stats":           "SessionStats",
	"runtime/converse.Metadata":     "SegmentMetadata",
	"runtime/converse.ToolMetadata": "SegmentTool",
	"runtime/converse.Type":         "SegmentType",
	"runtime/converse.Turn":         "ChatTurn",
	"runtime/converse.Call":         "TurnCall",
	"runtime/converse.Malformed":    "MalformedWidget",
	"runtime/event.Audit":           "AuditEvent",
	"runtime/appinit.Result":        "AppInitResult",
	"runtime/appinit.Avatar":        "AvatarPreview",
	"runtime/visitor.Transcript":    "ThreadTranscript",
	"runtime/visitor.Turn":          "TranscriptTurn",
	"runtime/httpclient.Response":   "ResponseInfo",
}

// types converts Go types to TypeScript, each type once.
type types struct {
	module   *module
	names    map[*decl]string
	order    []*decl
	written  map[*decl]string
	events   map[string]string // names of events in JavaScript, by their Go type
	payloads map[*decl]string  // the same of the types that are declared because an event has them
	options  map[string]string // names of options in JavaScript, by their Go field
}

// property is one field of a JavaScript object.
type property struct {
	name, typ, doc string
	optional       bool
}

// properties lists the fields of a struct and its embedded structs, as
// internal/jsbridge converts them.
func (t *types) properties(d *decl) ([]property, error) {
	s, ok := d.expr.(*ast.StructType)
	if !ok {
		return nil, fmt.Errorf("%s must be a struct", d.name)
	}
	var list []property
	for _, f := range s.Fields.List {
		tag, err := tagOf(f)
		if err != nil {
			return nil, err
		}
		name, options := nameOf(tag)
		if len(f.Names) == 0 {
			inner, err := t.module.resolve(d, deref(f.Type))
			if err != nil || inner == nil {
				return nil, fmt.Errorf("%s must embed only types of this module: %v", d.name, err)
			}
			more, err := t.properties(inner)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
			continue
		}
		if name == "-" {
			continue
		}
		if name == "" {
			return nil, fmt.Errorf("%s.%s has no name in JavaScript", d.name, f.Names[0].Name)
		}
		typ := strings.ReplaceAll(tag.Get("ts"), "'", `"`)
		for word := range strings.FieldsSeq(typ) {
			if named := d.pkg.types[word]; named != nil {
				if _, err := t.use(named); err != nil {
					return nil, err
				}
			}
		}
		if typ == "" {
			var err error
			if typ, err = t.typeOf(d, f.Type); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", d.name, f.Names[0].Name, err)
			}
		}
		optional := strings.Contains(options, "omitempty")
		if _, pointer := f.Type.(*ast.StarExpr); pointer && !optional && tag.Get("ts") == "" {
			typ += " | null"
		}
		doc := strings.TrimSpace(f.Doc.Text() + f.Comment.Text())
		list = append(list, property{name, typ, t.prose(doc, d), optional})
	}
	return list, nil
}

func deref(e ast.Expr) ast.Expr {
	if star, ok := e.(*ast.StarExpr); ok {
		return star.X
	}
	return e
}

// typeOf returns the TypeScript type of an expression in the declaration of d.
func (t *types) typeOf(d *decl, e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return t.typeOf(d, e.X)
	case *ast.ArrayType:
		elem, err := t.typeOf(d, e.Elt)
		if strings.Contains(elem, " ") {
			elem = "(" + elem + ")"
		}
		return elem + "[]", err
	case *ast.MapType:
		elem, err := t.typeOf(d, e.Value)
		return "Record<string, " + elem + ">", err
	case *ast.Ident:
		switch e.Name {
		case "string":
			return "string", nil
		case "bool":
			return "boolean", nil
		case "int", "int64", "uint64", "float64":
			return "number", nil
		case "any":
			return "unknown", nil
		}
	case *ast.SelectorExpr:
		switch fmt.Sprint(e.X, ".", e.Sel) {
		case "json.RawMessage":
			return "unknown", nil
		case "time.Duration":
			return "number", nil
		case "fault.Error":
			return "AgentError", nil
		case "fault.Code":
			return "WarningCode", nil // codes of errors are in AgentError, so this is that of a warning
		}
	}
	named, err := t.module.resolve(d, e)
	if err != nil || named == nil {
		return "", fmt.Errorf("there is no TypeScript type for %T: %v", e, err)
	}
	return t.use(named)
}

// use declares a named type unless it is already declared, and returns its TypeScript name.
func (t *types) use(d *decl) (string, error) {
	if name, ok := t.names[d]; ok {
		return name, nil
	}
	name := cmp.Or(renamed[d.pkg.dir+"."+d.name], d.name)
	for other, taken := range t.names {
		if taken == name {
			return "", fmt.Errorf("%s.%s and %s.%s have the same name in TypeScript", d.pkg.dir, d.name, other.pkg.dir, other.name)
		}
	}
	t.names[d] = name
	text, err := t.declare(d, name)
	t.written[d] = text
	t.order = append(t.order, d)
	return name, err
}

func (t *types) declare(d *decl, name string) (string, error) {
	text := t.prose(d.doc, d)
	if event, ok := t.payloads[d]; ok {
		text = "The payload of `" + event + "`." // what the event means is said where it is listed
	}
	if rest, ok := strings.CutPrefix(text, d.name+" "); ok {
		text = name + " " + rest
	}
	doc := comment("", text)
	switch d.expr.(type) {
	case *ast.StructType:
		list, err := t.properties(d)
		if err != nil {
			return "", err
		}
		if d.pkg.dir+"."+d.name == segmentType {
			return segments(d, doc, name, list), nil
		}
		return doc + "export interface " + name + " {\n" + members(list) + "}\n", nil
	case *ast.Ident:
		values := closed(d)
		switch name {
		case "EndReason":
			values = append(values, "ErrorCode")
		case "TimingPhase": // includes the phases of the peers
			media, err := t.module.load("runtime/media")
			if err != nil {
				return "", err
			}
			values = append(values, media.consts["Phase"]...)
		}
		if len(values) == 0 {
			return fmt.Sprintf("%sexport type %s = string\n", doc, name), nil
		}
		if d.pkg.dir == "runtime/converse" {
			values = append(values, "(string & {})") // the set is open
		}
		return fmt.Sprintf("%sexport type %s = %s\n", doc, name, strings.Join(values, " | ")), nil
	default:
		typ, err := t.typeOf(d, d.expr)
		return fmt.Sprintf("%sexport type %s = %s\n", doc, name, typ), err
	}
}

// closed returns the values of a named type, as literals, except for the empty one.
func closed(d *decl) []string {
	return slices.DeleteFunc(slices.Clone(d.pkg.consts[d.name]), func(v string) bool { return v == `""` })
}

// members returns the lines of an interface's properties.
func members(list []property) string {
	var b strings.Builder
	for _, p := range list {
		mark := ""
		if p.optional {
			mark = "?"
		}
		fmt.Fprintf(&b, "%s  %s%s: %s\n", comment("  ", p.doc), p.name, mark, p.typ)
	}
	return b.String()
}

// segmentType is the only struct with a property (content) whose type depends on another
// one (type).
const segmentType = "runtime/converse.Segment"

// segments declares a segment as a union of interfaces, so that TypeScript narrows its
// content by its type.
func segments(d *decl, doc, name string, list []property) string {
	var spoken, other []string
	for _, value := range d.pkg.consts["Type"] {
		if text, err := strconv.Unquote(value); err == nil && converse.Type(text).Spoken() {
			spoken = append(spoken, value)
		} else {
			other = append(other, value)
		}
	}
	var shared, content []property
	for _, p := range list {
		switch p.name {
		case "type":
		case "content":
			content = append(content, p)
		default:
			shared = append(shared, p)
		}
	}
	return "/** What a segment of any type has. */\nexport interface AnySegment {\n" + members(shared) + "}\n" +
		"\n/** A segment of the answer that is spoken or shown. */\nexport interface SpokenSegment extends AnySegment {\n  type: " +
		strings.Join(spoken, " | ") + "\n  content: string\n}\n" +
		"\n/** A segment of another type; the service may send types that are not listed. */\nexport interface OtherSegment extends AnySegment {\n  type: " +
		strings.Join(other, " | ") + "\n" + members(content) + "}\n" +
		"\n" + doc + "export type " + name + " = SpokenSegment | OtherSegment\n"
}

// payload returns the type of an event's payload. Empty structs share one type.
func (t *types) payload(e event) (string, error) {
	s, ok := e.decl.expr.(*ast.StructType)
	switch {
	case e.name == "connectTimings":
		return "Timings", nil
	case !ok:
		return t.typeOf(e.decl, e.decl.expr)
	case e.name == "error":
		// An exception of a listener is emitted as an error event too.
		return "AgentError | Error", nil
	case len(s.Fields.List) == 0:
		return "Nothing", nil
	case len(s.Fields.List) == 1 && len(s.Fields.List[0].Names) == 0:
		return t.typeOf(e.decl, s.Fields.List[0].Type) // an event that embeds a shared type
	}
	t.payloads[e.decl] = e.name
	return t.use(e.decl)
}

// prose returns a Go comment with the names of JavaScript: Go types of events are replaced
// by the names of the events, fields by the names of their properties.
func (t *types) prose(doc string, d *decl) string {
	doc = plain(doc)
	if s, ok := d.expr.(*ast.StructType); ok {
		for _, f := range s.Fields.List {
			if f.Tag == nil || len(f.Names) == 0 {
				continue
			}
			tag, _ := tagOf(f)
			if name, _ := nameOf(tag); name != "-" {
				doc = replaceWord(doc, f.Names[0].Name, "`"+name+"`")
			}
		}
	}
	for goName, name := range t.events {
		doc = strings.ReplaceAll(doc, "["+goName+"]", "`"+name+"`")
		if rest, ok := strings.CutPrefix(doc, goName+" "); ok && goName == d.name {
			doc = "`" + name + "` " + rest
		}
	}
	return links.Replace(doc)
}

// plain returns the text of a Go comment on one line, without references to the service's
// specification, which users of the package don't have.
func plain(doc string) string {
	return specified.ReplaceAllString(strings.Join(strings.Fields(doc), " "), "")
}

// specified matches a remark in parentheses that refers to the specification.
var specified = regexp.MustCompile(` \(((protocol|session) (§|Appendix)|service\.md\b)[^()]*\)`)

// links removes the brackets of links in Go comments.
var links = strings.NewReplacer("[", "", "]", "")

// replaceWord replaces word where it is a whole word of text.
func replaceWord(text, word, by string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		if bare := strings.Trim(w, "(),.;:"); bare == word {
			words[i] = strings.Replace(w, word, by, 1)
		}
	}
	return strings.Join(words, " ")
}

// comment returns a doc comment with its line break, "" for no text.
func comment(indent, text string) string {
	if text == "" {
		return ""
	}
	const width = 96
	if len(indent)+len(text) <= width {
		return indent + "/** " + text + " */\n"
	}
	var b strings.Builder
	b.WriteString(indent + "/**")
	line := width
	for _, word := range strings.Fields(text) {
		if line += 1 + len(word); line > width {
			b.WriteString("\n" + indent + " *")
			line = len(indent) + 3 + len(word)
		}
		b.WriteString(" " + word)
	}
	b.WriteString("\n" + indent + " */\n")
	return b.String()
}

// file returns the text of events.ts.
func (t *types) file() (string, error) {
	lists := make([][]event, len(kinds))
	for i, k := range kinds {
		events, err := t.module.events(k)
		if err != nil {
			return "", err
		}
		lists[i] = events
		for _, e := range events {
			t.events[e.decl.name] = e.name
		}
	}
	var b strings.Builder
	b.WriteString("\nimport type { ErrorCode, Timings, WarningCode } from \"./codes.js\"\n")
	b.WriteString("import type { AgentError } from \"../core/errors.js\"\n\nexport type { TimingPhase, Timings } from \"./codes.js\"\n")
	live := map[string]*decl{} // the events of a live session, of which the other kinds have some
	for i, k := range kinds {
		var shared []string
		own := ""
		for _, e := range lists[i] {
			if live[e.name] == e.decl {
				shared = append(shared, strconv.Quote(e.name))
				continue
			}
			payload, err := t.payload(e)
			if err != nil {
				return "", fmt.Errorf("event %s: %w", e.name, err)
			}
			own += fmt.Sprintf("%s  %s: %s\n", comment("  ", t.prose(e.decl.doc, e.decl)), e.name, payload)
			if i == 0 {
				live[e.name] = e.decl
			}
		}
		extends := ""
		if len(shared) > 0 {
			extends = " extends Pick<\n  " + kinds[0].name + "Events,\n  " + wrapped(shared) + "\n>"
		}
		fmt.Fprintf(&b, "\n/** Events of %s, by name, with their payloads. */\nexport interface %sEvents%s {\n%s}\n", k.title, k.name, extends, own)
		if err := t.useOf(k.dir, "Snapshot"); err != nil { // the type of a session's properties
			return "", err
		}
	}
	if err := t.useOf("runtime/converse", "Turn"); err != nil { // the result of a turn in text
		return "", err
	}
	if err := t.useOf("runtime/media", "Stats"); err != nil { // the result of getStats
		return "", err
	}
	b.WriteString("\n/** The payload of events without data. */\nexport type Nothing = Record<string, never>\n")
	for _, d := range t.order {
		b.WriteString("\n" + t.written[d])
	}
	var mic []fault.Code
	for _, info := range fault.Codes() {
		if info.Group == fault.GroupMicrophone {
			mic = append(mic, info.Code)
		}
	}
	fmt.Fprintf(&b, "\n/** The codes after which the service has ended the session. */\nexport const FATAL_ERROR_CODES = [%s] as const\n", strings.Join(quoted(fault.FatalCodes[:]), ", "))
	fmt.Fprintf(&b, "\n/** The codes of a microphone that is missing, as errors and as warnings. */\nexport const MIC_ERROR_CODES = [%s] as const\n", strings.Join(quoted(mic), ", "))
	fmt.Fprintf(&b, "\n/** The opening phrase of an agent without an opening turn. */\nexport const SILENT_OPENING = %q\n", signaling.SilentOpening)
	fmt.Fprintf(&b, "\n/** The text in its place in `transcript`, `speechChunk` and `avatarStopTalking`. */\nexport const SILENT_OPENING_LABEL = %q\n", avatar.SilentOpeningLabel)
	return b.String(), nil
}

// timings returns the types of the phases of a connect, which errors have too: so they are not in
// events.ts, which has errors.
func (t *types) timings() (string, error) {
	p, err := t.module.load("runtime/avatar")
	if err != nil {
		return "", err
	}
	phase := p.types["TimingPhase"]
	if _, err := t.use(phase); err != nil {
		return "", err
	}
	return "\n" + t.written[phase] +
		"\n/** Milliseconds from the connect call, by phase. */\nexport type Timings = Partial<Record<TimingPhase, number>>\n", nil
}

// wrapped joins names to a union, in lines of about the width of a comment.
func wrapped(names []string) string {
	var b strings.Builder
	line := 0
	for i, name := range names {
		between := " | "
		if i == 0 {
			between = ""
		} else if line+len(name) > 90 {
			between, line = "\n  | ", 0
		}
		b.WriteString(between + name)
		line += len(name) + len(" | ")
	}
	return b.String()
}

// useOf declares a type of the package in dir that no event uses.
func (t *types) useOf(dir, name string) error {
	p, err := t.module.load(dir)
	if err != nil {
		return err
	}
	_, err = t.use(p.types[name])
	return err
}
