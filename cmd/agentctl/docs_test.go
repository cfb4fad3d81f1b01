package main

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
)

//go:generate go test -run TestDocs . -update

var update = flag.Bool("update", false, "write the lists of docs/agentctl.md")

const (
	docFile  = "../../docs/agentctl.md"
	docBegin = "<!-- The lists below are generated from the commands: go generate ./cmd/agentctl -->\n"
	docEnd   = "<!-- end of the generated lists -->\n"
)

// docLists are the commands and their flags as lists in Markdown.
func docLists() string {
	var b strings.Builder
	item := func(name string, c *cli.Command) {
		fmt.Fprintf(&b, "- `%s`: %s\n", strings.TrimSpace(name+" "+c.ArgsUsage), c.Usage)
		for _, f := range c.Flags {
			about, value := f.(cli.DocGenerationFlag).GetUsage(), ""
			if begin, rest, found := strings.Cut(about, "`"); found {
				var end string
				value, end, _ = strings.Cut(rest, "`")
				about = begin + value + end
				value = " " + strings.ToUpper(value)
			}
			fmt.Fprintf(&b, "  - `-%s%s`: %s\n", f.Names()[0], value, about)
		}
	}
	head := func(title, about string) {
		fmt.Fprintf(&b, "\n### %s\n\n%s.\n\n", title, strings.ToUpper(about[:1])+about[1:])
	}
	root := newRoot()
	for _, c := range root.Commands {
		if len(c.Commands) == 0 {
			head(c.Name, c.Usage)
			item(c.Name, c)
			continue
		}
		head(c.Name, c.Usage)
		for _, sub := range c.Commands {
			item(c.Name+" "+sub.Name, sub)
		}
	}
	head("All commands", "flags that every command takes")
	item("agentctl", &cli.Command{Usage: root.Usage, Flags: root.Flags})
	return b.String() + "\n"
}

// The lists of the docs are those of the commands, and the docs name every field that a
// file can have.
func TestDocs(t *testing.T) {
	text := must.Get(os.ReadFile(docFile))(t)
	before, rest, found := strings.Cut(string(text), docBegin)
	_, after, ended := strings.Cut(rest, docEnd)
	if !found || !ended {
		t.Fatalf("%s must have the two comments around its lists", docFile)
	}
	want := before + docBegin + docLists() + docEnd + after
	switch {
	case string(text) == want:
	case *update:
		must.Do(t, os.WriteFile(docFile, []byte(want), 0o600))
	default:
		t.Error("the commands and docs/agentctl.md differ; run go generate ./cmd/agentctl")
	}
	documented := map[string]bool{} // the words in code
	for _, code := range regexp.MustCompile("`[^`]+`").FindAllString(after, -1) {
		for _, word := range regexp.MustCompile(`\w+`).FindAllString(code, -1) {
			documented[word] = true
		}
	}
	for _, of := range []any{
		management.Brief{},
		management.AgentInput{},
		management.AvatarInput{},
		management.IntellectFields{},
		management.NewTool{},
		management.SkillInput{},
		management.InsightInput{},
		management.InsightPatch{},
		management.RuleInput{},
		management.EmailTemplateInput{},
	} {
		for _, name := range fieldNames(reflect.TypeOf(of), map[reflect.Type]bool{}) {
			if !documented[name] {
				t.Errorf("docs/agentctl.md does not have the field %s of %T: write it by hand into a table under \"The fields of files\"", name, of)
			}
		}
	}
}

// fieldNames are the names in JSON of a type's fields and of the fields of those.
func fieldNames(of reflect.Type, seen map[reflect.Type]bool) (names []string) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || seen[of] {
		return nil
	}
	seen[of] = true
	for f := range of.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
			names = append(names, fieldNames(f.Type, seen)...)
		}
	}
	return names
}
