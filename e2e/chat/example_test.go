package chat

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// script has answers that the demo brain does not give. The weather is a gate: the page
// asks the visitor, and the answer continues when they have chosen.
const script = `
rules:
  - when: {exact: "Stream"}
    steps:
      - say: "First **bold** words."
      - tool: {name: get_weather, args: {place: Lisbon}, wait: true, timeout: 60}
      - say: "\n\n- it is {{ tool.weather }}\n- the end"
      - widget: {runtime: followups-tool, body: {questions: ["And then?", "Why?"]}}
  - when: {exact: "And then?"}
    steps: [{say: "That was all."}]
`

// open opens the page with an agent, ready to be asked.
func open(t *testing.T, agent string) (*pagetest.Server, *pagetest.Page) {
	h := pagetest.New(t, localservice.Options{Script: []byte(script)})
	p := h.Open("/example/chat/?agent=" + agent)
	p.Ready()
	return h, p
}

// The whole page without a mouse: an answer is shown while it streams, and announced once it is whole; the visitor answers a
// tool; a suggested question is asked.
func TestConversationByKeyboard(t *testing.T) {
	t.Parallel()
	_, p := open(t, "tools")
	p.Keys("Stream\r")
	p.AwaitTrue(`inAgent(".agent-turn.agent .text")?.innerHTML === "<p>First <strong>bold</strong> words.</p>"`)
	p.AwaitTrue(`document.activeElement.textContent === "Sunny"`)
	expect.Equal(t, p.Text("#announcer"), "The agent asks you: what is the weather in Lisbon?", "a screen reader announces")
	p.Keys("\t\r")
	p.Ready()
	p.AwaitAnswer("the end")
	p.WantTranscript("You: Stream", "Taylor: First bold words. it is cloudy the end")
	p.AwaitTrue(`inAgent("[aria-live=polite]").textContent.includes("it is cloudy")`)

	p.PressInside(".followups button")
	p.Ready()
	p.AwaitAnswer("That was all.")
	p.WantTranscript("You: Stream", "Taylor: First bold words. it is cloudy the end", "You: And then?", "Taylor: That was all.")
	p.AwaitTrue(`inAgent(".followups") === undefined`)

	// Shift and Enter begin a line.
	p.Keys("one")
	p.Keys("\r", chromedp.KeyModifiers(8)) // shift
	p.Keys("two")
	p.AwaitTrue(`inAgent("textarea").value.trim() === "one\ntwo"`)
	p.Keys("\r")
	p.AwaitAnswer("You said:")
	if said := p.Transcript(); len(said) != 6 || said[4] != "You: one two" {
		t.Errorf("the log shows %q", said)
	}
}

// A reload goes on where the conversation was, and so does a page that comes back from the back-forward cache; a new one knows
// nothing of it.
func TestConversationOutlivesReload(t *testing.T) {
	t.Parallel()
	h, p := open(t, "receptionist")
	p.Ask("My name is Ada.", "Ada")
	before := p.Transcript()
	var thread string
	p.Do(&thread, `return document.querySelector("agent-chat").session.threadId`)
	p.Navigate(h.URL + "/example/chat/?agent=receptionist")
	p.Ready()
	p.AwaitTrue(`document.querySelector("agent-chat").phase === "live"`)
	p.WantTranscript(before...)
	p.Ask("What is my name?", "Ada")
	p.Navigate("about:blank")
	opens(t, p, `history.back()`)
	p.AwaitTrue(`inAgent("[part~=turn]")`)
	p.Do(nil, `document.querySelector("agent-chat").focus()`)
	p.Ready()
	p.Ask("What did we talk about?", "What is my name?")
	if asked := h.UserMessages(thread); strings.Join(asked, "|") != "My name is Ada.|What is my name?|What did we talk about?" {
		t.Errorf("the thread has %q", asked)
	}

	p.Do(nil, `document.getElementById("new").click()`)
	p.AwaitTrue(`inAgent("[part~=turn]") === undefined && inAgent(".greeting button")`)
	h.AwaitSessionCompleted(thread)
	p.Ready()
	p.Ask("What is my name?", "")
	if got := p.Transcript(); strings.Contains(got[1], "Ada") {
		t.Errorf("the new conversation knows %q", got[1])
	}
}

// Each agent has a conversation of its own, and of one that does not exist the page says it.
func TestAgentIsChanged(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	p.Ask("And then?", "That was all.")
	choose := func(name string) {
		t.Helper()
		p.Do(nil, `
			const field = document.getElementById("agent")
			field.focus()
			field.value = [...field.options].find(({text}) => text === `+pagetest.JSON(name)+`).value
			field.dispatchEvent(new Event("change"))`)
	}
	choose("Taylor")
	p.AwaitTrue(`inAgent("[part~=turn]") === undefined && inAgent(".greeting button")?.textContent === "Save a note: call back tomorrow"`)
	p.AwaitTrue(`document.activeElement.id === "agent"`)
	choose("Robin")
	p.AwaitTrue(`inAgent("[part=log]")?.querySelectorAll("[part~=turn]").length === 2 && document.querySelector("agent-chat").phase === "live"`)
	p.WantTranscript("You: And then?", "Robin: That was all.")
	p.Do(nil, `document.getElementById("agent").append(new Option("Nobody", "no-such-widget"))`)
	choose("Nobody")
	p.AwaitTrue(`document.getElementById("status").textContent.includes("an agent that does not exist")`)
}

// The tools of the page do what the agent asks, and the agent gets their results.
func TestToolsUseThePage(t *testing.T) {
	t.Parallel()
	h, p := open(t, "tools")
	p.Ask("Save a note: call back tomorrow", "The page answered save_note: notes 1, status saved.")
	p.AwaitTrue(`document.querySelector(".notes li span").textContent === "call back tomorrow"`)
	p.Ask("Go to page 4", "I asked the page to run go_to_page.")
	p.AwaitTrue(`document.querySelector(".guide h3").textContent === "Tools"`)
	p.Ask("Highlight another person", "I asked the page to run highlight.")
	p.AwaitTrue(`document.querySelector("mark") === null`)
	p.Ask("Highlight what nobody will read", "I asked the page to run highlight.")
	p.AwaitTrue(`document.querySelector("mark")?.textContent === "what nobody will read"`)

	p.Ask("Connect my calendar", "I may not look into your calendar")
	var link struct{ Href, Rel, Target string }
	p.Do(&link, `const {href, rel, target} = inAgent(".note a"); return {Href: href, Rel: rel, Target: target}`)
	if !strings.HasPrefix(link.Href, h.URL+"/") || link.Rel != "noopener noreferrer" || link.Target != "_blank" {
		t.Errorf("consent is asked for with %+v", link)
	}
	consent := h.Open(strings.TrimPrefix(link.Href, h.URL))
	consent.AwaitTrue(`document.activeElement.localName === "button"`)
	consent.Keys("\r")
	h.Await("the consent", func(v pagetest.Request) bool { return v.Method == http.MethodPost && v.Path == "/oauth/consent" })
	p.Ask("Connect my calendar", "Your calendar is connected.")
}

// A service that is away is said, and the first message begins the conversation once it is back.
func TestServiceIsAway(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{Script: []byte(script)})
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/example/") || strings.HasPrefix(r.URL.Path, "/js/") || r.URL.Path == "/service.json" {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	p := h.Open("/example/chat/")
	p.Allow("503")
	p.Allow("The conversation could not begin")
	p.AwaitTrue(`document.getElementById("status")?.textContent === "The service has a problem. Please try again."`)
	p.Ready()
	p.Keys("And then?\r")
	p.AwaitTrue(`inAgent("[part=message]").textContent === "The service has a problem. Please try again."`)
	p.Do(nil, `while (inAgent("textarea").value !== "And then?") await new Promise(requestAnimationFrame)`)
	p.Axe("a message that failed")
	h.Intercept(nil)
	p.Keys("\r")
	p.AwaitAnswer("That was all.")
	p.AwaitTrue(`document.getElementById("status").textContent === ""`)
}

// The page in its states for people who can't see it, and a suggested question.
func TestEverybodyCanUseIt(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	p.AwaitTrue(`inAgent(".greeting button")`)
	p.Axe("idle")
	p.HeaderFits()
	p.NothingCut()
	p.HasNodes([]pagetest.AccessibilityNode{
		{Role: "heading", Name: "Chat with an agent"},
		{Role: "navigation", Name: "Examples"},
		{Role: "link", Name: "Both"},
		{Role: "link", Name: "Playground"},
		{Role: "combobox", Name: "Agent"},
		{Role: "button", Name: "New conversation"},
		{Role: "log", Name: "What was said"},
		{Role: "button", Name: "What can you do?"},
		{Role: "textbox", Name: "Your message"},
		{Role: "button", Name: "Send"},
		{Role: "region", Name: "Guide"},
	})
	p.PressInside(".greeting button")
	p.AwaitAnswer("agentruntime puts a live, talking AI agent into a web page.")
	if got := p.Transcript(); len(got) != 2 || got[0] != "You: What is agentruntime?" {
		t.Errorf("the log shows %q", got)
	}
	p.AwaitTrue(`inAgent(".sources a").href.endsWith("/knowledge/agentruntime.md")`)
	p.Ready() // the question is gone, and the field has its focus
	p.Ask("Ask me for my details", "")
	p.AwaitTrue(`inAgent("[part=log] form")`)
	p.Accessible()
}

// A page for which the service has no agent says so, and offers another try.
func TestTheServiceIsReadAgain(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		none := r.URL.Path == "/service.json"
		if none {
			_, _ = w.Write([]byte(`{"agents": []}`))
		}
		return none
	})
	p := h.Open("/example/agent/")
	p.AwaitTrue(`document.getElementById("status")?.textContent.startsWith("This page asked for an agent that does not exist.")`)
	h.Intercept(nil)
	opens(t, p, `document.querySelector("#status a").click()`)
	p.AwaitTrue(`document.querySelectorAll("#agent option").length > 1`)
}

// opens runs a script that opens a document, and waits for that.
func opens(t *testing.T, p *pagetest.Page, script string) {
	t.Helper()
	opened := make(chan struct{}, 1)
	p.OnNavigate(func(string) { opened <- struct{}{} })
	p.Do(nil, `setTimeout(() => `+script+`)`) // the result must come before
	select {
	case <-opened:
	case <-p.Context().Done():
		t.Fatal("no document was opened")
	}
}
