package parts

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/nodetest"
)

// A newcomer makes an agent with the script of the quickstart, and talks to it on its page.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	nodetest.Modules(t)
	h := pagetest.New(t, localservice.Options{})
	info := must.Get(json.Marshal(h.Info()))(t)
	account := filepath.Join(t.TempDir(), "service.json")
	must.Do(t, os.WriteFile(account, info, 0o600))
	script := exec.CommandContext(h.Context(), "node", "../../example/quickstart/create.mjs", "An agent that helps the guests of a hotel.")
	script.Env = append(os.Environ(), "AGENTRUNTIME_SERVICE_FILE="+account)
	out, err := script.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, address, found := strings.Cut(string(out), "Talk to it: "+h.URL)
	if !found || strings.Contains(string(out), h.Info().AdminSecret) {
		t.Fatalf("the script printed %s", out)
	}
	p := h.Open(strings.TrimSpace(address))
	p.Prelude = `globalThis.element = document.querySelector("agent-avatar"); const {seen, until} = await import("/e2e/element/testdata/element.js")`
	p.Do(nil, `await until(() => element.widgetId)`)
	p.Axe("quickstart")
	p.Do(nil, `
		element.setAttribute("microphone", "none")
		await element.start()
		await until(() => element.phase === "live" && element.session.state === "connected")
		const answer = new Promise((resolve) => element.addEventListener("transcript", ({detail}) => { if (detail.type === "final" && detail.text.includes("Ada")) resolve() }))
		await element.session.speak("My name is Ada.")
		await answer
		element.end()`)
	if name := p.Text("#name"); name == "Quickstart" {
		t.Error("the page does not say the agent's name")
	}
	p.NothingCut()
	p = h.Open("/example/quickstart/?agent=" + h.Info().Agents[0].AgentID)
	p.AwaitTrue(`document.getElementById("name").textContent === "Robin"`)
	p = h.Open("/example/quickstart/?agent=gone")
	p.AwaitTrue(`document.getElementById("status").textContent.includes("does not exist")`)
}

// The server of a scripted video makes the face speak, and keeps its tokens.
func TestScriptedPage(t *testing.T) {
	t.Parallel()
	origin := pagetest.StartProgram(t, "example/scripted", "Open ", "", "-addr", "127.0.0.1:0", "-root", "../..", "-voice", "builtin")
	p := pagetest.Open(t, origin)
	p.AwaitTrue(`document.readyState === "complete"`)
	p.Axe("idle")
	p.Press("#start")
	p.AwaitTrue(`document.activeElement.id === "text" && document.getElementById("video").readyState >= 3`)
	p.Axe("live")
	p.NothingCut()
	level := func(ends string) { // a level of the voice, of 1
		t.Helper()
		p.Do(nil, `
			globalThis.meter ??= (() => {
				const context = new AudioContext()
				const analyser = context.createAnalyser()
				context.createMediaStreamSource(document.getElementById("video").srcObject).connect(analyser)
				const samples = new Float32Array(analyser.fftSize)
				return () => (analyser.getFloatTimeDomainData(samples), Math.max(...samples.map(Math.abs)))
			})()
			while (!(meter() `+ends+`)) await new Promise(requestAnimationFrame)`)
	}
	p.Keys("Hello, I say what the server sends, as long as it takes to say all of this.\r")
	level("> 0.02")
	p.Press("#interrupt")
	level("< 0.001")
	p.Press("#stop")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "idle" && document.activeElement.id === "start" && document.getElementById("video").srcObject === null`)
	post := func(path, body string) (status int, text string) {
		t.Helper()
		reply := must.Get(http.Post(origin+path, "application/json", strings.NewReader(body)))(t)
		defer reply.Body.Close()
		data := must.Get(io.ReadAll(reply.Body))(t)
		return reply.StatusCode, string(data)
	}
	status, text := post("/session", "")
	var session map[string]any
	if err := json.Unmarshal([]byte(text), &session); err != nil || status != http.StatusOK {
		t.Fatalf("a session: %d %s", status, text)
	}
	for name := range session {
		switch name {
		case "id", "whepUrl", "turn", "allowPrivateHosts":
		default:
			t.Errorf("the page gets %q", name)
		}
	}
	about := "/session/" + session["id"].(string)
	for _, refused := range []string{"", "{}", `{"text":" "}`, `{"text":"` + strings.Repeat("x", 2001) + `"}`, `{"text":"` + strings.Repeat("x", 20_000) + `"}`} {
		if status, text := post(about+"/say", refused); status != http.StatusBadRequest {
			t.Errorf("say %.40s: %d %s", refused, status, text)
		}
	}
	for _, action := range []string{"keep-alive", "end"} {
		if status, text := post(about+"/"+action, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", action, status, text)
		}
	}
	if status, text := post(about+"/keep-alive", ""); status != http.StatusNotFound || strings.TrimSpace(text) != "the session has ended" {
		t.Errorf("after its end: %d %s", status, text)
	}
}
