package parts

import (
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/media"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/renderer"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { pagetest.Main(m, pagetest.WithVoice) }

const (
	elements = "/e2e/element/testdata/elements.html"
	script   = "/e2e/parts/testdata/parts.js"
)

// openExample opens an example page and starts its conversation by keyboard. What the service is can be read at the second attempt.
func openExample(t *testing.T, name string) *pagetest.Page {
	t.Helper()
	h := pagetest.New(t, localservice.Options{})
	h.Refuse("/service.json", http.StatusServiceUnavailable)
	p := h.Open("/example/" + name + "/")
	p.Allow("503")
	p.AwaitTrue(`document.getElementById("status").textContent.startsWith("The service has a problem. Please try again.")`)
	h.Intercept(nil)
	p.Permit("microphone", false)
	p.AwaitTrue(`document.activeElement.id === "start" && !document.activeElement.disabled`)
	p.Axe("idle")
	p.HeaderFits()
	p.NothingCut()
	p.Keys("\r")
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
	return p
}

// The agent and the visitor turn the same slides.
func TestDeck(t *testing.T) {
	t.Parallel()
	p := openExample(t, "deck")
	p.Axe("live")
	p.Keys("Go to page 3\r")
	p.AwaitTrue(`document.getElementById("position").textContent === "3 of 5" && document.querySelector("#slide h2").textContent === "What it costs"`)
	p.Press("#next")
	p.AwaitTrue(`document.getElementById("position").textContent === "4 of 5"`)
	p.Press("#controls .end")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "idle"`)
	p.Press("#next") // without the agent
	p.AwaitTrue(`document.getElementById("position").textContent === "5 of 5" && document.getElementById("next").disabled`)
}

// The agent uses a tool of the page and shows a widget.
func TestExperience(t *testing.T) {
	t.Parallel()
	p := openExample(t, "experience")
	p.Keys("Save a note: call back tomorrow\r")
	p.AwaitTrue(`document.getElementById("notes").textContent === "call back tomorrow" && document.getElementById("calls").textContent.startsWith("save_note")`)
	p.AwaitTrue(`document.getElementById("caption").textContent !== ""`)
	p.Keys("Show me a link\r")
	p.AwaitTrue(`document.querySelector("#widgets a") !== null`)
	p.Axe("with a widget")
	p.Press("#controls .end")
	p.AwaitTrue(`document.getElementById("stage").dataset.state === "idle"`)
}

// background="transparent" shows the face, and the page where its background was.
func TestTransparentBackground(t *testing.T) {
	t.Parallel()
	p := pagetest.New(t, localservice.Options{}).Open(elements)
	p.Allow("WebGL") // Chromium without a graphics card complains
	p.Allow("GL Driver")
	var got struct {
		Corner int
		Video  string
		After  bool
	}
	p.Call(&got, script, "transparentBackground")
	if got.Corner != 0 || got.Video != "0" || !got.After {
		t.Errorf("got %+v", got)
	}
}

// A scripted video shows what the server's side plays, and gives its place back.
func TestScriptedVideo(t *testing.T) {
	t.Parallel()
	server := must.Get(media.New(media.Config{}))(t)
	t.Cleanup(server.Close)
	stream := server.NewStream(quota.Client{}, "room", func(string) media.Picture {
		return renderer.NewPlayer(renderer.H264, renderer.FaceNamed(""), renderer.DefaultMotion, 1)
	})
	t.Cleanup(stream.Close)

	h := pagetest.New(t, localservice.Options{})
	url := stream.URL(h.URL)
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(url+"/", h.URL+strings.SplitAfter(r.URL.Path, stream.ID())[0]+"/") {
			return false
		}
		server.Handler().ServeHTTP(w, r)
		return true
	})
	p := h.Open(elements)
	p.Prelude = `const {LevelMeter} = await import("/e2e/pagetest/page/measure.js")`
	p.Call(nil, script, "scriptedVideo", url)
	if stats := stream.Stats(); !stats.Connected || stats.Viewers != 1 {
		t.Errorf("the server has %+v", stats)
	}
	tone := make([]int16, 48000)
	for i := range tone {
		tone[i] = int16(12000 * math.Sin(float64(i)*2*math.Pi*440/48000))
	}
	stream.Play(0, tone, 48000)
	p.Do(nil, `await globalThis.meter.loud()
		const {session} = globalThis
		session.disconnect()
		if (session.state !== "disconnected" || session.videoEl.srcObject !== null) throw new Error("it goes on")
		await session.connect() // the place is free again
		session.disconnect()`)
	if stats := stream.Stats(); stats.Viewers != 2 {
		t.Errorf("the server has %+v", stats)
	}
}

// The noise gate's worklet runs in a page, and lets the voice of the microphone through.
func TestNoiseSuppressor(t *testing.T) {
	t.Parallel()
	p := pagetest.New(t, localservice.Options{}).Open(elements)
	p.Call(nil, script, "noiseSuppressor")
}
