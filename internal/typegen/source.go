package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

const modulePath = "github.com/agentruntime/agentruntime/"

// module reads packages of this module as syntax trees.
type module struct {
	root     string
	packages map[string]*pkg // by directory
}

// pkg contains the declarations of one package.
type pkg struct {
	dir     string
	types   map[string]*decl
	consts  map[string][]string    // values of string constants, by the name of their type
	lists   map[string][]string    // literals in lists of strings, by the name of the list's variable
	tables  map[string][][2]string // keys and values of maps from strings to variables, by the name of the map
	names   map[string]string      // names of events, by the name of their type
	methods map[string]methodNames // names in literals of type Methods, by the name of the function around them
}

// decl is one type.
type decl struct {
	pkg  *pkg
	name string
	doc  string
	expr ast.Expr
	file *ast.File // for its imports

	alias bool
}

// event is one event: its name in JavaScript and its type.
type event struct {
	name string
	decl *decl
}

// page selects the files that are built for a page.
var page = build.Context{GOOS: "js", GOARCH: "wasm", Compiler: "gc"}

func (m *module) load(dir string) (*pkg, error) {
	if p, ok := m.packages[dir]; ok {
		return p, nil
	}
	entries, err := os.ReadDir(filepath.Join(m.root, dir))
	if err != nil {
		return nil, err
	}
	p := &pkg{dir: dir, types: map[string]*decl{}, consts: map[string][]string{}, lists: map[string][]string{}, tables: map[string][][2]string{}, names: map[string]string{}, methods: map[string]methodNames{}}
	m.packages[dir] = p
	for _, e := range entries {
		ours, err := page.MatchFile(filepath.Join(m.root, dir), e.Name())
		if err != nil {
			return nil, err
		}
		if !ours || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(m.root, dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.add(file)
	}
	return p, nil
}

func (p *pkg) add(file *ast.File) {
	for _, d := range file.Decls {
		if typ := named(d); typ != "" {
			if name, ok := returned(d.(*ast.FuncDecl)); ok {
				p.names[typ] = name
			}
		}
		if f, ok := d.(*ast.FuncDecl); ok {
			p.addMethods(f)
		}
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				doc := cmp.Or(spec.Doc.Text(), g.Doc.Text())
				p.types[spec.Name.Name] = &decl{pkg: p, name: spec.Name.Name, doc: doc, expr: spec.Type, file: file, alias: spec.Assign.IsValid()}
			case *ast.ValueSpec:
				p.addConst(spec)
			}
		}
	}
}

// addConst records the value of a constant that is declared with a named type and a string
// literal, and the elements of a list of strings or of a map from strings to variables.
func (p *pkg) addConst(spec *ast.ValueSpec) {
	for i, v := range spec.Values {
		list, ok := v.(*ast.CompositeLit)
		if !ok {
			continue
		}
		name := spec.Names[i].Name
		for _, e := range list.Elts {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				p.lists[name] = append(p.lists[name], lit.Value)
			}
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				key, isLiteral := pair.Key.(*ast.BasicLit)
				value, isName := pair.Value.(*ast.Ident)
				if isLiteral && isName {
					p.tables[name] = append(p.tables[name], [2]string{strings.Trim(key.Value, `"`), value.Name})
				}
			}
		}
	}
	typ, ok := spec.Type.(*ast.Ident)
	if !ok {
		return
	}
	for _, v := range spec.Values {
		if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			p.consts[typ.Name] = append(p.consts[typ.Name], lit.Value)
		}
	}
}

// events lists the events of a kind of session: those that its files declare, in the order
// of their Name methods, and those that it passes on.
func (m *module) events(k kind) ([]event, error) {
	var events []event
	for _, name := range k.files {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(m.root, name), nil, 0)
		if err != nil {
			return nil, err
		}
		declared, err := m.declared(path.Dir(name), file)
		if err != nil {
			return nil, err
		}
		passed, err := m.passedOn(path.Dir(name), file)
		if err != nil {
			return nil, err
		}
		events = append(append(events, declared...), passed...)
	}
	return events, nil
}

// declared lists the events that file, of the package in dir, declares.
func (m *module) declared(dir string, file *ast.File) ([]event, error) {
	p, err := m.load(dir)
	if err != nil {
		return nil, err
	}
	var events []event
	for _, d := range file.Decls {
		typ := named(d)
		if typ == "" {
			continue
		}
		name, ok := p.names[typ]
		if !ok || p.types[typ] == nil {
			return nil, fmt.Errorf("%s: the Name method of %s must return a literal and do nothing else", dir, typ)
		}
		events = append(events, event{name, p.types[typ]})
	}
	return events, nil
}

// passedOn lists the events in the cases of the function passedOn in file, which decides what
// a session of several transports emits of their events.
func (m *module) passedOn(dir string, file *ast.File) (events []event, err error) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "passedOn" {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			c, ok := n.(*ast.CaseClause)
			if !ok || err != nil {
				return err == nil
			}
			for _, expr := range c.List {
				typ, failed := m.resolve(&decl{file: file}, expr)
				if failed != nil || typ == nil || typ.pkg.names[typ.name] == "" {
					err = fmt.Errorf("%s: a case of passedOn is no event: %v", dir, failed)
					return false
				}
				events = append(events, event{typ.pkg.names[typ.name], typ})
			}
			return true
		})
	}
	return events, err
}

// passedOnText returns the TypeScript of the names of the events that an agent session passes on.
func (m *module) passedOnText() (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(m.root, agentEvents), nil, 0)
	if err != nil {
		return "", err
	}
	events, err := m.passedOn(path.Dir(agentEvents), file)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`
/** The events of a live or a chat session that an agent session emits too. */
export const passedOn: ReadonlySet<string> = new Set([
`)
	for _, e := range events {
		fmt.Fprintf(&b, "  %q,\n", e.name)
	}
	b.WriteString("])\n")
	return b.String(), nil
}

// named returns the name of the type whose Name method is d, "" if d is not a Name method.
func named(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil || f.Name.Name != "Name" {
		return ""
	}
	typ, ok := f.Recv.List[0].Type.(*ast.Ident)
	if !ok {
		return ""
	}
	return typ.Name
}

// returned returns the string literal that the only statement of f returns.
func returned(f *ast.FuncDecl) (text string, ok bool) {
	if f.Body == nil || len(f.Body.List) != 1 {
		return "", false
	}
	r, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return "", false
	}
	lit, ok := r.Results[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// resolve finds the type that expr refers to in the declaration of d. It is nil for
// types of other modules.
func (m *module) resolve(d *decl, expr ast.Expr) (*decl, error) {
	found, err := m.lookUp(d, expr)
	if err == nil && found != nil && found.alias {
		return m.resolve(found, found.expr)
	}
	return found, err
}

func (m *module) lookUp(d *decl, expr ast.Expr) (*decl, error) {
	switch expr := expr.(type) {
	case *ast.Ident:
		return d.pkg.types[expr.Name], nil
	case *ast.SelectorExpr:
		x, ok := expr.X.(*ast.Ident)
		if !ok {
			return nil, nil
		}
		for _, spec := range d.file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			dir, ours := strings.CutPrefix(path, modulePath)
			if !ours || filepath.Base(path) != x.Name {
				continue
			}
			p, err := m.load(dir)
			if err != nil {
				return nil, err
			}
			return p.types[expr.Sel.Name], nil
		}
	}
	return nil, nil
}
