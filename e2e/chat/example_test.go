package chat

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
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
  - when: {exact: "Forever"}
    steps:
      - repeat: {steps: [{say: "on and "}, {pause: 5}]}
  - when: {exact: "Break"}
    steps:
      - say: "So far so good."
      - tool: {name: get_weather, args: {place: Lisbon}, wait: true, timeout: 60}
      - cut: true
  - when: {exact: "Nothing"}
    steps: [{think: "I have nothing to say."}]
`

// open opens the page with an agent, ready to be asked.
func open(t *testing.T, agent string) (*pagetest.Server, *pagetest.Page) {
	h := pagetest.New(t, localservice.Options{Script: []byte(script)})
	p := h.Open("/example/chat/?agent=" + agent)
	p.Ready()
	return h, p
}

// The whole page without a mouse: an answer is shown while it streams, and heard
// once it is whole; the visitor answers a tool; a suggested question is asked.
func TestConversationByKeyboard(t *testing.T) {
	t.Parallel()
	_, p := open(t, "tools")
	p.Do(nil, `
		window.announced = []
		new MutationObserver(() => announced.push(document.getElementById("announcer").textContent))
			.observe(document.getElementById("announcer"), {childList: true})`)
	p.Keys("Stream\r")
	p.AwaitTrue(`document.querySelector(".turn[data-who=agent] .text")?.innerHTML === "<p>First <strong>bold</strong> words.</p>"`)
	p.AwaitTrue(`document.activeElement.textContent === "Sunny"`)
	p.Keys("\t\r")
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
	p.AwaitAnnouncement("the end")
	p.WantTranscript("You: Stream", "Taylor: First bold words. it is cloudy the end")
	var announced []string
	p.Do(&announced, `return announced`)
	if want := []string{
		"The agent asks you: what is the weather in Lisbon? Sunny Cloudy Rainy Snowy",
		"Taylor: First bold words.\nit is cloudy\nthe end",
	}; strings.Join(announced, "|") != strings.Join(want, "|") {
		t.Errorf("a screen reader heard %q, want %q", announced, want)
	}

	// Backwards from the text: the suggestions, the last one first.
	p.Keys("\t\t", chromedp.KeyModifiers(8)) // shift
	p.AwaitTrue(`document.activeElement.textContent === "And then?"`)
	p.Keys("\r")
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
	p.AwaitAnnouncement("That was all.")
	p.WantTranscript("You: Stream", "Taylor: First bold words. it is cloudy the end", "You: And then?", "Taylor: That was all.")
	p.AwaitTrue(`document.querySelector(".suggestions").hidden`)

	// Shift and Enter begin a line.
	p.Keys("one")
	p.Keys("\r", chromedp.KeyModifiers(8))
	p.Keys("two")
	p.AwaitTrue(`document.querySelector("textarea").value.trim() === "one\ntwo"`)
	p.Keys("\r")
	p.AwaitAnnouncement("You said:")
	if said := p.Transcript(); len(said) != 6 || said[4] != "You: one two" {
		t.Errorf("the log shows %q", said)
	}
}

func TestSuggestionsAreAsked(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	p.AwaitTrue(`document.querySelectorAll(".chip").length === 3`)
	p.Press(".chip")
	p.AwaitAnnouncement("agentruntime puts a live, talking AI agent into a web page.")
	if got := p.Transcript(); len(got) != 2 || got[0] != "You: What is agentruntime?" {
		t.Errorf("the log shows %q", got)
	}
	p.AwaitTrue(`document.querySelectorAll(".chip").length > 0`)
	p.AwaitTrue(`document.querySelector(".sources a").href.endsWith("/knowledge/agentruntime.md")`)
}

func TestAnswerIsStopped(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	streaming := `document.querySelector(".turn:last-child .text").textContent.startsWith("on and on and on")`
	p.Keys("Forever\r")
	p.AwaitTrue(streaming)
	p.Keys("\x1b")
	p.AwaitTrue(`document.querySelector(".turn:last-child .remark")?.textContent === "You stopped this answer."`)
	p.AwaitTrue(`document.querySelector("#composer .stop").hidden`)
	p.Ask("And then?", "That was all.")

	p.Keys("Forever\r")
	p.AwaitTrue(streaming)
	p.Keys("\t")
	p.AwaitTrue(`document.activeElement.classList.contains("stop")`)
	p.Keys("\r")
	p.AwaitTrue(`document.querySelector(".turn:last-child .remark")?.textContent === "You stopped this answer."`)
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
	p.Ask("And then?", "That was all.")
}

// What was said stays, and the question can be asked again.
func TestFailedAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	h, p := open(t, "receptionist")
	p.Allow("ERR_INCOMPLETE_CHUNKED_ENCODING")
	p.Allow("503")
	p.Keys("Break\r")
	p.AwaitTrue(`document.querySelector(".turn:last-of-type .text").textContent === "So far so good."`)
	p.AwaitTrue(`document.activeElement.textContent === "Sunny"`)
	p.Keys("\r")
	p.AwaitTrue(`document.querySelector(".turn [role=alert] p")?.textContent.includes("Please")`)
	p.WantTranscript("You: Break", "Robin: So far so good.")

	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/assistant/converse" {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
	p.Keys("And then?\r")
	p.AwaitTrue(`document.querySelector(".turn:last-child [role=alert] p")?.textContent === "The service has a problem. Please try again."`)
	h.Intercept(nil)
	p.Press(".turn:last-child [role=alert] button")
	p.AwaitAnnouncement("That was all.")
	p.WantTranscript("You: Break", "Robin: So far so good.", "You: And then?", "Robin: ", "Robin: That was all.")
}

// A token that has run out is replaced, and the question can be asked again.
func TestTokenRunsOut(t *testing.T) {
	t.Parallel()
	h, p := open(t, "receptionist")
	p.Allow("401")
	p.Ask("My name is Ada.", "Ada")
	before := h.Count(http.MethodPost, "/v1/application/appInit")
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/assistant/converse" {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	})
	p.Keys("What is my name?\r")
	p.AwaitTrue(`document.querySelector(".turn:last-child [role=alert] p")?.textContent === "Your access to this conversation has expired. Please try again, or reload this page."`)
	h.Intercept(nil)
	p.AwaitTrue(`!document.querySelector("#composer .send").disabled`)
	p.Press(".turn:last-child [role=alert] button")
	p.AwaitAnnouncement("Your name is Ada.")
	if after := h.Count(http.MethodPost, "/v1/application/appInit"); after != before+1 {
		t.Errorf("tokens were asked for %d times, then %d times", before, after)
	}
}

// A reload goes on where the conversation was; a new one knows nothing of it.
func TestConversationOutlivesReload(t *testing.T) {
	t.Parallel()
	h, p := open(t, "receptionist")
	p.Ask("My name is Ada.", "Ada")
	before := p.Transcript()
	var thread string
	p.Do(&thread, `return JSON.parse(sessionStorage.getItem("agentruntime chat receptionist")).threadId`)
	if err := p.Navigate(p.Context(), h.URL+"/example/chat/?agent=receptionist"); err != nil {
		t.Fatal(err)
	}
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
	p.WantTranscript(before...)
	p.Ask("What is my name?", "Ada")
	if asked := h.UserMessages(thread); strings.Join(asked, "|") != "My name is Ada.|What is my name?" {
		t.Errorf("the thread has %q", asked)
	}

	p.Press("#new")
	p.AwaitTrue(`document.querySelectorAll(".turn").length === 0 && document.querySelectorAll(".chip").length === 3`)
	h.AwaitSessionCompleted(thread)
	p.AwaitTrue(`document.activeElement.localName === "textarea"`)
	p.Keys("What is my name?\r")
	p.AwaitTrue(`document.querySelectorAll(".turn").length === 2 && document.querySelector("#composer .stop").hidden`)
	if got := p.Transcript(); strings.Contains(got[1], "Ada") {
		t.Errorf("the new conversation knows %q", got[1])
	}
}

// A page that comes back from the back-forward cache goes on.
func TestConversationOutlivesLeaving(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	p.Ask("My name is Ada.", "Ada")
	if err := p.Navigate(p.Context(), "about:blank"); err != nil {
		t.Fatal(err)
	}
	back := make(chan struct{}, 1)
	p.OnNavigate(func(string) { back <- struct{}{} })
	p.Do(nil, `setTimeout(() => history.back())`)
	select {
	case <-back:
	case <-p.Context().Done():
		t.Fatal("the page did not come back")
	}
	p.AwaitTrue(`document.querySelector("#composer .send")?.disabled === false`)
	p.Do(nil, `document.querySelector("textarea").focus()`)
	p.Ask("What is my name?", "Your name is Ada.")
}

// Each agent has a conversation of its own.
func TestAgentIsChanged(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	p.Ask("And then?", "That was all.")
	choose := func(name string) {
		t.Helper()
		p.Do(nil, `
			const field = document.getElementById("agent")
			field.focus()
			field.value = [...field.options].find(({text}) => text === `+jsonOf(name)+`).value
			field.dispatchEvent(new Event("change"))`)
	}
	choose("Taylor")
	p.AwaitTrue(`document.querySelectorAll(".turn").length === 0 && document.querySelector(".chip")?.textContent === "Save a note: call back tomorrow"`)
	p.AwaitTrue(`document.activeElement.id === "agent"`)
	choose("Robin")
	p.AwaitTrue(`document.querySelectorAll(".turn").length === 2 && !document.querySelector("#composer .send").disabled`)
	p.WantTranscript("You: And then?", "Robin: That was all.")
}

// The tools of the page do what the agent asks, and the agent hears of it.
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
	p.Do(&link, `const {href, rel, target} = document.querySelector(".note a"); return {Href: href, Rel: rel, Target: target}`)
	if !strings.HasPrefix(link.Href, h.URL+"/") || link.Rel != "noopener noreferrer" || link.Target != "_blank" {
		t.Errorf("consent is asked for with %+v", link)
	}
	consent := h.Open(strings.TrimPrefix(link.Href, h.URL))
	consent.AwaitTrue(`document.activeElement.localName === "button"`)
	consent.Keys("\r")
	h.Await("the consent", func(v pagetest.Request) bool { return v.Method == http.MethodPost && v.Path == "/oauth/consent" })
	p.Press(".note button")
	p.AwaitAnnouncement("Your calendar is connected.")
}

func TestAnswerIsCopied(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	for _, permission := range []string{"clipboard-read", "clipboard-write"} {
		if err := p.SetPermission(p.Context(), permission, browsertest.Granted); err != nil {
			t.Fatal(err)
		}
	}
	p.Ask("What can you do?", "Make flashcards")
	p.Press(`[part~=copy-answer]`)
	p.AwaitTrue(`document.getElementById("announcer").textContent === "Copied."`)
	var copied string
	p.Do(&copied, `return navigator.clipboard.readText()`)
	if !strings.Contains(copied, "\n- Make flashcards about threads\n") {
		t.Errorf("copied %q", copied)
	}
}

func TestAnswerIsRated(t *testing.T) {
	t.Parallel()
	h, p := open(t, "receptionist")
	p.Ask("And then?", "That was all.")
	for label, want := range map[string]string{"Good answer": `"is_positive":true`, "Bad answer": `"is_positive":false`} {
		p.Press(`.agent-answer [aria-label="` + label + `"]`)
		v := h.Await(label, func(v pagetest.Request) bool { return v.Path == "/feedback/add" && strings.Contains(v.Body, want) })
		if v.Status != http.StatusOK || !v.Authorised {
			t.Errorf("%s: %+v", label, v)
		}
		p.AwaitTrue(`document.querySelector('.agent-answer [aria-pressed="true"]')?.ariaLabel === ` + jsonOf(label))
	}
	p.AwaitTrue(`document.querySelectorAll('.agent-answer [aria-pressed="true"]').length === 1`)
}

// An agent that takes no variables says so once, and goes on without them.
func TestDetailsAreRefused(t *testing.T) {
	t.Parallel()
	_, p := open(t, "novars")
	p.Ask("And then?", "That was all.")
	p.Keys("Ask me for my details\r")
	p.AwaitTrue(`document.querySelector(".form") !== null && document.querySelector("#composer .stop").hidden`)
	p.Do(nil, `document.querySelector(".form input").focus()`)
	p.Keys("Ada\r")
	p.AwaitTrue(`document.querySelector(".form [role=status]").textContent.startsWith("Thank you.")`)
	p.Do(nil, `document.querySelector("textarea").focus()`)
	p.Keys("And then?\r")
	p.AwaitTrue(`document.querySelector(".turn:last-child [role=alert] p")?.textContent.startsWith("This agent does not accept additional details.")`)
	p.AwaitTrue(`!document.querySelector("#composer .send").disabled`)
	p.Press(".turn:last-child [role=alert] button")
	p.AwaitAnnouncement("That was all.")
}

func TestDetailsAreKnown(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	p.Ask("Ask me for my details", "Please fill in what you like.")
	p.Do(nil, `document.querySelector(".form input").focus()`)
	p.Keys("Grace\r")
	p.AwaitTrue(`document.querySelector(".form [role=status]").textContent === "Thank you. Robin knows it from your next message on."`)
	p.Do(nil, `document.querySelector("textarea").focus()`)
	p.Ask("What is my name?", "Grace")
}

func TestNothingIsSaid(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	p.Keys("Nothing\r")
	p.AwaitTrue(`document.querySelector(".note")?.textContent === "Robin had nothing to say."`)
	p.WantTranscript("You: Nothing")
}

func TestServiceIsAway(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{Script: []byte(script)})
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/example/") || strings.HasPrefix(r.URL.Path, "/js/") {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	p := h.Open("/example/chat/")
	p.Allow("503")
	p.AwaitTrue(`document.querySelector(".note p")?.textContent === "The service has a problem. Please try again."`)
	p.AwaitTrue(`document.activeElement.textContent === "Try again"`)
	h.Intercept(nil)
	p.Keys("\r")
	p.AwaitTrue(`!document.querySelector("#composer .send").disabled && document.querySelectorAll(".chip").length === 3`)
}

func TestEverybodyCanUseIt(t *testing.T) {
	t.Parallel()
	_, p := open(t, "receptionist")
	p.AwaitTrue(`document.querySelectorAll(".chip").length === 3`)
	things := p.AccessibilityNodes()
	for _, want := range []pagetest.AccessibilityNode{
		{Role: "heading", Name: "Chat with an agent"},
		{Role: "navigation", Name: "Examples"},
		{Role: "link", Name: "Both"},
		{Role: "link", Name: "Playground"},
		{Role: "combobox", Name: "Agent"},
		{Role: "button", Name: "New conversation"},
		{Role: "log", Name: "Conversation"},
		{Role: "list", Name: "Ask something, for example"},
		{Role: "button", Name: "What can you do?"},
		{Role: "textbox", Name: "Your message"},
		{Role: "button", Name: "Send"},
		{Role: "region", Name: "Guide"},
	} {
		if !slices.Contains(things, want) {
			t.Errorf("no %+v in %+v", want, things)
		}
	}
	p.Ask("How do I add an agent to my page?", "Give it an element")
	p.Keys("Forever\r")
	p.AwaitTrue(`document.querySelector(".turn:last-child .text").textContent.startsWith("on and on")`)
	p.Keys("\x1b")
	p.AwaitTrue(`document.querySelector(".turn:last-child .remark") !== null`)
	p.Accessible()
}
