// Command typegen generates TypeScript and documents from Go: the files that [generate] lists. It reads the
// declarations and comments of the events that sessions emit, of a turn in text and of the options, as syntax
// trees, and the table of error codes.
//
// Run it with go generate ./runtime/event.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
)

// kind is one kind of session: its package, its names in TypeScript and in the docs, and the
// files that declare its events.
type kind struct {
	dir, name, title string
	files            []string
}

// agentEvents declares the events of an agent session, and those that it passes on.
const agentEvents = "runtime/agent/events.go"

var kinds = []kind{
	{"runtime/avatar", "Avatar", "a live session", []string{"runtime/avatar/session.go", "runtime/event/live.go", "runtime/event/event.go", "runtime/event/turn.go"}},
	{"runtime/chat", "Chat", "a chat session", []string{"runtime/chat/session.go", "runtime/event/event.go", "runtime/event/turn.go"}},
	{"runtime/agent", "Agent", "an agent session", []string{agentEvents}},
}

func main() {
	root := flag.String("root", "../..", "the module's directory; go generate runs in the package's")
	flag.Parse()
	files, err := generate(*root)
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(*root, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// generate returns the text of each file, by its name relative to the root of the module.
func generate(root string) (map[string]string, error) {
	m := &module{root: root, packages: map[string]*pkg{}}
	t := &types{module: m, names: map[*decl]string{}, written: map[*decl]string{}, events: map[string]string{}, payloads: map[*decl]string{}}
	files := map[string]string{}
	var names, options string // are made with settings.ts
	for _, f := range []struct {
		name, from string // from is what a file of code is generated from; documents say it below their titles
		text       func() (string, error)
	}{ // in this order: each declares the types that no file before it has declared
		{"js/src/generated/events.ts", "runtime/event, the sessions and runtime/converse", t.file},
		{"docs/events.md", "", t.document},
		{"js/src/generated/settings.ts", "the options of each session", func() (text string, err error) {
			text, names, options, err = t.optionsFile()
			return text, err
		}},
		{"js/src/generated/names.ts", "the options of each session", func() (string, error) { return names, nil }},
		{"docs/options.md", "", func() (string, error) { return options, nil }},
		{"example/playground/declared.js", "the Go declarations", t.playground},
		{"js/src/generated/codes.ts", "runtime/fault/codes.go", t.codeTypes},
		{"docs/errors.md", "", func() (string, error) { return codesDoc(), nil }},
		{"js/src/generated/refusals.ts", "runtime/fault", func() (string, error) { return refusalsText(), nil }},
		{"js/src/generated/regions.ts", "runtime/appinit", regionsText},
		{"js/src/generated/management.ts", "management and runtime/appinit", managementText},
		{"js/src/generated/methods.ts", "the methods that the Go programs export", m.methodsText},
		{"js/src/generated/passedon.ts", "passedOn of runtime/agent", m.passedOnText},
	} {
		text, err := f.text()
		if err != nil {
			return nil, err
		}
		if f.from != "" {
			text = "// Generated from " + f.from + " by \"go generate ./runtime/event\"; don't edit.\n" + text
		}
		files[f.name] = text
	}
	return files, nil
}
