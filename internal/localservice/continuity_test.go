package localservice_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
	wire "github.com/agentruntime/agentruntime/runtime/converse"
)

// ask does a turn in text and returns what was said.
func ask(t *testing.T, info localservice.Info, ks, thread, text string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"userMessage": text, "threadId": thread})
	if err != nil {
		t.Fatal(err)
	}
	_, reply := postJSON(t, info.GenieURL+"/assistant/converse", ks, string(body))
	var said string
	for line := range strings.Lines(reply) {
		var seg wire.Segment
		if err := json.Unmarshal([]byte(line), &seg); err != nil || seg.Type == wire.Error {
			t.Fatalf("%v in %s", err, line)
		}
		if seg.Type.Spoken() {
			said += seg.ContentString()
		}
	}
	return said
}

// What is said on one transport is known on the other: the thread is the same.
func TestThreadGoesOnOverTheOtherTransport(t *testing.T) {
	t.Parallel()
	nothing := script("  - {when: {exact: never said}, steps: [{say: Never.}]}") // the demo brain answers
	c := converse(t, localservice.Options{Script: nothing}, "silent")
	aloud := func(question string) string {
		t.Helper()
		c.say(question)
		said := c.until("stvFinishedTalking")
		return said[len(said)-1].text("agentContent")
	}
	aloud("My name is Ada.")
	if got := ask(t, c.info, c.init.KS, c.thread, "What is my name?"); got != "Your name is Ada." {
		t.Errorf("in text: %q", got)
	}
	ask(t, c.info, c.init.KS, c.thread, "Which agents are built in?")
	if got := aloud("What did I just ask?"); got != "You said: Which agents are built in?" {
		t.Errorf("aloud: %q", got)
	}
	const all = "You said this:\n\n- My name is Ada.\n- What is my name?\n- Which agents are built in?\n- What did I just ask?"
	if got := ask(t, c.info, c.init.KS, c.thread, "What did we talk about?"); got != all {
		t.Errorf("in text: %q, want %q", got, all)
	}
	if got := aloud("What did you just say?"); !strings.HasPrefix(got, "I said: You said this: My name is Ada.") || strings.Contains(got, "- ") {
		t.Errorf("aloud: %q", got)
	}
}
