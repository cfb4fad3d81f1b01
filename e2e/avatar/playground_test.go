package avatar

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// set gives an option of the playground a value.
func set(p *pagetest.Page, name, value string) {
	p.Do(nil, `
		const input = document.querySelector("#options [name=`+name+`]")
		if (input.type === "checkbox") input.checked = true
		else input.value = `+strconv.Quote(value))
}

const playgroundEvents = `[...document.querySelectorAll("#events b")].map((name) => name.textContent)`

// The playground sets options, shows what a session reports and sends, and causes faults.
func TestPlayground(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{PageControl: true})
	p := h.Open("/example/playground/")
	p.AwaitTrue(`!document.getElementById("connect").disabled`)
	p.Axe("idle")
	// In a narrow window everything is folded, and the page is about two screens long.
	p.HeaderFits()
	p.NothingCut()
	p.SetSize(360, 740)
	p.AwaitTrue(`document.documentElement.scrollHeight < 2 * 740 && document.querySelectorAll("details[open]").length === 0`)
	p.Do(nil, `for (const panel of document.querySelectorAll("main > div > details")) panel.open = true`)

	// Every option of the kind is there, with what it means.
	p.AwaitTrue(`[...document.querySelectorAll("#options [name]")].length > 75 && [...document.querySelectorAll("#options small")].every((about) => about.textContent !== "")`)
	p.Do(nil, `
		document.getElementById("find").value = "kickoff"
		document.getElementById("find").dispatchEvent(new Event("input"))`)
	p.AwaitTrue(`[...document.querySelectorAll(".option")].filter((row) => row.checkVisibility()).length === 1`)
	set(p, "timeouts", "{")
	p.Press("#connect")
	p.AwaitTrue(`document.getElementById("status").textContent === 'timeouts must be JSON, as in "text", 5 or {"a": 1}'`)
	set(p, "timeouts", "")
	set(p, "micStartMode", "deferred")
	set(p, "disclosureText", "This is a machine.")
	set(p, "localVadThreshold", "0.5")
	set(p, "onBeforeSend", "")
	p.Press("#connect")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live" && !document.getElementById("text").disabled`)
	p.AwaitTrue(`document.getElementById("disclosure").textContent === "This is a machine."`)
	p.AwaitTrue(`document.querySelectorAll("#waterfall tbody tr").length > 5`)
	for _, measure := range []string{"bitrate", "rtt", "loss", "frames"} {
		p.AwaitTrue(`/\d/.test(document.querySelector("[data-measure=` + measure + `] figcaption").textContent)`)
	}
	p.AwaitTrue(`Number(document.querySelector("[data-measure=frames] figcaption").textContent.match(/[\d.]+/)[0]) > 5`)

	p.AwaitTrue(playgroundEvents + `.includes("avatarStopTalking")`)
	p.Axe("live")
	p.Do(nil, `document.getElementById("text").focus()`)
	p.Keys("Who are you?\r")
	p.AwaitTrue(playgroundEvents + `.includes("onBeforeSend")`)
	p.AwaitTrue(`document.getElementById("said").textContent.includes("Who are you?")`)

	// The turn is a waterfall, in figures that its bars have too.
	turn := `[...document.querySelectorAll("#turns li")].find((turn) => turn.textContent.includes("“Who are you?”"))`
	p.AwaitTrue(turn + `?.textContent.includes("answered, first sound after")`)
	var rows [][]string
	p.Do(&rows, `return [...`+turn+`.querySelectorAll("tbody tr")].map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent))`)
	wantWaterfall(t, rows)

	// What is not paused can't be resumed. A pause would have cut the answer.
	p.AwaitTrue(`document.getElementById("resume").disabled && !document.getElementById("pause").disabled`)
	p.Press("#pause")
	p.AwaitTrue(`!document.getElementById("resume").disabled && document.getElementById("pause").disabled`)
	p.Press("#resume")
	p.AwaitTrue(`document.getElementById("resume").disabled && !document.getElementById("pause").disabled`)

	// The filter shows some of the events, and the export has all.
	p.Do(nil, `
		document.getElementById("event-filter").value = "connectTimings"
		document.getElementById("event-filter").dispatchEvent(new Event("input"))`)
	p.AwaitTrue(playgroundEvents + `.join() === "connectTimings"`)
	var exported []struct{ Time, Name, Text string }
	p.Do(&exported, `
		let blob
		URL.createObjectURL = (made) => ((blob = made), "")
		HTMLAnchorElement.prototype.click = () => {}
		document.getElementById("event-export").click()
		return JSON.parse(await blob.text())`)
	if len(exported) < 10 || exported[0].Name != "connect" || exported[0].Time == "" {
		t.Errorf("%d events were exported, the first is %+v", len(exported), exported[0])
	}

	// The wire log has messages of every kind, and no secrets.
	var wire string
	p.Do(&wire, `return [...document.querySelectorAll("#wire li")].map((line) => line.textContent).join("\n")`)
	for _, part := range []string{"socket →", "socket ←", "http POST", "onTextEntered", "log "} {
		if !strings.Contains(wire, part) {
			t.Errorf("the wire has no %q", part)
		}
	}
	var tokens []string
	p.Do(&tokens, `
		const {appInit} = await import("/js/dist/index.js")
		const service = await (await fetch("/service.json")).json()
		const {ks, turnCredentials} = await appInit({widgetId: service.agents[0].widgetId, ...service.addresses})
		return [ks, turnCredentials?.credential].filter(Boolean).flatMap((secret) => [secret, secret.slice(0, 12)])`)
	for _, secret := range tokens {
		if strings.Contains(wire, secret) {
			t.Errorf("the wire shows the secret %.12s…", secret)
		}
	}

	// A fault is caused, and shown.
	p.Do(nil, `
		document.getElementById("event-filter").value = ""
		document.getElementById("event-filter").dispatchEvent(new Event("input"))
		const [drop] = [...document.querySelectorAll("#faults button")].filter((button) => button.textContent === "Drop the socket")
		drop.click()`)
	p.AwaitTrue(playgroundEvents + `.includes("reconnected") && ` + playgroundEvents + `.includes("fault")`)
	// The faults are in groups, of which one is open.
	var groups []string
	p.Do(&groups, `
		const groups = [...document.querySelectorAll("#faults > details")]
		for (const group of groups) group.open = true
		return groups.filter((group) => group.open && group.querySelectorAll("button").length > 1).map((group) => group.querySelector("h3").textContent)`)
	expect.Len(t, groups, 1, "the open groups of faults are")
	p.Press("#disconnect")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "idle" && !document.getElementById("connect").disabled`)
	p.Accessible()
}

// wantWaterfall checks the parts of a typed turn: their order, and that each begins when another has ended.
func wantWaterfall(t *testing.T, rows [][]string) {
	t.Helper()
	times := map[string][2]int{}
	for _, row := range rows {
		from, _ := strconv.Atoi(strings.TrimPrefix(row[1], "~about "))
		to, _ := strconv.Atoi(strings.TrimPrefix(row[2], "~about "))
		times[row[0]] = [2]int{from, to}
	}
	for _, part := range []string{"Words to the service", "Wait for text", "Text", "Wait for sound", "Speech"} {
		if _, ok := times[part]; !ok {
			t.Fatalf("the turn has no part %q: %q", part, rows)
		}
	}
	if times["Wait for text"][1] != times["Text"][0] || times["Wait for sound"][1] != times["Speech"][0] || times["Speech"][0] >= times["Speech"][1] {
		t.Errorf("the parts of the turn don't fit together: %q", rows)
	}
}

// The other kinds of session have the same page. If the service does not allow its commands, it shows what to do, and if it can't
// be read, the next attempt reads it.
func TestPlaygroundInText(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	h.Refuse("/service.json", http.StatusServiceUnavailable)
	p := h.Open("/example/playground/")
	p.Allow("503")
	p.AwaitTrue(`document.getElementById("status").textContent.startsWith("The service has a problem. Please try again.")`)
	h.Intercept(nil)
	p.Press("#connect")
	p.AwaitTrue(`document.querySelectorAll("#agent option").length > 1 && document.getElementById("stage").dataset.state === "live"`)
	p.Press("#disconnect")
	p.AwaitTrue(`!document.getElementById("connect").disabled`)
	p.Do(nil, `document.getElementById("faults").closest("details").open = true`)
	p.AwaitTrue(`document.getElementById("faults-note").checkVisibility() && document.querySelectorAll("#faults button").length === 0`)
	p.Do(nil, `document.getElementById("faults").closest("details").open = false`)
	for _, kind := range []string{"chat", "agent"} {
		p.Do(nil, `
			const kind = document.getElementById("kind")
			kind.value = "`+kind+`"
			kind.dispatchEvent(new Event("change"))`)
		if kind == "agent" {
			set(p, "mode", "chat")
		}
		p.Press("#connect")
		p.AwaitTrue(`!document.getElementById("text").disabled`)
		p.Do(nil, `document.getElementById("text").focus()`)
		p.Keys("My name is " + kind + ".\r")
		p.AwaitTrue(`document.querySelector("#said li:last-child")?.textContent.includes("Nice to meet you")`)
		if kind == "agent" {
			p.Press("#switch")
			p.AwaitTrue(`document.getElementById("stage").dataset.state === "live" && ` + playgroundEvents + `.includes("avatar connectTimings")`)
			p.NothingCut()
		}
		p.Press("#disconnect")
		p.AwaitTrue(`!document.getElementById("connect").disabled`)
	}
}

// A recording that is dropped on the playground is shown: its picture, captions, words, turns and events.
func TestPlaygroundShowsARecording(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open("/example/playground/")
	p.AwaitTrue(`!document.getElementById("connect").disabled`)
	const script = folder + "playground.js"
	for text, message := range map[string]string{"no zip": "the file is not a zip file", "PK\x03\x04\x00\x00": "the zip file is damaged"} {
		p.Call(nil, script, "dropText", text)
		p.AwaitTrue(`document.getElementById("status").textContent.includes("` + message + `")`)
	}
	p.Call(nil, script, "recordAndDrop")
	const video = `document.getElementById("recorded")`
	p.Call(nil, script, "shown")
	p.AwaitTrue(video + `.checkVisibility()`)
	p.AwaitTrue(`document.getElementById("said").textContent.includes("What is my name?") && document.getElementById("turns").textContent.includes("“What is my name?”")`)
	p.AwaitTrue(`document.querySelectorAll("#waterfall tbody tr").length > 5`)
	p.AwaitTrue(`["connectTimings", "turnTimings", "ended"].every((name) => ` + playgroundEvents + `.includes(name))`)
	// Playing goes on from a turn.
	p.Call(nil, script, "playsFromATurn")
	p.Axe("recording")
	// A session takes its place.
	p.Press("#connect")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live" && !` + video + `.checkVisibility()`)
}
