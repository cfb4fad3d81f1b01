package site

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/pageserver"
)

func TestMain(m *testing.M) { pagetest.Main(m, pagetest.WithVoice) }

// site is where `make docs` puts the site.
const site = "../../build/docs"

// A reader of the docs finds the service on this machine, talks to an agent in each tag, and the HTML beside it
// makes the same element in another page.
func TestPlayground(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(site + "/playground.html"); err != nil {
		if os.Getenv("AGENTRUNTIME_REQUIRE_NODE") != "" {
			t.Fatal("build/docs is not there; `make docs` makes it")
		}
		t.Skip("build/docs is not there; `make docs` makes it")
	}
	h := pagetest.New(t, localservice.Options{})
	pages := httptest.NewServer(&pageserver.Files{FS: os.DirFS(site), Paths: []string{"."}})
	t.Cleanup(pages.Close)

	p := pagetest.Open(t, pages.URL+"/playground.html")
	p.Allow("local or private host")
	p.AwaitTrue(`document.querySelector(".playground form") !== null && document.readyState === "complete"`)
	var early []string
	p.Do(&early, `return performance.getEntriesByType("resource").map(({name}) => name).filter((name) => name.includes("/agentruntime/") || new URL(name).origin !== location.origin)`)
	if len(early) > 0 {
		t.Errorf("before a click the page requests %v", early)
	}
	p.Axe("before a click")

	// Port 1 is no port of a service. The browser's own line about that is expected.
	p.Allow("ERR_UNSAFE_PORT")
	p.Allow("ERR_CONNECTION_REFUSED")
	const enter = `(async () => {
		const field = document.querySelector(".playground input[type=url]")
		field.value = ADDRESS
		field.dispatchEvent(new Event("input", { bubbles: true }))
		await new Promise(requestAnimationFrame)
		document.querySelector(".playground button[type=submit]").click()
	})()`
	fill := func(address string) {
		t.Helper()
		p.Do(nil, "await "+strings.Replace(enter, "ADDRESS", `"`+address+`"`, 1))
	}
	fill("http://127.0.0.1:1")
	p.AwaitTrue(`document.querySelector(".playground .problem")?.textContent.includes("make run")`)
	p.Axe("no service")

	fill(h.URL)
	p.AwaitTrue(`document.querySelector(".playground agent-avatar") !== null`)
	p.Prelude = `
		const element = document.querySelector("agent-avatar, agent-chat")
		const answer = (part) => new Promise((resolve) => element.addEventListener("transcript", ({detail}) => { if (detail.type === "final" && detail.text.includes(part)) resolve() }))
		const set = async (label, value) => {
			const field = [...document.querySelectorAll(".playground label")].find((one) => one.textContent.trim().startsWith(label)).querySelector("select, input")
			field.value = value
			for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }))
			await new Promise(requestAnimationFrame)
		}`
	p.Do(nil, `
		await set("Microphone", "none")
		await set("Greeting", 'Say "hello" & more.')`)
	p.AwaitTrue(`document.querySelector("agent-avatar").getAttribute("greeting") !== null`)
	p.Do(nil, `
		await element.start()
		const heard = answer("Ada")
		await element.send("My name is Ada.")
		await heard
		element.end()`)
	p.Axe("after a conversation")
	p.NothingCut()
	p.Do(nil, `await set("Tag", "agent-chat")`)
	p.AwaitTrue(`document.querySelector(".playground agent-chat") !== null && document.querySelector(".playground agent-avatar") === null`)
	p.Do(nil, `
		const heard = answer("Ada")
		await element.send("My name is Ada.")
		await heard
		element.end()`)

	// The HTML to copy, in a page that has nothing else.
	p.Do(nil, `
		const made = Object.fromEntries([...element.attributes].map(({name, value}) => [name, value]))
		delete made.phase
		const html = document.querySelector(".playground pre").textContent
		document.body.innerHTML = html
		const copy = document.querySelector("agent-chat")
		const got = Object.fromEntries([...copy.attributes].map(({name, value}) => [name, value]))
		delete got.phase
		if (JSON.stringify(got) !== JSON.stringify(made)) throw new Error(JSON.stringify({ got, made }))
		const script = document.createElement("script")
		script.type = "module"
		script.textContent = document.querySelector("body script").textContent.replace('"agentruntime/element"', '"/agentruntime/dist/element.js"')
		const ran = new Promise((resolve) => script.addEventListener("load", resolve))
		const asked = new Promise((resolve) => copy.addEventListener("transcript", ({detail}) => { if (detail.type === "final" && detail.text.includes("Ada")) resolve() }))
		document.head.append(script)
		while (copy.options?.allowPrivateHosts !== true) await new Promise(requestAnimationFrame)
		await copy.send("My name is Ada.")
		await asked`)
}
