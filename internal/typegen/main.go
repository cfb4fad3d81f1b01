// Command typegen generates TypeScript and documents from Go. It reads the declarations and
// comments of the events that sessions emit, of a turn in text and of the options, as syntax
// trees, and the table of error codes. It writes js/src/generated/events.ts, js/src/generated/settings.ts,
// js/src/generated/names.ts and js/src/generated/codes.ts (the TypeScript types, and the tables with which options
// are checked), js/src/generated/refusals.ts (how refused replies are read), js/src/generated/management.ts (what the client for servers knows
// of the service), js/src/generated/passedon.ts (the events of a transport that an agent session
// emits too), js/src/generated/regions.ts (the addresses of the services), js/src/generated/methods.ts (the names of
// the methods that a page can call), docs/events.md, docs/options.md and docs/errors.md, and the list of options
// of example/playground.
//
// Run it with go generate ./runtime/event.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
)

// The generated files, relative to the root of the module.
const (
	typesFile      = "js/src/generated/events.ts"
	docFile        = "docs/events.md"
	optionsTypes   = "js/src/generated/settings.ts"
	optionsDocFile = "docs/options.md"
	namesFile      = "js/src/generated/names.ts"
	regionsFile    = "js/src/generated/regions.ts"
	methodsFile    = "js/src/generated/methods.ts"
	codesFile      = "js/src/generated/codes.ts"
	managementFile = "js/src/generated/management.ts"
	passedOnFile   = "js/src/generated/passedon.ts"
	refusalsFile   = "js/src/generated/refusals.ts"
	codesDocFile   = "docs/errors.md"
	playgroundFile = "example/playground/declared.js"
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

// generate returns the text of each file.
func generate(root string) (map[string]string, error) {
	m := &module{root: root, packages: map[string]*pkg{}}
	t := &types{module: m, names: map[*decl]string{}, written: map[*decl]string{}, events: map[string]string{}, payloads: map[*decl]string{}}
	files := map[string]string{refusalsFile: refusalsText(), codesDocFile: codesDoc()}
	for _, f := range []struct {
		name string
		text func() (string, error)
	}{ // in this order: each declares the types that no file before it has declared
		{typesFile, t.file},
		{docFile, t.document},
		{optionsTypes, func() (text string, err error) {
			text, files[namesFile], files[optionsDocFile], err = t.optionsFile()
			return text, err
		}},
		{playgroundFile, t.playground},
		{codesFile, t.codeTypes},
		{regionsFile, regionsText},
		{managementFile, managementText},
		{methodsFile, m.methodsText},
		{passedOnFile, m.passedOnText},
	} {
		text, err := f.text()
		if err != nil {
			return nil, err
		}
		files[f.name] = text
	}
	return files, nil
}
