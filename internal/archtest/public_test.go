package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// TestPublicSignaturesHaveNoInternalTypes: a program outside this module can't name a type
// of an internal package, so that it could not use what has one in its signature.
func TestPublicSignaturesHaveNoInternalTypes(t *testing.T) {
	public := 0
	for _, f := range goFiles(t) {
		area, _, _ := strings.Cut(f.dir, "/")
		switch {
		case strings.HasSuffix(f.name, "_test.go") || strings.HasSuffix(f.name, "_js.go") || strings.Contains("/"+f.dir+"/", "/internal/"):
			continue
		case area == "cmd" || area == "example" || area == "e2e" || area == "bench" || area == "tools":
			continue
		}
		public++
		parsed := must.Get(parser.ParseFile(token.NewFileSet(), filepath.Join(root, f.path), nil, parser.SkipObjectResolution))(t)
		internal := map[string]bool{}
		for _, spec := range parsed.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if !strings.Contains(path, "/internal/") {
				continue
			}
			name := path[strings.LastIndex(path, "/")+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			internal[name] = true
		}
		look := func(where string, parts ...ast.Node) {
			for _, part := range parts {
				for _, name := range namesOf(part, internal) {
					t.Errorf("%s: %s has the type %s, which a program outside this module can't name", f.path, where, name)
				}
			}
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || exportedReceiver(d.Recv)) {
					look(d.Name.Name, d.Type)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if spec.Name.IsExported() {
							look(spec.Name.Name, spec.Type)
						}
					case *ast.ValueSpec:
						for i, name := range spec.Names {
							if name.IsExported() && spec.Type != nil {
								look(name.Name, spec.Type)
							} else if name.IsExported() && i < len(spec.Values) {
								look(name.Name, spec.Values[i])
							}
						}
					}
				}
			}
		}
	}
	if public == 0 {
		t.Fatal("found no public package")
	}
}

func exportedReceiver(list *ast.FieldList) bool {
	exported := false
	ast.Inspect(list.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.IsExported() {
			exported = true
		}
		return true
	})
	return exported
}

// namesOf returns the names in n that belong to the packages, without those of unexported
// fields.
func namesOf(n ast.Node, packages map[string]bool) (names []string) {
	inSignature := map[*ast.Field]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			hidden := len(n.Names) > 0
			for _, name := range n.Names {
				hidden = hidden && !name.IsExported()
			}
			// The names of parameters and results are not fields.
			if hidden && n.Tag == nil && !inSignature[n] {
				return false
			}
		case *ast.FuncType:
			for _, list := range []*ast.FieldList{n.Params, n.Results} {
				if list != nil {
					for _, f := range list.List {
						inSignature[f] = true
					}
				}
			}
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && packages[id.Name] {
				names = append(names, id.Name+"."+n.Sel.Name)
			}
		}
		return true
	})
	return names
}
