package browsers

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

const adaIsKnown = "Nice to meet you, Ada. I'll remember your name."

const stage = "/e2e/browsers/testdata/"

type test func(t *testing.T, h *pagetest.Server, d driver)

func TestFirefox(t *testing.T) {
	run(t, startFirefox(t), map[string]test{
		"chat": chat, "picture": pictureVoiceAndTypedTurn, "speech": speechInterrupts, "switch": switchMode, "leaving": leavingTellsTheService,
		"avatar element": avatarElement, "chat element": chatElement,
	})
}

// Debian's WebKitGTK has no WebRTC.
func TestWebKitGTK(t *testing.T) {
	run(t, startWebKit(t), map[string]test{"chat": chat, "chat element": chatElement})
}

// run runs each test in a page of its own, with a service of its own.
func run(t *testing.T, d driver, tests map[string]test) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := pagetest.New(t, localservice.Options{})
			d.open(t, h.URL+stage)
			test(t, h, d)
			d.leave(t)
		})
	}
}

func chat(t *testing.T, _ *pagetest.Server, d driver) {
	var got struct {
		Text, Streamed, Widget string
		Order                  []string
	}
	do(t, d, &got, `
		const {open} = await import("/e2e/chat/testdata/chat.js")
		const talk = await open()
		await talk.session.connect()
		const {text} = await talk.session.sendText("My name is Ada.")
		let streamed = ""
		for await (const {type, content} of talk.session.streamText("What is my name?")) if (type === "text") streamed += content
		await talk.session.sendText("Show me your sources.")
		const [widget] = talk.all("widget").filter(({sources}) => sources)
		talk.session.disconnect()
		await talk.until("sessionCompleted")
		return {text, streamed, widget: Object.keys(widget ?? {}).join(), order: talk.order.filter((name) => name.startsWith("stateChange"))}`)
	if got.Text != adaIsKnown || got.Streamed != "Your name is Ada." {
		t.Errorf("said %q and %q", got.Text, got.Streamed)
	}
	if !strings.Contains(got.Widget, "sources") {
		t.Errorf("the widget has %q", got.Widget)
	}
	if want := []string{"stateChange connected", "stateChange closed"}; !slices.Equal(got.Order, want) {
		t.Errorf("states %q, want %q", got.Order, want)
	}
}

func pictureVoiceAndTypedTurn(t *testing.T, _ *pagetest.Server, d driver) {
	var got struct {
		Picture     struct{ Width, Height, Colours int }
		Sent        bool
		Final, Told string
		Energy      float64
	}
	do(t, d, &got, `
		const {open, picture} = await import("/e2e/avatar/testdata/talk.js")
		const {voice} = await import("/e2e/browsers/testdata/voice.js")
		const video = document.getElementById("video")
		const talk = await open({agent: "silent", videoEl: video})
		await talk.session.connect()
		const seen = await picture(video)
		await talk.until("transcript", ({type}) => type === "final") // of the opening
		const from = talk.now
		const before = await voice()
		const sent = await talk.session.speak("My name is Ada.")
		const {text} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"), from)
		const energy = (await voice()) - before
		talk.session.disconnect()
		await talk.until("sessionCompleted")
		return {picture: seen, sent, final: talk.texts("final", from).join(" "), told: text, energy}`)
	if p := got.Picture; p.Width != 640 || p.Height == 0 || p.Colours < 100 {
		t.Errorf("the picture is %+v", p)
	}
	if got.Energy < 0.01 { // comfort noise has less than 0.00001
		t.Errorf("the voice has the energy %g", got.Energy)
	}
	if !got.Sent || got.Final != adaIsKnown || got.Told != adaIsKnown {
		t.Errorf("said %+v", got)
	}
}

func speechInterrupts(t *testing.T, _ *pagetest.Server, d driver) {
	var got struct{ Said, Told string }
	do(t, d, &got, `
		const {open} = await import("/e2e/avatar/testdata/talk.js")
		// The browser's own test microphone has a steady tone, which is no speech.
		const noiseProcessor = async () => {
			const speech = new Audio("/e2e/testdata/speech.wav")
			speech.loop = true
			await speech.play()
			return speech.mozCaptureStream()
		}
		const talk = await open({agent: "silent", videoEl: document.getElementById("video"), noiseProcessor})
		await talk.session.connect()
		const from = talk.now
		await talk.session.speak("Tell me a long story.")
		await talk.until("avatarStartTalking", undefined, from)
		await talk.session.startMic()
		await talk.until("interrupted", undefined, from)
		const {text} = await talk.until("transcript", ({type}) => type === "user", from)
		const [{text: told}] = talk.all("avatarStopTalking", from)
		talk.session.disconnect()
		await talk.until("sessionCompleted")
		return {said: text, told}`)
	if got.Said == "" || strings.Contains(got.Told, "the lighthouse had a voice") {
		t.Errorf("the visitor said %q, the agent %q", got.Said, got.Told)
	}
}

func switchMode(t *testing.T, _ *pagetest.Server, d driver) {
	var got struct {
		Spoken, Again string
		Changes       []string
	}
	do(t, d, &got, `
		const {connect, picture} = await import("/e2e/agent/testdata/agent.js")
		const talk = await connect()
		await talk.session.sendText("My name is Sam.")
		await talk.session.switchMode("avatar")
		await picture(talk.session.transport.videoEl)
		const from = talk.now
		await talk.session.sendText("What is my name?")
		const spoken = await talk.spoken("name", from)
		await talk.session.switchMode("chat")
		const {text: again} = await talk.session.sendText("What did I say first?")
		talk.session.disconnect()
		await talk.until("ended")
		return {spoken, again, changes: talk.changes.filter((change) => change.startsWith("mode"))}`)
	if got.Spoken != "Your name is Sam." || got.Again != "The first thing you said was: My name is Sam." {
		t.Errorf("said %+v", got)
	}
	if want := []string{"mode avatar", "mode chat"}; !slices.Equal(got.Changes, want) {
		t.Errorf("changes %q, want %q", got.Changes, want)
	}
}

func leavingTellsTheService(t *testing.T, h *pagetest.Server, d driver) {
	var thread string
	do(t, d, &thread, `
		const {open} = await import("/e2e/avatar/testdata/talk.js")
		globalThis.talk = await open({agent: "silent", videoEl: document.getElementById("video")})
		await talk.session.connect()
		await talk.until("transcript", ({type}) => type === "final")
		return talk.session.threadId`)
	d.leave(t)
	h.AwaitSessionCompleted(thread)
	h.AwaitUnsubscribe()
	if n := h.Count(http.MethodPost, "/thread/session_completed"); n != 1 {
		t.Errorf("the service was told %d times", n)
	}
}

func avatarElement(t *testing.T, h *pagetest.Server, d driver) {
	d.open(t, h.URL+"/e2e/element/testdata/")
	var got struct {
		Picture struct{ Width, Colours int }
		Said    string
		Phase   string
	}
	do(t, d, &got, `
		const {button, find, picture, place, record, seen, until} = await import("/e2e/element/testdata/element.js")
		const element = await place("agent-avatar", {agent: "silent", microphone: "click"})
		const talk = record(["avatarStopTalking", "sessionCompleted"])
		await until(() => seen("button[part~=start]"))
		button("start").click()
		await until(() => element.phase === "live" && seen("video"))
		const shown = await picture(find("video"))
		await element.send("My name is Ada.")
		const {text} = await talk.until("avatarStopTalking", ({text}) => text.startsWith("Nice"))
		element.end()
		await talk.until("sessionCompleted")
		return {picture: shown, said: text, phase: element.phase}`)
	if got.Picture.Width != 640 || got.Picture.Colours < 100 || got.Said != adaIsKnown || got.Phase != "ended" {
		t.Errorf("%+v", got)
	}
}

func chatElement(t *testing.T, h *pagetest.Server, d driver) {
	d.open(t, h.URL+"/e2e/element/testdata/")
	var got struct {
		Log string
	}
	do(t, d, &got, `
		const {find, place, record, seen, until} = await import("/e2e/element/testdata/element.js")
		const element = await place("agent-chat")
		const talk = record(["sessionCompleted"])
		await element.send("My name is Ada.")
		await until(() => find("[part=log]").innerText.includes("Nice to meet you, Ada"))
		await element.send("What is a thread?")
		await until(() => seen(".sources"))
		const log = find("[part=log]").innerText
		element.end()
		await talk.until("sessionCompleted")
		return {log}`)
	if !strings.Contains(got.Log, adaIsKnown) {
		t.Errorf("the log has %q", got.Log)
	}
}
