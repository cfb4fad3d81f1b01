//go:build !js

package browsertest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestInstallerKnowsTheSamePrograms holds tools/need.sh, which installs a
// browser, next to Find: it must not install one where there is one.
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
