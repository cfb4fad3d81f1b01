package chat

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// allWidgets answers with every widget there is, and with things that no widget
// should hold.
const allWidgets = `
rules:
  - when: {exact: "Widgets"}
    steps:
      - say: "All of them."
      - widget: {runtime: flashcards-tool, body: {title: "Cards", cards: [{front: "One?", back: "1"}, {front: "Two?", back: "2", label: "Hard"}]}}
      - widget: {runtime: sources-tool, body: {sources: [{title: "A", url: "https://a.example/", snippet: "<b>about</b> a"}, {title: "B", url: "javascript:alert(1)"}]}}
      - widget: {runtime: summary-tool, body: {title: "Sum", summary: "In <short>.", bullets: ["x", "<img src=y>"]}}
      - widget: {runtime: video-gallery-tool, body: {title: "Films", videos: [{entryId: "1", title: "Film", url: "https://v.example/1", duration: 65}, {entryId: "2", title: "No address"}]}}
      - widget: {runtime: show-link-tool, body: {url: "mailto:a@b.example", label: "Mail"}}
      - widget: {runtime: external-video-tool, body: {url: "https://v.example/2", title: "Clip", provider: "Somebody"}}
      - widget: {runtime: content-gallery-tool, body: {title: "Slides", items: [{title: "Slide", description: "<i>", url: "/example/chat/", imageUrl: "/example/avatar/icon.svg", alt: "Face"}]}}
      - widget:
          runtime: user-properties-form-tool
          body:
            title: "About you"
            fields:
              - {key: user_name, type: str, label: "Name", required: true, knownValue: "Ada"}
              - {key: user_age, type: int, label: "Age"}
              - {key: user_ok, type: bool, label: "Agreed"}
              - {key: user_about, type: text, label: "About", description: "<script>"}
      - widget: {runtime: chart-tool, body: {kind: bar}}
      - widget: {runtime: followups-tool, body: {questions: ["<b>Next?</b>"]}}
`

func TestEveryWidgetIsDrawn(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{Script: []byte(allWidgets)})
	p := h.Open("/example/chat/")
	p.Ready()
	p.Ask("Widgets", "All of them.")
	var got map[string]string
	p.Do(&got, `
		const texts = {}
		for (const element of inAgent("[part=log]").querySelectorAll(".agent-widget")) {
			texts[element.className] = element.textContent.replace(/\s+/g, " ").trim()
		}
		return texts`)
	for class, want := range map[string]string{
		"flashcards agent-widget": "CardsQuestionOne?Previous1 of 2NextShow the answer",
		"sources agent-widget":    "2 sourcesA<b>about</b> aB",
		"summary agent-widget":    "SumIn <short>.x<img src=y>",
		"gallery agent-widget":    "SlidesSlide<i>" + strings.TrimPrefix(h.URL, "http://"),
		"tile link agent-widget":  "Mail",
		"tile video agent-widget": "ClipWatch on Somebody",
		"form agent-widget":       "About youNameAge (optional)Agreed (optional)About (optional)<script>Send",
		"agent-widget":            `chart{ "kind": "bar" }`,
		"followups agent-widget":  "Ask next<b>Next?</b>",
	} {
		if got[class] != want {
			t.Errorf("%s is %q, want %q", class, got[class], want)
		}
	}
	var links []string
	p.Do(&links, `return [...inAgent("[part=log]").querySelectorAll("a")].map(({href, rel, target}) => href + " " + rel + " " + target)`)
	want := []string{"https://a.example/", "https://v.example/1", "https://v.example/2", h.URL + "/example/chat/"}
	if len(links) != len(want) {
		t.Fatalf("the links are %q, want %q", links, want)
	}
	for i, link := range links {
		if link != want[i]+" noopener noreferrer _blank" {
			t.Errorf("link %q, want %q", link, want[i])
		}
	}
	p.Accessible()
}

// A field may have the name of a property of the form, which it then hides.
func TestFormFieldsNamedLikeMethods(t *testing.T) {
	t.Parallel()
	names := []string{"append", "addEventListener", "elements", "submit", "id", "children"}
	script := `
rules:
  - when: {exact: "Widgets"}
    steps:
      - say: "All of them."
      - widget: {runtime: user-properties-form-tool, body: {title: "Odd", fields: [`
	for _, name := range names {
		script += `{key: ` + name + `, type: str, label: "` + name + `"},`
	}
	h := pagetest.New(t, localservice.Options{Script: []byte(strings.TrimSuffix(script, ",") + "]}}\n")})
	p := h.Open("/example/chat/")
	p.Ready()
	p.Ask("Widgets", "All of them.")
	p.AwaitTrue(`inAgent("[part=log]").querySelectorAll(".form input").length === ` + pagetest.JSON(len(names)))
	p.Do(nil, `
		for (const input of inAgent("[part=log]").querySelectorAll(".form input")) input.value = "my " + input.name
		inAgent(".form button").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`inAgent(".form [role=status]").textContent.startsWith("Thank you.")`)
	p.Do(nil, `inAgent("textarea").focus()`)
	p.Keys("Widgets\r")
	h.Await("the form's values", func(v pagetest.Request) bool {
		for _, name := range names {
			if !strings.Contains(v.Body, `"`+name+`":"my `+name+`"`) {
				return false
			}
		}
		return v.Path == "/assistant/converse"
	})
}
