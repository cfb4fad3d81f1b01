package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// methodKinds are the fields of page.Methods and their names in TypeScript.
var methodKinds = [...]struct{ field, name string }{{"Sync", "sync"}, {"Async", "async"}, {"Streams", "stream"}}

// methodNames are the names of an object's methods, by the field of page.Methods that has
// them. The program uses the keys of that literal as the names, so that each is declared once.
type methodNames map[string][]string

// methodTables are the functions that return page.Methods, and the interface for each.
// sessionMethods is the one of every session; the others have what only their kind has.
var methodTables = []struct{ dir, function, name, doc string }{
	{"internal/page", "methods", sessionMethods, "every session"},
	{"cmd/wasm", "avatarMethods", "AvatarMethods", "a live session, besides those of every session"},
	{"internal/page", "ChatMethods", "ChatMethods", "a chat session, besides those of every session"},
	{"cmd/wasm", "agentMethods", "AgentMethods", "an agent session, besides those of every session"},
	{"internal/page", "visitorMethods", "ProgramMethods", "a program, besides those that make its sessions and end it"},
}

const sessionMethods = "SessionMethods"

// addMethods records the names in the literals of type Methods in f.
func (p *pkg) addMethods(f *ast.FuncDecl) {
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || typeName(lit.Type) != "Methods" || len(lit.Elts) == 0 {
			return true
		}
		names := methodNames{}
		for field, table := range pairs(lit) {
			table, ok := table.(*ast.CompositeLit)
			if !ok {
				continue
			}
			for key := range pairs(table) {
				names[field] = append(names[field], key)
			}
		}
		p.methods[f.Name.Name] = names
		return false
	})
}

// typeName returns the name of a type, without its package.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// pairs returns the values of a literal by the names of its fields, or by its keys.
func pairs(lit *ast.CompositeLit) map[string]ast.Expr {
	values := map[string]ast.Expr{}
	for _, e := range lit.Elts {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch key := pair.Key.(type) {
		case *ast.Ident:
			values[key.Name] = pair.Value
		case *ast.BasicLit:
			if name, err := strconv.Unquote(key.Value); err == nil && key.Kind == token.STRING {
				values[name] = pair.Value
			}
		}
	}
	return values
}

// methodsText returns the text of methods.ts.
func (m *module) methodsText() (string, error) {
	tables := map[string]methodNames{}
	for _, t := range methodTables {
		p, err := m.load(t.dir)
		if err != nil {
			return "", err
		}
		if tables[t.name] = p.methods[t.function]; tables[t.name] == nil {
			return "", fmt.Errorf("%s: the function %s must return a literal of type Methods", t.dir, t.function)
		}
	}
	shareMethods(tables)
	var b strings.Builder
	b.WriteString(`
/** The names of the methods of a kind of object: those that return at once, those that return a promise, and those that return a sequence. */
export interface MethodNames {
  sync: string
  async: string
  stream: string
}
`)
	for _, t := range methodTables {
		fmt.Fprintf(&b, "\n/** The methods of %s. */\nexport interface %s extends MethodNames {\n", t.doc, t.name)
		for _, k := range methodKinds {
			fmt.Fprintf(&b, "  %s:%s\n", k.name, union(tables[t.name][k.field]))
		}
		b.WriteString("}\n")
	}
	return b.String(), nil
}

// shareMethods moves what each kind of session declares, because its function has another
// type there, to the methods of every session.
func shareMethods(tables map[string]methodNames) {
	kinds := []methodNames{tables["AvatarMethods"], tables["ChatMethods"], tables["AgentMethods"]}
	for _, k := range methodKinds {
		for _, name := range slices.Clone(kinds[0][k.field]) {
			if slices.ContainsFunc(kinds, func(n methodNames) bool { return !slices.Contains(n[k.field], name) }) {
				continue
			}
			for _, n := range kinds {
				n[k.field] = slices.DeleteFunc(n[k.field], func(other string) bool { return other == name })
			}
			tables[sessionMethods][k.field] = append(tables[sessionMethods][k.field], name)
		}
	}
}

// union returns the type of the names, never for none.
func union(names []string) string {
	if len(names) == 0 {
		return " never"
	}
	var b strings.Builder
	for _, name := range slices.Sorted(slices.Values(names)) {
		fmt.Fprintf(&b, "\n    | %q", name)
	}
	return b.String()
}
