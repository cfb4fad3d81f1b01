package completion

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestATabThatComesIsAnsweredAtOnce: it counts the others before their next sign of life.
func TestATabThatComesIsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		browser := newBrowser()
		var last *rig
		for _, tab := range []string{"a", "b"} {
			last = newRig(t, browser, Settings{tab: tab})
			last.SetThread("5f0c", "token")
			time.Sleep(time.Second)
		}
		if got := last.now(); got.Reason != "suppressed" {
			t.Errorf("the second tab: %+v", got)
		}
	})
}
