//go:build !js

package browsertest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestInstallerKnowsTheSamePrograms compares the programs of tools/need.sh, which installs
// a browser, with those of Find: it must not install one if there is one.
func TestInstallerKnowsTheSamePrograms(t *testing.T) {
	script, err := os.ReadFile("../../tools/need.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(programs, pathVars) {
		if !strings.Contains(string(script), name) {
			t.Errorf("tools/need.sh does not know %s", name)
		}
	}
}
