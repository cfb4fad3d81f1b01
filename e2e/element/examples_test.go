package element

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// openExample opens an example page of a visitor who refuses the microphone.
func openExample(t *testing.T, name string) (*pagetest.Server, *pagetest.Page) {
	t.Helper()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open("/example/" + name + "/")
	if err := p.SetPermission(p.Context(), "microphone", browsertest.Denied); err != nil {
		t.Fatal(err)
	}
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
	refuse(h, "/v1/application/appInit", http.StatusServiceUnavailable)
	p.Press("#start")
	p.AwaitTrue(`document.getElementById("status").hasAttribute("data-bad")`)
	p.Axe("error")
}

// The browser has had no click when a script starts the conversation, and blocks its sound.
func TestExampleOfAFaceWithoutSound(t *testing.T) {
	t.Parallel()
	_, p := openExample(t, "avatar")
	p.AwaitTrue(`!document.getElementById("start").disabled`)
	p.Do(nil, `document.getElementById("start").click()`)
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live" && document.querySelector("#controls .sound").textContent === "Turn the sound on"`)
	p.Axe("sound blocked")
	p.Press("#controls .sound")
	p.AwaitTrue(`document.querySelector("#controls .sound").ariaPressed === "true"`)
}

// The example page of both modes in its states, with axe.
func TestExampleOfBothModes(t *testing.T) {
	t.Parallel()
	h, p := openExample(t, "agent")
	p.Ready()
	p.Axe("idle")
	p.Ask("My name is Ada.", "Ada")
	p.PressInside("[part~=mode]")
	p.AwaitTrue(`inAgent("video").checkVisibility() && !inAgent("[part~=mode]").disabled`)
	p.Axe("face")
	h.Control("/sessions/newest/end", nil)
	p.AwaitTrue(`document.querySelector("agent-avatar").phase === "ended"`)
	p.Axe("ended")
}

// The example page of the chat in its states, with axe.
func TestExampleOfAChat(t *testing.T) {
	t.Parallel()
	_, p := openExample(t, "chat")
	p.Ready()
	p.AwaitTrue(`inAgent(".greeting button")`)
	p.Axe("idle")
	p.Ask("What is a thread?", "thread")
	p.Axe("answered")
	p.Ask("Ask me for my details", "")
	p.AwaitTrue(`inAgent("[part=log] form")`)
	p.Axe("with a form")
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
	p.NothingCut(320, 568)
	p.NothingCut(667, 375)
}

// The playground in its states, with axe.
func TestPlayground(t *testing.T) {
	t.Parallel()
	_, p := openExample(t, "playground")
	p.AwaitTrue(`!document.getElementById("connect").disabled`)
	p.Axe("idle")
	p.Press("#connect")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live" && document.getElementById("caption").textContent !== ""`)
	p.Axe("live")
	p.Press("#disconnect")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "idle" && !document.getElementById("connect").disabled`)
	p.Axe("ended")
}

// What the page of a face says when there is no conversation: on a phone below the picture, and with a button only if another
// attempt can help.
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
	p.Do(nil, fmt.Sprintf(choose, "field.options[0].value")+`; document.getElementById("start").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "live"`)
}

// Without a picture the page shows the poster, and not a black video.
func TestExampleOfAFaceWithoutAPicture(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open("/example/avatar/?agent=audio")
	if err := p.SetPermission(p.Context(), "microphone", browsertest.Denied); err != nil {
		t.Fatal(err)
	}
	p.AwaitTrue(`document.activeElement.id === "start" && !document.activeElement.disabled`)
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

// Of an agent that does not exist, the page says it.
func TestExampleOfAChatWithoutAnAgent(t *testing.T) {
	t.Parallel()
	_, p := openExample(t, "chat")
	p.Ready()
	p.Do(nil, `const field = document.getElementById("agent"); field.append(new Option("Nobody", "no-such-widget")); field.value = "no-such-widget"; field.dispatchEvent(new Event("change"))`)
	p.AwaitTrue(`document.getElementById("status").textContent.includes("an agent that does not exist")`)
}
