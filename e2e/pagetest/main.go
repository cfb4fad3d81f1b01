// Package pagetest is shared by the tests of whole pages. It has a local service behind a
// proxy that records requests and can respond to them itself, pages in headless
// Chromium, and the rule by which such tests are skipped. The folder page, which
// every server serves, has the modules that the scripts of these pages share.
//
// It is for the packages beside it, such as e2e/avatar. The things that they test
// (sessions, events, options) do not belong here.
package pagetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/internal/chromium"
)

const (
	// root is where pages are served from; tests run in e2e/<package>.
	root = "../.."
	// patience bounds each test; only a failing one comes near it.
	patience = 2 * time.Minute
	// notRun is the exit code if tests that are required were not run.
	notRun = 1
)

// WithVoice are the options of a browser for pages with audio: the fake microphone plays
// e2e/testdata/speech.wav, whose README lists the words and their times, and sound
// plays without a click, because most tests are not about the autoplay policy.
var WithVoice = browsertest.Options{
	Microphone: "../testdata/speech.wav",
	Flags:      []string{"--autoplay-policy=no-user-gesture-required"},
}

// browser is the browser of this test binary, shared by its tests.
var browser *browsertest.Browser

// Main runs the tests of a package with one browser for all of them, and exits.
// They are skipped where the npm package is not built or no browser is found. If
// AGENTRUNTIME_REQUIRE_NODE is set, as by make, which provides both, Main fails instead.
func Main(m *testing.M, o browsertest.Options) { os.Exit(run(m, o)) }

func run(m *testing.M, o browsertest.Options) int {
	code := 0
	if os.Getenv("AGENTRUNTIME_REQUIRE_NODE") != "" {
		code = notRun
	}
	if _, err := os.Stat(filepath.Join(root, "js/dist/agentruntime.wasm")); err != nil {
		fmt.Println("skipped: js/dist is not built; `make build` does that")
		return code
	}
	if _, err := chromium.Find(); err != nil {
		fmt.Println("skipped:", err)
		return code
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if browser, err = browsertest.Start(ctx, o); err != nil {
		fmt.Println(err)
		return notRun
	}
	defer browser.Close()
	code = m.Run()
	if err := writeCalls(); err != nil {
		fmt.Println(err)
		return notRun
	}
	return code
}

// Build compiles a program of the module above into a file. Its directory is given from the
// root, as in "cmd/localservice".
func Build(ctx context.Context, program, file string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, "./"+program)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return nil
}
