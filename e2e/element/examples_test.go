package element

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// openExample opens an example page of a visitor who refuses the microphone.
func openExample(t *testing.T, name string) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open("/example/" + name + "/")
	p.Permit("microphone", false)
	return h, p
}

// The example page of the face in its states, with axe.
func TestExampleOfAFace(t *testing.T) {
	t.Parallel()
	h, p := openExample(t, "avatar")
	p.Allow("Failed to load resource") // what a repair of the media may ask of a session that is closed
	p.AwaitTrue(`document.activeElement.id === "start" && !document.activeElement.disabled`)
	p.Axe("idle")
	release := hold(h, "/v1/application/appInit")
	defer release()
	p.Keys("\r")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "busy"`)
	p.Axe("connecting")
	release()
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live" && document.getElementById("caption").textContent !== ""`)
	p.Axe("live, microphone denied")
	release = hold(h, "/socket.io/")
	defer release()
	h.Control("/sessions/newest/drop", nil)
	p.AwaitTrue(`document.getElementById("status").textContent.includes("Reconnecting")`)
	p.Axe("reconnecting")
	release()
	p.AwaitTrue(`!document.getElementById("status").textContent.includes("Reconnecting")`)
	p.Press("#controls .end")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "idle"`)
	p.Axe("ended")
	h.Refuse("/v1/application/appInit", http.StatusServiceUnavailable)
	p.Press("#start")
	p.AwaitTrue(`document.getElementById("status").hasAttribute("data-bad")`)
	p.Axe("error")
}

// The browser has had no click when a script starts the conversation, and blocks its sound. Two clicks begin one conversation.
func TestExampleOfAFaceWithoutSound(t *testing.T) {
	t.Parallel()
	h, p := openExample(t, "avatar")
	p.AwaitTrue(`!document.getElementById("start").disabled`)
	p.Do(nil, `const start = document.getElementById("start"); start.click(); start.click()`)
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live" && document.querySelector("#controls .sound").textContent === "Turn the sound on"`)
	p.Axe("sound blocked")
	p.Press("#controls .sound")
	p.AwaitTrue(`document.querySelector("#controls .sound").ariaPressed === "true"`)
	p.AwaitTrue(`document.getElementById("said").textContent.includes("How can I help you?")`)
	if turns := p.Text("#said"); strings.Count(turns, "How can I help you?") != 1 {
		t.Errorf("the page shows %q", turns)
	}
	expect.Equal(t, h.Count(http.MethodPost, "/v1/application/appInit"), 1, "conversations were begun")
}

// The example page of the tag: what is chosen is in the markup, and the element talks.
func TestExampleOfATag(t *testing.T) {
	t.Parallel()
	_, p := openExample(t, "element")
	p.AwaitTrue(`document.getElementById("markup").textContent.includes("widget-id=")`)
	p.Axe("idle")
	p.Do(nil, `document.getElementById("modes").value = "text"; document.getElementById("modes").dispatchEvent(new Event("change"))
		document.getElementById("tag").shadowRoot.querySelector("textarea").focus()`)
	p.Keys("My name is Ada.\r")
	p.AwaitTrue(`document.getElementById("events").textContent.includes('"type":"final"')`)
	p.Axe("live")
	p.HeaderFits()
	p.NothingCut()
}

// What the page of a face says when there is no conversation: on a phone below the picture, and with a button only if another
// attempt can help. An agent without a picture has its poster, and not a black video.
func TestExampleOfAFaceThatFails(t *testing.T) {
	t.Parallel()
	_, p := openExample(t, "avatar")
	p.SetSize(360, 740)
	p.AwaitTrue(`document.activeElement.id === "start" && !document.activeElement.disabled`)
	const choose = `const field = document.getElementById("agent"); field.value = %s; field.dispatchEvent(new Event("change"))`
	p.Do(nil, `document.getElementById("agent").append(new Option("Nobody", "no-such-widget"));`+fmt.Sprintf(choose, `"no-such-widget"`))
	p.Keys("\r")
	p.AwaitTrue(`document.getElementById("start").hidden && document.getElementById("status").textContent.includes("an agent that does not exist")`)
	var below bool
	p.Do(&below, `return document.getElementById("status").getBoundingClientRect().top >= document.getElementById("stage").getBoundingClientRect().bottom`)
	if !below {
		t.Error("the error covers the picture")
	}
	p.Do(nil, `const {agents} = await (await fetch("/service.json")).json()
		const {widgetId} = agents.find(({name}) => name === "audio");`+fmt.Sprintf(choose, "widgetId")+`; document.getElementById("start").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live" && document.getElementById("caption").textContent !== ""`)
	var opacity struct{ Poster, Video string }
	p.Do(&opacity, `await Promise.all(document.getAnimations().filter(({effect}) => effect.target?.id === "poster").map(({finished}) => finished))
		const of = (id) => getComputedStyle(document.getElementById(id)).opacity
		return {poster: of("poster"), video: of("video")}`)
	if opacity.Poster != "1" || opacity.Video != "0" {
		t.Errorf("%+v", opacity)
	}
}
