package parts

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// startTokenServer runs the command until the test ends, and returns the site's origin.
func startTokenServer(t *testing.T) string {
	t.Helper()
	return pagetest.StartProgram(t, "example/tokenserver", "Open ", "", "-addr", "127.0.0.1:0", "-root", "../..")
}

// TestASiteThatIsGoneIsSaid: signing out, the page as it is loaded and signing in have a sentence for it.
func TestASiteThatIsGoneIsSaid(t *testing.T) {
	t.Parallel()
	origin := must.Get(url.Parse(startTokenServer(t)))(t)
	var gone atomic.Bool
	forward := httputil.NewSingleHostReverseProxy(origin)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() && r.URL.Path != "/" && !strings.Contains(r.URL.Path, ".") { // files are there
			panic(http.ErrAbortHandler) // closes the connection
		}
		r.Host = origin.Host
		if r.Header.Get("Origin") != "" {
			r.Header.Set("Origin", origin.String())
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(site.Close)
	page := site.URL + "/example/tokenserver/index.html"
	p := pagetest.Open(t, page)
	p.Allow("local or private host")
	p.Allow("ERR_EMPTY_RESPONSE")
	const sentence = `.textContent === "The service could not be reached. Please try again in a moment."`
	p.AwaitTrue(`document.activeElement.id === "name"`)
	gone.Store(true)
	p.Keys("Ann\r")
	p.AwaitTrue(`document.getElementById("sign-in-status")` + sentence)
	gone.Store(false)
	p.Keys("\r")
	p.Ready()
	p.AwaitTrue(`document.querySelector("#threads .none")`)
	gone.Store(true)
	p.Press("#sign-out")
	p.AwaitTrue(`document.getElementById("status")` + sentence)
	p.Navigate(page)
	p.AwaitTrue(`document.getElementById("sign-in-status")?` + sentence)
}

// TestVisitorsTalkInTheirOwnConversations has two visitors at once, by keyboard.
func TestVisitorsTalkInTheirOwnConversations(t *testing.T) {
	origin := startTokenServer(t)
	enter := func(name string) *pagetest.Page {
		t.Helper()
		p := pagetest.Open(t, origin)
		p.Allow("local or private host")
		p.AwaitTrue(`document.activeElement.id === "name"`)
		expect.Equal(t, p.Text("#sign-in-title"), "Talk to Robin", "the form says")
		p.Keys(name + "\r")
		p.Ready()
		return p
	}
	threads := func(p *pagetest.Page, count string) {
		t.Helper()
		p.AwaitTrue(`document.querySelectorAll("#threads .open").length === ` + count)
	}
	ann, bob := enter("Ann"), enter("Bob")
	ann.Ask("My name is Ann", "Nice to meet you, Ann")
	bob.Ask("My name is Bob", "Nice to meet you, Bob")
	threads(ann, "1")
	threads(bob, "1")

	ann.Press("#new")
	ann.Ready()
	ann.AwaitTrue(`inAgent(".greeting").textContent.includes("No message yet")`)
	ann.Ask("What can you do?", "Robin")
	threads(ann, "2")
	ann.Do(nil, `window.older = document.querySelector("#threads li:last-child")`)
	ann.Press("#threads li:last-child .open")
	ann.AwaitTrue(`inAgent("[part=log]")?.querySelectorAll("[part~=turn]").length >= 2`)
	ann.Ready()
	ann.Ask("What is my name?", "Your name is Ann")
	ann.AwaitTrue(`document.querySelector("#threads li:first-child") === window.older`) // the same element
	if lines := ann.Transcript(); len(lines) < 4 || lines[len(lines)-4] != "You: My name is Ann" {
		t.Errorf("the log shows %q", lines)
	}
	threads(ann, "2")

	ann.Press("#sign-out")
	ann.AwaitTrue(`document.activeElement.id === "name" && !document.getElementById("sign-in").hidden && document.getElementById("beside").hidden`)
	ann.Do(nil, `document.getElementById("name").value = ""`)
	ann.Keys("Bob\r")
	ann.Ready()
	threads(ann, "1") // Bob's
	ann.Press("#threads li:first-child .open")
	ann.AwaitTrue(`inAgent("[part=log]")?.textContent.includes("My name is Bob")`)
	ann.Ready()
	threads(ann, "1")
	ann.Press("#threads li:first-child button[aria-label^=Delete]")
	ann.AwaitTrue(`document.querySelector("#threads .none") !== null`)
	bob.NothingCut()
	bob.Accessible() // as narrow as a phone
	bob.Press("#list")
	bob.AwaitTrue(`document.getElementById("threads").checkVisibility() && !inAgent("[part=log]").checkVisibility()`)
	bob.NothingCut()
	bob.Accessible()
	bob.AwaitTrue(`document.querySelectorAll("#threads .open").length === 1`)
	bob.Press("#new")
	bob.AwaitTrue(`inAgent("[part=log]").checkVisibility()`)
	bob.Ready()
	bob.Press("#sign-out")
	bob.AwaitTrue(`document.activeElement.id === "name"`)
	bob.NothingCut()
	bob.Accessible()
}
