package browsers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

const adaIsKnown = "Nice to meet you, Ada. I'll remember your name."

const stage = "/e2e/browsers/testdata/"

type test func(t *testing.T, h *pagetest.Server, d driver)

func TestFirefox(t *testing.T) {
	run(t, startFirefox(t), map[string]test{
		"chat": chat, "picture": pictureVoiceAndTypedTurn, "speech": speechInterrupts, "switch": switchMode, "leaving": leavingTellsTheService,
		"avatar element": avatarElement, "chat element": chatElement,
	})
}

// Debian's WebKitGTK has no WebRTC.
func TestWebKitGTK(t *testing.T) {
	run(t, startWebKit(t), map[string]test{"chat": chat, "chat element": chatElement})
}

// run runs each test in a page of its own, with a service of its own.
func run(t *testing.T, d driver, tests map[string]test) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := pagetest.New(t, localservice.Options{})
			d.open(t, h.URL+stage)
			test(t, h, d)
			d.leave(t)
		})
	}
}

// call calls a function of testdata/session.js in the page, and stores its result in out.
func call(t *testing.T, d driver, out any, function string) {
	t.Helper()
	do(t, d, out, `return (await import("`+stage+`session.js")).`+function+`()`)
}

func chat(t *testing.T, _ *pagetest.Server, d driver) {
	var got struct {
		Text, Streamed, Widget string
		Order                  []string
	}
	call(t, d, &got, "chat")
	if got.Text != adaIsKnown || got.Streamed != "Your name is Ada." {
		t.Errorf("said %q and %q", got.Text, got.Streamed)
	}
	if !strings.Contains(got.Widget, "sources") {
		t.Errorf("the widget has %q", got.Widget)
	}
	expect.List(t, got.Order, []string{"stateChange connected", "stateChange closed"}, "states")
}

func pictureVoiceAndTypedTurn(t *testing.T, _ *pagetest.Server, d driver) {
	var got struct {
		Picture     struct{ Width, Height, Colours int }
		Sent        bool
		Final, Told string
		Energy      float64
	}
	call(t, d, &got, "pictureVoiceAndTypedTurn")
	if p := got.Picture; p.Width != 640 || p.Height == 0 || p.Colours < 100 {
		t.Errorf("the picture is %+v", p)
	}
	if got.Energy < 0.01 { // comfort noise has less than 0.00001
		t.Errorf("the voice has the energy %g", got.Energy)
	}
	if !got.Sent || got.Final != adaIsKnown || got.Told != adaIsKnown {
		t.Errorf("said %+v", got)
	}
}

func speechInterrupts(t *testing.T, _ *pagetest.Server, d driver) {
	var got struct{ Said, Told string }
	call(t, d, &got, "speechInterrupts")
	if got.Said == "" || strings.Contains(got.Told, "the lighthouse had a voice") {
		t.Errorf("the visitor said %q, the agent %q", got.Said, got.Told)
	}
}

func switchMode(t *testing.T, _ *pagetest.Server, d driver) {
	var got struct {
		Spoken, Again string
		Changes       []string
	}
	call(t, d, &got, "switchMode")
	if got.Spoken != "Your name is Sam." || got.Again != "The first thing you said was: My name is Sam." {
		t.Errorf("said %+v", got)
	}
	expect.List(t, got.Changes, []string{"mode avatar", "mode chat"}, "changes")
}

func leavingTellsTheService(t *testing.T, h *pagetest.Server, d driver) {
	var thread string
	call(t, d, &thread, "leavingTellsTheService")
	d.leave(t)
	h.AwaitSessionCompleted(thread)
	h.AwaitUnsubscribe()
	expect.Equal(t, h.Count(http.MethodPost, "/thread/session_completed"), 1, "how often the service was told")
}

func avatarElement(t *testing.T, h *pagetest.Server, d driver) {
	d.open(t, h.URL+"/e2e/element/testdata/elements.html")
	var got struct {
		Picture struct{ Width, Colours int }
		Said    string
		Phase   string
	}
	call(t, d, &got, "avatarElement")
	if got.Picture.Width != 640 || got.Picture.Colours < 100 || got.Said != adaIsKnown || got.Phase != "ended" {
		t.Errorf("%+v", got)
	}
}

func chatElement(t *testing.T, h *pagetest.Server, d driver) {
	d.open(t, h.URL+"/e2e/element/testdata/elements.html")
	var got struct {
		Log string
	}
	call(t, d, &got, "chatElement")
	if !strings.Contains(got.Log, adaIsKnown) {
		t.Errorf("the log has %q", got.Log)
	}
}
