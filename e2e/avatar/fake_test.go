package avatar

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// fakeRules are a script of the local service and, as JSON, the rules of a FakeAgent.
const fakeRules = `[
	{"when": {"contains": "menu"}, "steps": [
		{"say": "Here is the menu."},
		{"widget": {"runtime": "followups-tool", "body": {"questions": ["Any drinks?"]}}}]},
	{"when": {"contains": "note"}, "steps": [
		{"tool": {"name": "save_note", "args": {"note": "call back"}, "wait": true, "timeout": 5}},
		{"say": "The page said {{ tool.status }}."}]},
	{"when": {"contains": "two"}, "steps": [{"say": "This is one sentence. This is another."}]},
	{"when": {"contains": "story"}, "steps": [
		{"say": "Once upon a time there was a king who lived in a large house beside the sea. He had three daughters, and each of them had a garden of her own. One day a stranger came over the hills."}]}
]`

// TestFakeSessionHasTheEventsOfARealOne runs one script against the local service and
// against a FakeAvatarSession, and compares the events, in their order. Events of the brain
// and of the voice overlap, so these groups are compared separately.
func TestFakeSessionHasTheEventsOfARealOne(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{Script: []byte(`{"rules": ` + fakeRules + `}`)})
	p := openPage(h)
	p.Call(nil, "fake.js", "play", json.RawMessage(fakeRules))
	// A lost connection: recovered, then with a session that the service has lost.
	for _, cold := range []bool{false, true} {
		wanted := `"reconnected"`
		if cold {
			wanted += `, "videoMetadata", "avatarStopTalking"`
			h.Control("/recovery", map[string]any{"refuseNext": true})
		}
		p.Do(nil, `real.lost = real.step(() => {}, `+wanted+`)`)
		h.Control("/sessions/newest/drop", nil)
		arg, _ := json.Marshal(map[string]bool{"cold": cold})
		p.Do(nil, `
			const {agent} = fake.session
			const lost = fake.step(async () => {
				agent.loseConnection()
				agent.recover(`+string(arg)+`)
			}, `+wanted+`)
			await Promise.all([real.lost, lost])`)
	}
	p.Do(nil, `await Promise.all([real, fake].map((talk) => talk.step(() => talk.session.disconnect(), "sessionCompleted")))`)
	type told struct {
		Brain, Voice, Media string
		Finals              int
		Texts               []string
	}
	var got struct{ Real, Fake []told }
	p.Do(&got, `return {real: real.said, fake: fake.said}`)
	names := []string{"connect", "widget", "tool", "two sentences", "interrupt", "recovery", "rebuild", "disconnect"}
	if len(got.Real) != len(names) || len(got.Fake) != len(names) {
		t.Fatalf("%d and %d steps, want %d", len(got.Real), len(got.Fake), len(names))
	}
	for i, name := range names {
		real, fake := got.Real[i], got.Fake[i]
		if real.Brain == "" {
			t.Errorf("%s: no events", name)
		}
		if name == "interrupt" { // how much was said depends on the speed
			real.Texts, fake.Texts, real.Finals, fake.Finals = nil, nil, 0, 0
		}
		for what, pair := range map[string][2]string{"brain": {real.Brain, fake.Brain}, "voice": {real.Voice, fake.Voice}, "media": {real.Media, fake.Media}} {
			if pair[0] != pair[1] {
				t.Errorf("%s, %s\n real %s\n fake %s", name, what, pair[0], pair[1])
			}
		}
		if real.Finals != fake.Finals || !slices.Equal(real.Texts, fake.Texts) {
			t.Errorf("%s: %d sentences %q, the fake has %d, %q", name, real.Finals, real.Texts, fake.Finals, fake.Texts)
		}
	}
}
