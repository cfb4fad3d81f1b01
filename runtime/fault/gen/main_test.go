package main

import (
	"os"
	"testing"
)

func TestDocumentMatchesTable(t *testing.T) {
	const path = "../../../docs/errors.md"
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != markdown() {
		t.Errorf("%s differs from the table of package fault; run go generate ./runtime/fault", path)
	}
}
