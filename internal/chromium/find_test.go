//go:build !js

package chromium

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// TestInstallerKnowsTheSamePrograms compares the programs of tools/need.sh, which installs
// a browser, with those of Find: it must not install one if there is one.
func TestInstallerKnowsTheSamePrograms(t *testing.T) {
	script := must.Get(os.ReadFile("../../tools/need.sh"))(t)
	for _, name := range slices.Concat(programs, pathVars) {
		if !strings.Contains(string(script), name) {
			t.Errorf("tools/need.sh does not know %s", name)
		}
	}
}

func TestFindNamesTheVariableThatIsWrong(t *testing.T) {
	t.Setenv("AGENTRUNTIME_CHROME", "/nonexistent/chromium")
	_, err := Find()
	if !errors.Is(err, ErrNoBrowser) || !strings.Contains(err.Error(), "AGENTRUNTIME_CHROME") {
		t.Fatalf("got %v", err)
	}
}

func TestFindSaysHowToInstall(t *testing.T) {
	t.Setenv("AGENTRUNTIME_CHROME", "")
	t.Setenv("CHROME", "")
	t.Setenv("PATH", t.TempDir())
	_, err := Find()
	if err == nil {
		t.Skip("a browser is installed outside PATH")
	}
	if !errors.Is(err, ErrNoBrowser) || !strings.Contains(err.Error(), "apt-get install chromium") {
		t.Fatalf("got %v", err)
	}
}
