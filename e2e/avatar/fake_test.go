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
	p.Do(nil, `
		const {FakeAgent, FakeAvatarSession} = await import("/js/dist/testing.js")
		const names = [
			"stateChange", "streamReady", "capacityChanged", "track", "videoMetadata", "mediaReady", "disclosure", "connectTimings",
			"connectivityChanged", "reconnecting", "reconnected", "userStartedTalking", "responsePending", "responseSettled", "turnStart",
			"turnEnd", "transcript", "speechChunk", "avatarStartTalking", "avatarStopTalking", "interrupted", "brainSegment", "widget",
			"toolCall", "toolCallResult", "sessionCompleted", "error", "ended",
		]
		const groups = {
			voice: ["final", "speechChunk", "partial", "avatarStartTalking", "avatarStopTalking", "interrupted"],
			media: ["track", "videoMetadata", "asr checking", "asr connected", "stv checking", "stv connected"],
		}
		/** Names of events by what they are about; repeated ones once, and those of media sorted. */
		const told = (events) => {
			const name = ({name, payload}) => name === "stateChange" ? payload.state
				: name === "transcript" ? payload.type
				: name === "connectivityChanged" ? payload.channel + " " + payload.state
				: name === "brainSegment" ? "segment " + payload.type : name
			const all = events.map(name)
			const once = (list) => list.filter((name, i) => name !== list[i - 1])
			const voice = all.filter((name) => groups.voice.includes(name))
				.filter((name, i, list) => !(["speechChunk", "partial"].includes(name) && list.slice(0, i).includes(name)))
			return {
				brain: once(all.filter((name) => ![...groups.voice, ...groups.media].includes(name))).join(" "),
				voice: once(voice.filter((name) => name !== "final")).join(" "),
				finals: all.filter((name) => name === "final").length,
				media: [...new Set(all.filter((name) => groups.media.includes(name)))].sort().join(" "),
				texts: events.filter(({name}) => name === "avatarStopTalking").map(({payload}) => payload.text),
			}
		}
		globalThis.record = (session) => {
			const talk = {session, events: [], names, said: [], until: {}}
			for (const name of names) session.on(name, (payload) => talk.events.push({name, payload}))
			session.onToolCall("save_note", ({toolMetadata}) => {
				session.respondToTool(toolMetadata.id, {status: "saved"})
				return {status: "saved"}
			})
			/** Does something, waits for events by name, and tells what happened. */
			talk.step = async (what, ...wanted) => {
				talk.events.length = 0
				const all = wanted.map((name) => session.next(name))
				await what()
				await Promise.all(all)
				talk.said.push(told(talk.events))
			}
			return talk
		}
		globalThis.play = async (talk) => {
			const {session} = talk
			await talk.step(() => session.connect(), "videoMetadata", "avatarStopTalking")
			for (const text of ["menu", "note", "two"]) await talk.step(() => session.speak(text), "avatarStopTalking", "turnEnd")
			await talk.step(async () => {
				const spoken = session.next("turnEnd")
				const talking = session.next("avatarStartTalking")
				await session.speak("story")
				await Promise.all([spoken, talking])
				session.interrupt()
			}, "avatarStopTalking")
		}
		globalThis.real = record((await open({agent: "silent", micStartMode: "deferred", statsIntervalMs: 0})).session)
		globalThis.fake = record(new FakeAvatarSession({agent: {rules: `+fakeRules+`, voiceMs: 200}, micStartMode: "deferred"}))
		await Promise.all([play(real), play(fake)])`)
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
