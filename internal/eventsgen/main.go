// Command eventsgen reads the declarations and comments of the events in
// runtime/avatar/events.go and writes the two texts that tell pages of them:
// js/src/events.ts, the typed map of events, and docs/events.md, the table for
// people. It knows Go's syntax trees and nothing of what a session does.
//
// Run it with go generate ./runtime/avatar.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
)

// The files that are written, from the root of the module.
const (
	typesFile = "js/src/events.ts"
	docFile   = "docs/events.md"
)

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
	events, err := m.events(eventsPackage)
	if err != nil {
		return nil, err
	}
	types := newTypes(m)
	text, err := types.file(events)
	if err != nil {
		return nil, err
	}
	doc, err := types.document(events)
	if err != nil {
		return nil, err
	}
	return map[string]string{typesFile: text, docFile: doc}, nil
}
