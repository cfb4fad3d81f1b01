package avatar

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/internal/browsertest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

// keys types what a person would, wherever the focus is.
func (p *page) keys(keys string) {
	p.t.Helper()
	if err := p.Run(p.ctx, chromedp.KeyEvent(keys)); err != nil {
		p.t.Fatal(err)
	}
}

// becomes waits until an expression holds; the page tells by a frame, or by a
// change of its content.
func (p *page) becomes(expression string) {
	p.t.Helper()
	err := p.Eval(p.ctx, `new Promise((resolve) => {
		const look = () => (`+expression+`) ? (observer.disconnect(), resolve()) : undefined
		const observer = new MutationObserver(look)
		observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true})
		look()
	})`, nil)
	if err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var body string
		_ = p.Eval(ctx, `document.body.innerText`, &body)
		p.t.Fatalf("%s: %v; the page shows:\n%s", expression, err, body)
	}
}

func (p *page) text(selector string) (text string) {
	p.t.Helper()
	if err := p.Eval(p.ctx, `document.querySelector("`+selector+`").textContent`, &text); err != nil {
		p.t.Fatal(err)
	}
	return text
}

// The whole example, without a mouse.
func TestExamplePageByKeyboard(t *testing.T) {
	t.Parallel()
	h := newHouse(t, localservice.Options{})
	p := h.open("/example/avatar/")
	if err := p.SetPermission(p.ctx, "microphone", browsertest.Denied); err != nil { // the visitor only types
		t.Fatal(err)
	}
	p.becomes(`document.activeElement.id === "start" && !document.activeElement.disabled`)
	p.keys("\r")
	p.becomes(`document.getElementById("stage").dataset.state === "live"`)
	p.becomes(`document.getElementById("caption").textContent !== ""`)
	p.becomes(`document.getElementById("said").textContent.includes("How can I help you?")`)
	p.becomes(`document.activeElement.id === "text"`)
	p.becomes(`document.getElementById("waterfall").hidden === false`)
	var got seen
	if err := p.Eval(p.ctx, `import("/e2e/avatar/testdata/talk.js").then(({picture}) => picture(document.getElementById("video")))`, &got); err != nil {
		t.Fatal(err)
	}
	got.want(t)

	p.keys("Tell me a long story.\r")
	p.becomes(`document.getElementById("caption").textContent.startsWith("Once upon a time")`)
	thread := h.only().ThreadID
	p.keys("\x1b")
	p.becomes(`document.getElementById("caption").textContent === ""`)
	p.becomes(`document.getElementById("events").textContent.includes("interrupted")`)
	if state := h.only().State; state != live.Listening {
		t.Errorf("after Escape the service is %s", state)
	}
	if said := p.text("#said"); !strings.Contains(said, "Tell me a long story.") || !strings.Contains(said, "Once upon a time") {
		t.Errorf("the page shows %q", said)
	}

	// Disconnect is the last of the controls, before the text.
	p.becomes(`document.activeElement.id === "text"`)
	if err := p.Run(p.ctx, chromedp.KeyEvent("\t", chromedp.KeyModifiers(8))); err != nil { // shift
		t.Fatal(err)
	}
	p.becomes(`document.activeElement.id === "stop"`)
	p.keys("\r")
	p.becomes(`document.getElementById("stage").dataset.state === "idle" && document.activeElement.id === "start"`)
	h.awaitCompletion(thread)
	if status := p.text("#status"); status != "The conversation is over." {
		t.Errorf("the page says %q", status)
	}
}

func TestExamplePageSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := newHouse(t, localservice.Options{})
	h.control("/capacity", map[string]any{"exhausted": true})
	p := h.open("/example/avatar/")
	p.becomes(`document.activeElement.id === "start"`)
	p.keys("\r")
	p.becomes(`document.getElementById("status").hasAttribute("data-bad")`)
	if status := p.text("#status"); status != "All agents are busy right now. Please try again in a moment." {
		t.Errorf("the page says %q", status)
	}
	h.control("/capacity", map[string]any{"exhausted": false})
	p.keys("\r")
	p.becomes(`document.getElementById("stage").dataset.state === "live"`)
}
