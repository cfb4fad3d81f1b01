package avatar

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
	// root is where the pages are served from.
	root = "../.."
	// speech is what every microphone hears; its README tells the words and times.
	speech = "../testdata/speech.wav"
	// patience bounds each test; only a failing one comes near it.
	patience = 2 * time.Minute
)

var browser *browsertest.Browser

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run skips the tests where there is no package or no browser, but not under
// make, which provides both.
func run(m *testing.M) int {
	lacking := 0
	if os.Getenv("AGENTRUNTIME_REQUIRE_NODE") != "" {
		lacking = 1
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
	browser, err = browsertest.Start(ctx, browsertest.Options{
		Microphone: speech,
		// Most tests are about something else than who may play sound; the example
		// page gets its click.
		Flags: []string{"--autoplay-policy=no-user-gesture-required"},
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer browser.Close()
	return m.Run()
}
