package completion

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
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

// TestForgedMessagesBetweenTabs: other scripts of the origin send anything on the channel of a thread. They can keep the report
// of its end back, and a forged goodbye lets it through again. Nothing else has an effect, and no more tabs than maxPeers are noted.
func TestForgedMessagesBetweenTabs(t *testing.T) {
	tabs := func(kind string) (all []string) {
		for i := range 1000 {
			all = append(all, fmt.Sprintf(`{"v":1,"id":"tab%d","t":"%s"}`, i, kind))
		}
		return all
	}
	noMessages := []string{
		"", "{", strings.Repeat("[", 900), "null", "5", "\xed\xa0\x80", `{"v":1e400,"id":"x","t":"alive"}`, `{"v":1,"id":5,"t":"alive"}`,
		`{"v":1,"id":"x","t":["bye"]}`, `{"v":1,"id":"x","t":"alive","reported":{}}`, `{"v":2,"id":"x","t":"alive"}`, `{"v":1,"id":"","t":"alive"}`,
		`{"v":1,"id":"x","t":"unknown"}`, `{"v":1,"id":"x","t":"bye","reported":true}`,
	}
	for _, test := range []struct {
		name   string
		forged []string
		peers  int
		end    string
	}{
		{"what is no message", noMessages, 0, "manual"},
		{"many tabs", tabs("hello"), maxPeers, "suppressed"},
		{"tabs that leave", append(tabs("alive"), tabs("bye")...), 0, "manual"},
	} {
		synctest.Test(t, func(t *testing.T) {
			browser := newBrowser()
			r := newRig(t, browser, Settings{tab: "a"})
			r.SetThread("5f0c", "token")
			script := (&page{tabs: browser}).Channel("kaltura-agents:thread:5f0c", func(string) {})
			for _, message := range test.forged {
				script.Post(message)
				synctest.Wait()
			}
			expect.Equal(t, r.presence.others(), test.peers, "%s tabs are counted", test.name)
			if got := r.now(); got.Reason != test.end {
				t.Errorf("%s: the end is %+v, want %s", test.name, got, test.end)
			}
		})
	}
}
