package screenshots

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { pagetest.Main(m, pagetest.WithVoice) }

// open opens a page in a window of that size.
func open(t *testing.T, path string, width, height int64) *pagetest.Page {
	t.Helper()
	p := pagetest.New(t, localservice.Options{}).Open(path)
	p.SetSize(width, height)
	return p
}

// take writes what a page shows to a file of docs: all of it, or the part in clip.
func take(t *testing.T, p *pagetest.Page, name string, clip ...*page.Viewport) {
	t.Helper()
	var params page.CaptureScreenshotParams
	if len(clip) > 0 {
		params.Clip = clip[0]
	}
	shot := must.Get(browsertest.Call(p.Context(), p.Page, page.CaptureScreenshot, params))(t)
	must.Do(t, os.WriteFile(filepath.Join("../../docs", name), shot.Data, 0o644))
}

func TestAvatarPage(t *testing.T) {
	p := open(t, "/example/avatar/", 1100, 780)
	p.AwaitTrue(`document.activeElement.id === "start" && !document.activeElement.disabled`)
	p.Keys("\r")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live" && document.getElementById("caption").textContent.includes("Robin")`)
	take(t, p, "avatar-page.png")
}

func TestChatPage(t *testing.T) {
	p := open(t, "/example/chat/?agent=receptionist", 1100, 820)
	p.Ready()
	p.Ask("Make flashcards about threads", "flashcards")
	p.AwaitTrue(`inAgent(".flashcards") && inAgent(".followups")`)
	take(t, p, "chat-page.png")
}

func TestAgentPage(t *testing.T) {
	p := open(t, "/example/agent/?agent=receptionist", 1100, 740)
	p.Ready()
	p.Ask("My name is Ada.", "Ada")
	p.PressInside("[part~=mode]")
	p.AwaitTrue(`inAgent("video").checkVisibility() && !inAgent("[part=poster]").checkVisibility() && inAgent("[part=caption]").textContent !== ""`)
	take(t, p, "agent-page.png")
}

// TestWidgets takes a picture of each widget, as wide as a phone.
func TestWidgets(t *testing.T) {
	p := open(t, "/e2e/screenshots/testdata/widgets.html", 400, 700)
	p.Prelude = `const {show, widgets} = await import("/e2e/screenshots/testdata/widgets.js")`
	var kinds []string
	p.Do(&kinds, `return Object.keys(widgets)`)
	for _, kind := range kinds {
		var height float64
		p.Do(&height, `await show("`+kind+`"); return Math.ceil(document.body.getBoundingClientRect().height)`)
		take(t, p, filepath.Join("widgets", kind+".png"), &page.Viewport{Width: 400, Height: height, Scale: 1})
	}
}

func TestStudioPage(t *testing.T) {
	h := pagetest.New(t, localservice.Options{})
	info := must.Get(json.Marshal(h.Info()))(t)
	p := pagetest.Open(t, pagetest.StartProgram(t, "example/studio", "Build an agent:", string(info)+"\n", "-addr", "127.0.0.1:0"))
	p.SetSize(1240, 900)
	p.AwaitTrue(`document.querySelectorAll("#agents li").length > 0 && document.querySelectorAll("#faces input").length > 0`)
	take(t, p, "studio-page.png")
}

// TestPartsPage takes a picture of the parts of agentruntime/ui around one session.
func TestPartsPage(t *testing.T) {
	p := open(t, "/e2e/element/testdata/composed.html", 760, 760)
	p.AwaitTrue(`document.body.dataset.ready === ""`)
	p.Do(nil, `document.querySelector("[part~=start]").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.querySelector("[part=log]").innerText.includes("How can I help you?")`)
	p.Do(nil, `document.querySelector("textarea").focus()`)
	p.Keys("My name is Ada.\r")
	p.AwaitTrue(`document.querySelector("[part=log]").innerText.includes("meet you") && document.querySelector("[part=state]").dataset.is === "speaking"`)
	take(t, p, "ui-parts.png")
}
