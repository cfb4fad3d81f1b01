package element

import (
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// black is the brightness, 0 to 255, below which a picture counts as black, also under the veil.
const black = 10

// current is the longest time, in seconds, for which a picture may stand still without a veil.
const current = 6

// A repair in place, a rebuild on the same socket and one after the end of the service's session
// replace the picture, during which a browser paints the video black: not one frame of
// the page shows that.
func TestNoBlackFrameWhileThePictureIsReplaced(t *testing.T) {
	// Not beside others: Chromium draws and hands over every frame, which takes a core.
	h, p := open(t)
	p.Allow("Failed to load resource") // what a repair may ask of a session that is gone
	p.SetSize(400, 420)
	p.Do(nil, `await place("agent-avatar", {microphone: "none"})
		globalThis.told = record(["mediaRecovering", "mediaRecovered", "reconnected"])`)
	press(p, "start")
	const moving = `
		await until(() => element.phase === "live" && !seen("[part=veil]") && !seen("[part=poster]"))
		let painted = 0
		const count = () => ++painted < 15 && find("video").requestVideoFrameCallback(count)
		count()
		await until(() => painted === 15)`
	p.Do(nil, moving)
	var stage struct{ Left, Top, Width, Height float64 }
	p.Do(&stage, `const {left, top, width, height} = find("[part=stage]").getBoundingClientRect(); return {left, top, width, height}`)
	// Without the rounded corners and the texts.
	area := image.Rect(int(stage.Left)+20, int(stage.Top)+20, int(stage.Left+stage.Width)-20, int(stage.Top+stage.Height/3))
	for _, fault := range []struct {
		name  string
		make  func()
		event string
	}{
		{"repair in place", func() { h.Control("/sessions/newest/kill-media", struct{}{}) }, "mediaRecovered"},
		{"rebuild", func() {
			h.Control("/recovery", map[string]any{"refuseNext": true})
			h.Control("/sessions/newest/drop", struct{}{})
		}, "reconnected"},
	} {
		frames, err := p.Screencast(p.Context(), func() {
			p.Do(nil, `globalThis.from = told.now`)
			fault.make()
			p.Do(nil, `await until(() => told.all("`+fault.event+`", globalThis.from).length > 0)`+moving)
		})
		if err != nil {
			t.Fatal(err)
		}
		dark := 0
		for i, frame := range frames {
			if b := brightness(frame, area); b < black {
				dark++
				keep(t, frame)
				t.Errorf("%s: frame %d of %d is black (%.0f)", fault.name, i, len(frames), b)
			}
		}
		if len(frames) < 20 {
			t.Errorf("%s: only %d frames were seen", fault.name, len(frames))
		}
		t.Logf("%s: %d frames, %d black", fault.name, len(frames), dark)
	}
}

// Where no picture comes, the black frame that a browser paints at the end of a track is none: the poster
// and the sentence stay. In some recoveries it is painted when the next track is set; here a canvas paints it.
func TestTheFrameOfAnEndedTrackIsNoPicture(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	p.Allow("WebRTC")
	p.Allow("#media_no_video")
	p.Do(nil, `await place("agent-avatar", {microphone: "none", properties: {options: {...service.session, iceTransportPolicy: "relay",
		turnCredentials: {...service.session.turnCredentials, username: "wrong", credential: "wrong"}}}})`)
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "live" && seen("[part=message]"), 30_000)`)
	var poster bool
	p.Do(&poster, `
		const canvas = Object.assign(document.createElement("canvas"), {width: 2, height: 2})
		const context = canvas.getContext("2d")
		const video = find("video")
		video.srcObject = canvas.captureStream()
		let painted = 0
		const paint = () => { context.fillRect(0, 0, 2, 2); if (painted < 5) requestAnimationFrame(paint) }
		const count = () => ++painted < 5 && video.requestVideoFrameCallback(count)
		count()
		paint()
		await until(() => painted === 5)
		return seen("[part=poster]") && seen("[part=message]")`)
	if !poster {
		t.Error("the poster or the sentence is gone, and no picture came")
	}
}

// A picture that stands still is said to be missing also when the session has not noticed it,
// as on a device that is too busy; the session of this page never looks.
func TestAPictureThatStandsStillIsSaid(t *testing.T) {
	t.Parallel()
	h, p := open(t)
	p.Do(nil, `await place("agent-avatar", {microphone: "none", properties: {options: {...service.session, timeouts: {videoStall: 600000}}}})`)
	press(p, "start")
	p.Do(nil, `await until(() => element.phase === "live" && !seen("[part=veil]") && !seen("[part=poster]"))`)
	h.Control("/sessions/newest/stop-video", struct{}{})
	var got struct {
		Seconds     float64
		Phase, Veil string
	}
	p.Do(&got, `let last = performance.now()
		const count = () => { last = performance.now(); find("video").requestVideoFrameCallback(count) }
		count()
		await until(() => seen("[part=veil]"))
		return {seconds: (performance.now() - last) / 1000, phase: element.phase, veil: find("[part=veil]").textContent}`)
	if got.Phase != "live" || got.Veil == "" || got.Seconds > current {
		t.Errorf("%+v, want a veil after at most %v s", got, current)
	}
	h.Control("/sessions/newest/stop-video", map[string]any{"stopped": false})
	p.Do(nil, `await until(() => !seen("[part=veil]"))`)
}

// brightness is the mean of an area of a picture, 0 to 255.
func brightness(i image.Image, area image.Rectangle) float64 {
	sum, n := 0.0, 0
	area = area.Intersect(i.Bounds())
	for y := area.Min.Y; y < area.Max.Y; y += 3 {
		for x := area.Min.X; x < area.Max.X; x += 3 {
			r, g, b, _ := i.At(x, y).RGBA()
			sum += float64(r+g+b) / 3 / 257
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// keep writes a picture that a test complains of to a file.
func keep(t *testing.T, i image.Image) {
	t.Helper()
	file := must.Get(os.Create(filepath.Join(t.ArtifactDir(), "black.png")))(t)
	defer file.Close()
	must.Do(t, png.Encode(file, i))
}
