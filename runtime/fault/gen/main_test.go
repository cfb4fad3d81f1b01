package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFilesMatchTable(t *testing.T) {
	for path, want := range files() {
		have, err := os.ReadFile(filepath.Join("../../..", path))
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != want {
			t.Errorf("%s differs from the table of package fault; run go generate ./runtime/fault", path)
		}
	}
}
