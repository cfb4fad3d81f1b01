package element

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/page"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
)

var writeSheets = flag.Bool("write-sheets", false, "write the pictures of the element's states to testdata, to be looked at and kept")

// The windows in which every state is shown, in CSS pixels.
var windows = []image.Point{{1280, 800}, {1920, 1080}, {360, 740}, {740, 360}}

// A sheet has one row for each state: every window, each in both colour schemes, at this scale.
const (
	scale = 0.2
	gap   = 8
)

var schemes = []string{"light", "dark"}

// Two pictures are compared by the mean brightness of blocks of this many pixels. A block differs
// by more than blockTolerance, 0 to 255; that many blocks of a picture may, because browsers draw
// texts a little differently.
const (
	block          = 8
	blockTolerance = 28
	maxBlocks      = 3
)

// lost is a state that is in the sheet and not compared: the session goes on trying to bring the
// picture back, which may change what is seen.
const lost = "picture lost"

// still keeps the page from moving, so that two pictures of a state are the same: the agent's
// poster in place of the picture, no voice in the bars, no cursor.
const still = `
	const sheet = new CSSStyleSheet()
	sheet.replaceSync(` + "`" + `
		* { animation: none !important; transition: none !important; caret-color: transparent !important }
		:host([phase="live"]) .poster[hidden]:not(:has(~ .large:not([hidden]))) { display: grid !important }
		.agent-bars i:nth-child(odd) { --level: .5 !important }
		.agent-bars i:nth-child(even) { --level: .9 !important }
		.stage:not(:has([data-is="speaking"])) .agent-captions { display: none }
		.preview video { visibility: hidden }
		.agent-captions:not(:empty) { font-size: 0 }
		.agent-captions:not(:empty)::after { content: "I look after the front desk.\\aHow can I help you?"; font-size: clamp(13.6px, 3cqi, 19.2px) }
	` + "`" + `)
	element.shadowRoot.adoptedStyleSheets.push(sheet)`

// A sheet collects the pictures of the states.
type sheet struct {
	t      *testing.T
	closed bool // the state has no field for messages
	rows   []*image.RGBA
}

// add takes the pictures of a state, in which the field for messages is in the window and
// nothing is wider than it.
func (s *sheet) add(p *pagetest.Page, state string) {
	s.t.Helper()
	width, height := gap, 0
	for _, window := range windows {
		width += len(schemes) * (int(float64(window.X)*scale) + gap)
		height = max(height, int(float64(window.Y)*scale))
	}
	row := image.NewRGBA(image.Rect(0, 0, width, height+gap))
	draw.Draw(row, row.Bounds(), image.NewUniform(color.Gray{128}), image.Point{}, draw.Src)
	x := gap
	for _, window := range windows {
		p.SetSize(int64(window.X), int64(window.Y))
		for _, scheme := range schemes {
			p.SetMedia("prefers-color-scheme", scheme)
			var wrong []string
			p.Do(&wrong, `await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
				const {bottom, width} = (find("[part=composer]") ?? element.agent?.shadowRoot.querySelector("[part=composer]") ?? document.body).getBoundingClientRect()
				return `+strconv.FormatBool(!s.closed)+` && [
					width === 0 && "there is no field",
					bottom > innerHeight && "the field ends at " + bottom,
					document.documentElement.scrollWidth > innerWidth && "the page is " + document.documentElement.scrollWidth + " wide",
				].filter(Boolean) || null`)
			for _, what := range wrong {
				s.t.Errorf("%s, %d×%d: %s", state, window.X, window.Y, what)
			}
			shot := capture(s.t, p, window)
			draw.Draw(row, shot.Bounds().Add(image.Pt(x, 0)), shot, image.Point{}, draw.Src)
			x += shot.Bounds().Dx() + gap
		}
	}
	s.rows = append(s.rows, row)
}

// capture returns a picture of the window, scaled down.
func capture(t *testing.T, p *pagetest.Page, window image.Point) image.Image {
	t.Helper()
	clip := &page.Viewport{Width: float64(window.X), Height: float64(window.Y), Scale: scale}
	taken := must.Get(browsertest.Call(p.Context(), p.Page, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: clip}))(t)
	return must.Get(png.Decode(bytes.NewReader(taken.Data)))(t)
}

// compare compares the sheet with the kept one, or writes it.
func (s *sheet) compare(name string, states []string) {
	s.t.Helper()
	bounds := s.rows[0].Bounds()
	all := image.NewRGBA(image.Rect(0, 0, bounds.Dx(), bounds.Dy()*len(s.rows)))
	for i, row := range s.rows {
		draw.Draw(all, bounds.Add(image.Pt(0, i*bounds.Dy())), row, image.Point{}, draw.Src)
	}
	file := filepath.Join("testdata", name)
	if *writeSheets {
		write(s.t, file, all)
		return
	}
	read := must.Get(os.Open(file))(s.t)
	defer read.Close()
	kept := must.Get(jpeg.Decode(read))(s.t)
	if kept.Bounds() != all.Bounds() {
		s.t.Fatalf("the sheet is %v, the kept one %v", all.Bounds(), kept.Bounds())
	}
	for i, state := range states {
		if state == lost {
			continue
		}
		x := gap
		for _, window := range windows {
			for _, scheme := range schemes {
				area := image.Rect(x, i*bounds.Dy(), x+int(float64(window.X)*scale), i*bounds.Dy()+int(float64(window.Y)*scale))
				if n := differing(all, kept, area); n > maxBlocks {
					s.t.Errorf("%s, %d×%d, %s: %d blocks differ from testdata/%s", state, window.X, window.Y, scheme, n, name)
				}
				x += area.Dx() + gap
			}
		}
	}
	if s.t.Failed() {
		seen := filepath.Join(s.t.ArtifactDir(), name)
		write(s.t, seen, all)
		s.t.Logf("what was seen is in %s (with -artifacts it is kept); if it is right, run the test with -write-sheets", seen)
	}
}

func write(t *testing.T, file string, picture image.Image) {
	t.Helper()
	var data bytes.Buffer
	must.Do(t, jpeg.Encode(&data, picture, &jpeg.Options{Quality: 80}))
	must.Do(t, os.WriteFile(file, data.Bytes(), 0o644))
}

// differing counts the blocks of an area that differ.
func differing(a, b image.Image, area image.Rectangle) (n int) {
	for y := area.Min.Y; y+block <= area.Max.Y; y += block {
		for x := area.Min.X; x+block <= area.Max.X; x += block {
			in := image.Rect(x, y, x+block, y+block)
			if d := brightness(a, in) - brightness(b, in); d > blockTolerance || d < -blockTolerance {
				n++
			}
		}
	}
	return n
}

// Every state of a face in every window, in light and dark: as it was when a person looked at
// it. After a change that is meant, -write-sheets writes the sheet again; look at it.
func TestSheetOfAFace(t *testing.T) {
	// Not beside others, which would make it wait for its pictures.
	h := pagetest.New(t, localservice.Options{Script: []byte(`
rules:
  - when: {exact: "Think."}
    steps: [{pause: 60000}, {say: "That was long."}]
  - when: {exact: "Talk."}
    steps: [{repeat: {steps: [{say: "There is a lot to say about that, and I will say all of it. "}]}}]
`)})
	p := openPage(h)
	p.Allow("Failed to load resource")
	p.Allow("503")
	p.Allow("agentruntime: <agent-avatar>: The conversation could not begin: no avatar is free")
	s := &sheet{t: t}
	var states []string
	state := func(name, ready string) {
		t.Helper()
		states = append(states, name)
		p.Do(nil, ready)
		s.add(p, name)
	}
	is := func(activity string) string {
		return `await until(() => seen("[part=activity]") && find("[part=activity]").dataset.is === "` + activity + `")`
	}
	p.Do(nil, `await place("agent-avatar", {microphone: "click", properties: {options: {...service.session, reconnectWindowMs: 120_000}}})
		await element.load()
		await until(() => find("[part=poster] img").naturalWidth > 0)`+still)
	state("idle", ``)
	release := hold(h, "/socket.io/")
	p.Do(nil, `globalThis.opened = new Promise((resolve) => element.addEventListener("sessionCreated", ({detail: {session}}) => session.on("avatarStopTalking", resolve), {once: true}))`)
	press(p, "start")
	state("connecting", `await until(() => element.phase === "connecting" && seen("[part=veil]"))`)
	release()
	p.Do(nil, `await until(() => element.phase === "live" && !seen("[part=veil]"))`)
	state("muted", `await opened;`+is("muted")) // before its opening line the agent has nothing to say for a moment, too
	p.Permit("microphone", false)
	press(p, "microphone")
	state("microphone refused", `await until(() => seen("[part=microphone-problem]"))`)
	p.Permit("microphone", true)
	// The browser's fake microphone speaks every few seconds, and the element would show that.
	p.Do(nil, `const {stream} = new AudioContext().createMediaStreamDestination()
		const {mediaDevices} = navigator, open = mediaDevices.getUserMedia.bind(mediaDevices)
		mediaDevices.getUserMedia = async (wanted) => wanted.video ? open(wanted) : stream.clone()
		find("[part=microphone-problem] button").click()
		await until(() => button("microphone").ariaPressed === "true")`)
	state("listening", is("listening"))
	p.Do(nil, `element.session.mute(); await element.send("Think.")`)
	state("thinking", is("thinking"))
	p.Do(nil, `element.session.interrupt(); await element.send("Talk.")`)
	state("speaking", is("speaking")+`; await until(() => seen("[part=caption]") && find("[part=caption]").textContent !== "")`)
	p.Do(nil, `element.session.interrupt()`)
	h.Control("/sessions/newest/stop-video", struct{}{})
	state(lost, `await until(() => element.phase === "live" && seen("[part=veil]"))`)
	h.Control("/sessions/newest/stop-video", map[string]any{"stopped": false})
	p.Do(nil, `await until(() => element.phase === "live" && !seen("[part=veil]"))`)
	h.Refuse("/socket.io/", http.StatusServiceUnavailable)
	h.Control("/sessions/newest/drop", nil)
	state("reconnecting", `await until(() => element.phase === "reconnecting" && seen("[part=veil]"))`)
	h.Intercept(nil)
	p.Do(nil, `await until(() => element.phase === "live" && !seen("[part=veil]"))`)
	press(p, "end")
	state("ended", `await until(() => element.phase === "ended" && seen("[part~=start]"))`)
	h.Control("/capacity", map[string]any{"exhausted": true})
	press(p, "start")
	state("error", `await until(() => element.phase === "error" && seen("[part~=start]"))`)
	h.Control("/capacity", map[string]any{"exhausted": false})
	p.Do(nil, `element.remove(); await place("agent-avatar", {agent: "tap", properties: {options: service.session}})`+still)
	press(p, "start")
	state("tap to talk", is("speaking")+";"+is("tapToTalk"))
	p.Do(nil, `element.remove(); await place("agent-avatar", {agent: "audio", microphone: "none"})`+still)
	press(p, "start")
	p.Do(nil, is("speaking")+";"+is("ready")+`; await element.send("Talk.")`)
	state("only a voice", is("speaking"))
	p.Do(nil, `element.remove(); await place("agent-avatar", {modes: "face text", microphone: "none", "agent-name": "Robin"})
		await element.load()
		await until(() => find("[part=poster] img").naturalWidth > 0)`+still)
	state("both, idle", ``)
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "live" && !seen("[part=veil]")); await element.send("My name is Ada.")`)
	state("both", `await until(() => find("[part=log]").innerText.includes("Nice to meet you, Ada"));`+is("ready"))
	p.Do(nil, `element.remove(); await place("agent-chat", {"agent-name": "Robin", properties: {options: service.session, suggestions: ["What is a thread?", "What can you do?"]}})`+still)
	state("text, idle", ``)
	p.Do(nil, `await element.send("What is a thread?")`)
	state("text", `await until(() => seen(".sources") && !seen("[part~=stop]"))`)
	p.Permit("camera", true)
	p.Do(nil, `element.remove(); await place("agent-avatar", {agent: "tools", microphone: "none"})`+still)
	press(p, "start")
	p.Do(nil, is("speaking")+";"+is("ready"))
	press(p, "share-camera")
	state("camera shared", `await until(() => find("[part=preview] video")?.videoWidth > 0)`)
	s.compare("face.jpg", states)
}

// The launcher in every window, from left to right and from right to left.
func TestSheetOfALauncher(t *testing.T) {
	_, p := open(t)
	s := &sheet{t: t}
	var states []string
	state := func(name, ready string) {
		t.Helper()
		states = append(states, name)
		p.Do(nil, agentIn+ready)
		s.add(p, name)
	}
	const noMotion = `
		const sheet = new CSSStyleSheet()
		sheet.replaceSync("* { animation: none !important; transition: none !important; caret-color: transparent !important }")
		const calm = ({shadowRoot}) => shadowRoot.adoptedStyleSheets.push(sheet)
		calm(element)
		element.addEventListener("agentCreated", ({detail: {agent}}) => requestAnimationFrame(() => calm(agent)))`
	p.Do(nil, `document.querySelector("main").insertAdjacentHTML("beforeend", "<p style='margin:24px;font:16px system-ui'>" + "The text of the page. ".repeat(80) + "</p>")
		await place("agent-launcher", {greet: "Hello! Any questions about your order?", "agent-name": "Robin", properties: {options: service.session, suggestions: ["What is a thread?", "What can you do?"]}})`+noMotion)
	s.closed = true
	state("closed, with a greeting", ``)
	s.closed = false
	p.Do(nil, `element.show()`)
	state("open", `await until(() => inside("[part=greeting]"))`)
	state("answered", `await element.agent.send("What is a thread?"); await until(() => inside(".sources") && !inside("[part~=stop]").checkVisibility())`)
	p.Do(nil, `element.remove(); Object.assign(document.documentElement, {lang: "he", dir: "rtl"})
		await place("agent-launcher", {modes: "face", microphone: "none", greet: "שלום! אפשר לעזור?"})`+noMotion)
	s.closed = true
	state("closed, in Hebrew", `await until(() => find("[part~=launcher]").title === "פתיחת השיחה")`)
	s.closed = false
	p.Do(nil, `element.show()`)
	state("a face, in Hebrew", `await until(() => inside("[part~=start]")?.textContent.includes("התחלת")); await element.agent.load(); await until(() => inside("[part=poster] img").naturalWidth > 0)`)
	p.Do(nil, `element.remove(); Object.assign(document.documentElement, {lang: "ar", dir: "rtl"})
		await place("agent-launcher", {modes: "text", position: "start", properties: {options: service.session}}); element.show()`+noMotion)
	state("in Arabic, on the other side", `await until(() => inside("[part=greeting]")); await element.agent.send("My name is Ada."); await until(() => inside("[part=log]").innerText.includes("Nice to meet you, Ada") && !inside("[part~=stop]").checkVisibility())`)
	s.compare("launcher.jpg", states)
}
