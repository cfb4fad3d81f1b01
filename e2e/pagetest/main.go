// Package pagetest is what the tests of whole pages share: a local service behind a
// front door that notes who comes and can be shut, pages in headless Chromium
// that are driven and listened to, and the rule by which such tests are skipped.
// What scripts of those pages share is in the folder page, which every house
// serves.
//
// It is for the packages beside it, e2e/avatar and so on. It must not know what
// they test: sessions, their events and their options are theirs.
package pagetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/browsertest"
)

const (
	// root is where pages are served from; tests run in e2e/<package>.
	root = "../.."
	// patience bounds each test; only a failing one comes near it.
	patience = 2 * time.Minute
	// lacks is the exit code of tests that were not run although they had to be.
	lacks = 1
)

// Talking are the options of a browser for pages with a voice: what the
// microphone hears is e2e/testdata/speech.wav, whose README tells the words and
// times; sound plays without a click, as most tests are about something else
// than who may play it.
var Talking = browsertest.Options{
	Microphone: "../testdata/speech.wav",
	Flags:      []string{"--autoplay-policy=no-user-gesture-required"},
}

// browser is the one of this test binary.
var browser *browsertest.Browser

// Main runs the tests of a package with one browser for all of them, and exits.
// They are skipped where the npm package is not built or no browser is found,
// but not under make, which provides both and says so with
// AGENTRUNTIME_REQUIRE_NODE.
func Main(m *testing.M, o browsertest.Options) { os.Exit(run(m, o)) }

func run(m *testing.M, o browsertest.Options) int {
	lacking := 0
	if os.Getenv("AGENTRUNTIME_REQUIRE_NODE") != "" {
		lacking = lacks
	}
	if _, err := os.Stat(filepath.Join(root, "js/dist/agentruntime.wasm")); err != nil {
		fmt.Println("skipped: js/dist is not built; `make build` does that")
		return lacking
	}
	if _, err := browsertest.Find(); err != nil {
		fmt.Println("skipped:", err)
		return lacking
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	if browser, err = browsertest.Start(ctx, o); err != nil {
		fmt.Println(err)
		return lacks
	}
	defer browser.Close()
	return m.Run()
}
