package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// optionType is a struct of options, with its name in TypeScript and the types that its
// interface extends.
type optionType struct {
	dir, typ, name, extends string
	checks                  string // the name of its table of checks; "" for no table
	names                   string // the list that its names are in, one of those in namesFile
	required                bool   // fields are optional only with omitempty
}

// optionTypes are the structs of options, each after those that it embeds.
var optionTypes = []optionType{
	{dir: "runtime/appinit", typ: "TURNCredentials", name: "TurnCredentials", required: true},
	{dir: "runtime/completion", typ: "Settings", name: "CompletionSettings", names: "sessionNames", checks: "completionChecks"},
	{dir: "runtime/session", typ: "Options", name: "SessionSettings", names: "sessionNames", extends: "Injected", checks: "sessionChecks"},
	{dir: "runtime/signaling", typ: "Limits", name: "Timeouts", checks: "timeoutChecks"},
	{dir: "runtime/avatar", typ: "ActionPolicy", name: "AgentActions", names: "actionNames"},
	{dir: "runtime/avatar", typ: "Options", name: "AvatarSettings", names: "sessionNames", checks: "avatarChecks"},
	{dir: "runtime/chat", typ: "Options", name: "ChatSettings", names: "sessionNames", checks: "chatChecks"},
	{dir: "runtime/agent", typ: "Options", name: "AgentSettings", names: "sessionNames", checks: "agentChecks", extends: "Pick<ChatSettings, \"kind\">, " +
		"Pick<AvatarSettings, \"conversationManagerUrl\" | \"srsBaseUrl\" | \"turnServerUrl\" | \"turnCredentials\">"},
	{dir: "runtime/appinit", typ: "Config", name: "AppInitAddresses", names: "appInitNames"},
	{dir: "runtime/visitor", typ: "Options", name: "VisitorSettings", checks: "visitorChecks"},
	{dir: "runtime/visitor", typ: "Pager", name: "Pager"},
	{dir: "runtime/visitor", typ: "ThreadQuery", name: "ThreadQuery"},
	{dir: "runtime/visitor", typ: "MessageQuery", name: "MessageQuery"},
	{dir: "runtime/chat", typ: "TurnOptions", name: "TurnSettings", names: "turnNames", checks: "turnChecks"},
	{dir: "internal/page", typ: "turnOptions", name: "ConverseSettings", names: "turnNames", checks: "converseChecks", required: true},
}

// option is one option as declared in TypeScript.
type option struct {
	property
	goName, preset, check, unit, max string
}

// optionList returns the options of d, including those of embedded structs without an
// interface of their own, and the interfaces of the other embedded structs.
func (t *types) optionList(d *decl, required bool) (list []option, extends []string, err error) {
	s, ok := d.expr.(*ast.StructType)
	if !ok {
		return nil, nil, fmt.Errorf("%s is not a struct", d.name)
	}
	for _, f := range s.Fields.List {
		tag, err := tagOf(f)
		if err != nil {
			return nil, nil, err
		}
		if len(f.Names) == 0 {
			inner, err := t.module.resolve(d, f.Type)
			if err != nil || inner == nil {
				return nil, nil, fmt.Errorf("%s must embed only types of this module: %v", d.name, err)
			}
			if o := optionTypeOf(inner); o != nil {
				extends = append(extends, o.name)
				continue
			}
			more, bases, err := t.optionList(inner, required)
			if err != nil {
				return nil, nil, err
			}
			list, extends = append(list, more...), append(extends, bases...)
			continue
		}
		name, more := nameOf(tag)
		if name == "-" || name == "" || tag.Get("ts") == "-" {
			continue
		}
		typ, err := t.optionType(d, f, tag)
		if err != nil {
			return nil, nil, fmt.Errorf("%s.%s: %w", d.name, f.Names[0].Name, err)
		}
		o := option{goName: path.Base(d.pkg.dir) + "." + d.name + "." + f.Names[0].Name, check: t.checkOf(d, f, tag)}
		o.property = property{name: name, typ: typ, doc: t.optionDoc(f), optional: !required || strings.Contains(more, "omitempty")}
		o.preset, o.unit = presetOf(f, tag)
		o.max = tag.Get("max")
		list = append(list, o)
	}
	return list, extends, nil
}

func tagOf(f *ast.Field) (reflect.StructTag, error) {
	if f.Tag == nil {
		return "", nil
	}
	text, err := strconv.Unquote(f.Tag.Value)
	return reflect.StructTag(text), err
}

// nameOf returns the name of a field in JavaScript, and what follows its name in JSON.
func nameOf(tag reflect.StructTag) (name, more string) {
	name, more, _ = strings.Cut(tag.Get("json"), ",")
	return cmp.Or(tag.Get("js"), name), more
}

func optionTypeOf(d *decl) *optionType {
	for i := range optionTypes {
		if o := &optionTypes[i]; o.dir == d.pkg.dir && o.typ == d.name {
			return o
		}
	}
	return nil
}

// optionType returns the type of an option in TypeScript.
func (t *types) optionType(d *decl, f *ast.Field, tag reflect.StructTag) (string, error) {
	if typ := tag.Get("ts"); typ != "" {
		return strings.ReplaceAll(typ, "'", `"`), nil
	}
	if values := t.valuesOf(tag); len(values) > 0 {
		return strings.Join(values, " | "), nil
	}
	return t.typeOf(d, f.Type)
}

// valuesOf returns the values that an option may have: those of its tag enum, or of the
// list in runtime/converse whose name is in its tag values.
func (t *types) valuesOf(tag reflect.StructTag) []string {
	if values := tag.Get("enum"); values != "" {
		return quoted(strings.Split(values, ","))
	}
	return t.module.packages["runtime/converse"].lists[tag.Get("values")]
}

func quoted[T ~string](values []T) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = strconv.Quote(string(v))
	}
	return list
}

// checkOf returns the check of an option as a TypeScript literal, "" for none.
func (t *types) checkOf(d *decl, f *ast.Field, tag reflect.StructTag) string {
	typ := deref(f.Type)
	switch check := tag.Get("check"); {
	case check == "-":
		return ""
	case check != "":
		return strconv.Quote(check)
	case len(t.valuesOf(tag)) > 0:
		return "[" + strings.Join(t.valuesOf(tag), ", ") + "]"
	case tag.Get("ts") == "Region":
		return "regions"
	}
	switch typ := typ.(type) {
	case *ast.FuncType:
		return `"function"`
	case *ast.ArrayType:
		return `"array"`
	case *ast.Ident:
		switch typ.Name {
		case "string":
			return `"string"`
		case "bool":
			return `"boolean"`
		case "int":
			return `"count"`
		case "float64":
			return `"number"`
		}
	}
	if isDuration(typ) {
		return `"number"`
	}
	named, err := t.module.resolve(d, typ)
	if err == nil && named != nil && len(named.pkg.consts[named.name]) > 0 {
		return "[" + strings.Join(closed(named), ", ") + "]"
	}
	return ""
}

// presetOf returns an option's default as a TypeScript literal, and its unit.
func presetOf(f *ast.Field, tag reflect.StructTag) (preset, unit string) {
	preset, given := tag.Lookup("default")
	typ := deref(f.Type)
	switch kind := fmt.Sprint(typ); {
	case isDuration(typ):
		if d, err := time.ParseDuration(preset); err == nil {
			preset = strconv.FormatInt(d.Milliseconds(), 10)
		}
		return preset, "ms"
	case !given && kind == "bool" && typ == f.Type:
		return "false", ""
	case given && kind != "bool" && kind != "int" && kind != "float64":
		return strconv.Quote(preset), ""
	}
	return preset, ""
}

func isDuration(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && fmt.Sprint(sel.X, ".", sel.Sel) == "time.Duration"
}

// optionDoc returns the comment of an option with the names of JavaScript, without the
// option's own name at the beginning.
func (t *types) optionDoc(f *ast.Field) string {
	doc := plain(f.Doc.Text() + f.Comment.Text())
	if doc == "" {
		return ""
	}
	if len(f.Names) == 1 {
		doc = strings.TrimPrefix(doc, f.Names[0].Name+" ")
	}
	for _, verb := range []string{"is ", "are "} {
		doc = strings.TrimPrefix(doc, verb)
	}
	for goName, js := range t.options {
		doc = replaceWord(doc, goName, "`"+js+"`")
	}
	return strings.ToUpper(doc[:1]) + links.Replace(doc[1:])
}

// nameOptions collects the names of the options in JavaScript.
func (t *types) nameOptions() error {
	t.options = map[string]string{}
	for _, o := range optionTypes {
		p, err := t.module.load(o.dir)
		if err != nil {
			return err
		}
		s, ok := p.types[o.typ].expr.(*ast.StructType)
		if !ok {
			return fmt.Errorf("%s.%s must be a struct", o.dir, o.typ)
		}
		for _, f := range s.Fields.List {
			tag, err := tagOf(f)
			if err != nil {
				return err
			}
			name, _ := nameOf(tag)
			if len(f.Names) == 1 && name != "-" && name != "" && words.MatchString(f.Names[0].Name) {
				t.options[f.Names[0].Name] = name
			}
		}
	}
	return nil
}

// words matches names that can't be mistaken for a word of a sentence.
var words = regexp.MustCompile(`^[A-Z].*[a-z].*[A-Z]|^[A-Z]{2,}[a-z]`)

const optionsHeader = `
import type { AgentMode, Kickoff, ToolCall } from "./events.js"
import type { Capabilities, Injected, OwnToken, RequestVars, TraceSource } from "../core/inputs.js"
import type { TokenKind } from "./names.js"

export { capabilityNames, type TokenKind } from "./names.js"

/** How an option is checked: by its kind, which may have a largest value, or by the values that it can have. */
export type Check =
  | "string"
  | "id"
  | "boolean"
  | "number"
  | "count"
  | "integer"
  | "array"
  | "object"
  | "function"
  | "element"
  | "limits"
  | "trace"
  | "address"
  | "address,empty"
  | "socket"
  | { readonly is: "number" | "count"; readonly max: number }
  | readonly string[]

type Promised<T> = T | Promise<T>
`

// namesFile returns the text of names.ts, in which the names of unknown options are looked
// up. They are in a file of their own, because an element needs them before its session.
func (t *types) namesFile(lists map[string][]string) (string, error) {
	var b strings.Builder
	reply, ok := t.module.packages["runtime/appinit"].types["Result"].expr.(*ast.StructType)
	if !ok {
		return "", fmt.Errorf("appinit.Result must be a struct")
	}
	for _, f := range reply.Fields.List {
		tag, err := tagOf(f)
		if err != nil {
			return "", err
		}
		name, _ := nameOf(tag)
		lists["sessionNames"] = append(lists["sessionNames"], name)
	}
	for _, l := range []struct{ name, about string }{
		{"sessionNames", "The options of sessions of every kind, and what else the reply of `appInit` has, which can be spread into them."},
		{"actionNames", "The names in `agentActions`."},
		{"appInitNames", "The addresses among the options of `appInit`."},
		{"turnNames", "The options of a turn without a session, besides those of sessions."},
	} {
		slices.Sort(lists[l.name])
		names := quoted(slices.Compact(lists[l.name]))
		fmt.Fprintf(&b, "\n/** %s */\nexport const %s: readonly string[] = [\n  %s,\n]\n", l.about, l.name, strings.Join(names, ",\n  "))
	}
	return b.String(), nil
}

// optionsFile returns the texts of settings.ts, names.ts and options.md.
func (t *types) optionsFile() (text, nameLists, doc string, err error) {
	if err := t.nameOptions(); err != nil {
		return "", "", "", err
	}
	lists := map[string][]string{}
	written := len(t.order)
	var b, tables, page strings.Builder
	page.WriteString(optionsIntro)
	for _, o := range optionTypes {
		d := t.module.packages[o.dir].types[o.typ]
		list, extends, err := t.optionList(d, o.required)
		if err != nil {
			return "", "", "", err
		}
		if o.extends != "" {
			extends = append(extends, o.extends)
		}
		base := ""
		if len(extends) > 0 {
			base = " extends " + strings.Join(extends, ", ")
		}
		about, _, _ := strings.Cut(d.doc, "\n\n") // later paragraphs are for Go only
		about = sentence(t.prose(about, d), d.name)
		fmt.Fprintf(&b, "\n%sexport interface %s%s {\n", comment("", about), o.name, base)
		for _, p := range list {
			if o.names != "" {
				lists[o.names] = append(lists[o.names], p.name)
			}
			fmt.Fprintf(&b, "%s  %s\n", comment("  ", p.full()), p.member())
		}
		b.WriteString("}\n")
		if o.checks != "" {
			fmt.Fprintf(&tables, "\nexport const %s: Readonly<Record<string, Check>> = {\n", o.checks)
			for _, p := range list {
				switch {
				case p.max != "":
					fmt.Fprintf(&tables, "  %s: { is: %s, max: %s },\n", p.name, p.check, p.max)
				case p.check != "":
					fmt.Fprintf(&tables, "  %s: %s,\n", p.name, p.check)
				}
			}
			tables.WriteString("}\n")
		}
		fmt.Fprintf(&page, "\n## `%s`\n\n%s\n\n", o.name, about)
		for _, p := range list {
			preset := ""
			if p.preset != "" {
				preset = ", default `" + p.preset + "`"
			}
			if p.max != "" {
				preset += ", at most `" + p.max + "`"
			}
			about := strings.TrimSpace(p.doc + " In Go: `" + p.goName + "`")
			fmt.Fprintf(&page, "- `%s`: `%s`%s. %s\n", p.name, p.typ, preset, about)
		}
	}
	for _, name := range [][2]string{
		{"runtime/event", "Audit"},
		{"runtime/httpclient", "Response"},
		{"runtime/avatar", "SendInfo"},
		{"runtime/avatar", "AgentAction"},
		{"runtime/appinit", "Result"},
		{"runtime/visitor", "Transcript"},
	} {
		if err := t.useOf(name[0], name[1]); err != nil { // the arguments of functions among the options, and results of calls
			return "", "", "", err
		}
	}
	var apart strings.Builder // what inputs.ts needs, which settings.ts needs itself
	for _, d := range t.order[written:] {
		to := &b
		if d.name == "TokenKind" {
			to = &apart
		}
		to.WriteString("\n" + t.written[d])
	}
	fmt.Fprintf(&b, "\n/** The names of the limits in `timeouts`. */\nexport type TimeoutName = keyof Timeouts\n")
	fmt.Fprintf(&b, "\nexport const regions = [%s] as const\n\n/** The service's regions. */\nexport type Region = (typeof regions)[number]\n", strings.Join(quoted(appinit.Regions()), ", "))
	b.WriteString(filters(t.module.packages["runtime/visitor"]))
	for _, l := range []struct {
		to          *strings.Builder
		name, about string
		values      []string
	}{
		{&apart, "capabilityNames", "Names of what an agent can be allowed to do.", converse.Capabilities()},
		{&b, "reservedVars", "The variables that the service sets on every turn.", converse.ReservedVars()},
		{&b, "argTypes", "The types of a tool's arguments.", converse.ArgTypes()},
	} {
		fmt.Fprintf(l.to, "\n/** %s */\nexport const %s = [\n  %s,\n] as const\n", l.about, l.name, strings.Join(quoted(l.values), ",\n  "))
	}
	nameLists, err = t.namesFile(lists)
	return optionsHeader + b.String() + tables.String(), nameLists + apart.String(), page.String(), err
}

// filterTypes are the TypeScript types of a filter's values, by the names of the variables
// in runtime/visitor that check them.
var filterTypes = map[string]string{
	"aText": "string", "aUser": "string", "anID": "string | number", "aList": "string[]", "aSwitch": "boolean",
	"ratings": "boolean[]", "aTime": "FilterTime", "anOrder": "Order",
}

// filters declares the TypeScript types of the filters of lists.
func filters(p *pkg) string {
	var b strings.Builder
	b.WriteString("\n/** A time in a filter: RFC 3339 text, or seconds since 1970. */\nexport type FilterTime = string | number | Date\n")
	fmt.Fprintf(&b, "\n/** The order of a list. */\nexport type Order = %s\n", strings.Join(p.lists["orders"], " | "))
	for _, of := range []string{"thread", "message"} {
		fmt.Fprintf(&b, "\n/** Selects the %ss that meet all conditions. Unknown keys reject with `validation_error`. */\nexport interface %sFilter {\n",
			of, strings.ToUpper(of[:1])+of[1:])
		for _, key := range p.tables[of+"Keys"] {
			fmt.Fprintf(&b, "  %s?: %s | undefined\n", key[0], filterTypes[key[1]])
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// full returns the comment of an option with its default and its unit.
func (o *option) full() string {
	doc := o.doc
	if o.max != "" {
		doc += " At most " + o.max + "."
	}
	switch {
	case o.preset != "" && o.unit != "":
		doc += " Default " + o.preset + " " + o.unit + "."
	case o.preset != "":
		doc += " Default `" + o.preset + "`."
	case o.unit != "":
		doc += " In " + o.unit + "."
	}
	return strings.TrimSpace(doc)
}

// member returns the line of an option in its interface.
func (o *option) member() string {
	typ := o.typ
	if o.optional {
		if strings.Contains(typ, "=>") {
			typ = "(" + typ + ")"
		}
		return o.name + "?: " + typ + " | undefined"
	}
	return o.name + ": " + typ
}

// sentence returns the comment of a type without the type's Go name and the verb after it.
func sentence(doc, name string) string {
	doc = strings.TrimPrefix(doc, name+" ")
	doc = ofType.ReplaceAllString(doc, "")
	return strings.ToUpper(doc[:1]) + doc[1:]
}

var ofType = regexp.MustCompile(`^(are|is|says?) `)

const optionsIntro = `# Options

<!-- Generated from the options of each session by "go generate ./runtime/event"; don't edit. -->

Every option of the sessions, and of calls without one, by the TypeScript interface that has it. A session of a kind takes those of ` + "`SessionSettings`" + ` and
` + "`CompletionSettings`" + ` too, and a token, as ` + "`token` or `ks`" + `. Constructors throw for what is not allowed. In a page times are
milliseconds; in Go they are a ` + "`time.Duration`" + `, and a nil pointer means the default.
`
