package avatar

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/must"
)

// The whole example, without a mouse, also on a phone.
func TestExamplePageByKeyboard(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open("/example/avatar/")
	p.Permit("microphone", false) // the visitor only types
	p.AwaitTrue(`document.activeElement.id === "start" && !document.activeElement.disabled`)
	p.HeaderFits()
	p.NothingCut()
	p.Keys("\r")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live"`)
	p.AwaitTrue(`document.getElementById("caption").textContent !== ""`)
	p.AwaitTrue(`document.getElementById("said").textContent.includes("How can I help you?")`)
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
	if said := p.Text("#status"); said != "The microphone is not allowed here. Allow it in the browser's settings for this page, or type instead." {
		t.Errorf("after the microphone was refused the page says %q", said)
	}
	var got seen
	must.Do(t, p.Eval(p.Context(), `import("/e2e/pagetest/page/measure.js").then(({picture}) => picture(document.getElementById("video")))`, &got))
	got.want(t)
	p.NothingCut()
	p.Do(nil, `scrollTo(0, 0)`)
	p.AwaitTrue(`document.getElementById("video").getBoundingClientRect().top >= 0 && document.querySelector("#composer textarea").getBoundingClientRect().bottom <= innerHeight`)
	p.AwaitTrue(`document.getElementById("disclosure").checkVisibility() && document.getElementById("disclosure").textContent.includes("AI")`)

	p.Keys("Tell me a long story.\r")
	p.AwaitTrue(`document.getElementById("caption").textContent.startsWith("Once upon a time")`)
	thread := h.OnlySession().ThreadID
	// A sentence is shown when it begins to sound, and a sentence that was not spoken is not shown.
	p.AwaitTrue(`document.querySelector("#said .agent-turn:last-child .text").textContent.startsWith("Once upon a time")`)
	p.AwaitTrue(`document.querySelector("#said .agent-turn:last-child .text").textContent.match(/[.]/g).length > 1`)
	begun := p.Text("#said .agent-turn:last-child .text")
	p.Keys("\x1b")
	p.AwaitTrue(`document.getElementById("caption").textContent === ""`)
	h.AwaitState(live.Listening)
	p.AwaitTrue(`document.querySelector("#said .agent-turn:last-child .text").textContent !== ` + strconv.Quote(begun))
	if said := p.Text("#said .agent-turn:last-child .text"); !strings.HasPrefix(said, "Once upon a time") || !strings.HasPrefix(begun, said) {
		t.Errorf("the page shows %q after %q had begun", said, begun)
	}
	if said := p.Text("#said"); !strings.Contains(said, "Tell me a long story.") {
		t.Errorf("the page shows %q", said)
	}

	// The end is the last of the controls, before the text.
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
	p.Keys("\t", chromedp.KeyModifiers(8)) // shift
	p.AwaitTrue(`document.activeElement.matches("#controls .end")`)
	p.Keys("\r")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "idle" && document.activeElement.id === "start"`)
	h.AwaitSessionCompleted(thread)
	expect.Equal(t, p.Text("#status"), "The conversation is over.", "the page says")
}
