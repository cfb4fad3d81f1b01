package chat

import (
	"slices"
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
            fields: # whose names are properties of a form, which they hide
              - {key: append, type: str, label: "Name", required: true, knownValue: "Ada"}
              - {key: elements, type: int, label: "Age"}
              - {key: submit, type: bool, label: "Agreed"}
              - {key: children, type: text, label: "About", description: "<script>"}
              - {key: addEventListener, type: str, label: "More"}
              - {key: id, type: str, label: "Most"}
      - widget: {runtime: chart-tool, body: {kind: bar}}
      - widget: {runtime: followups-tool, body: {questions: ["<b>Next?</b>"]}}
`

// js/test/widgets.test.ts has what each of them looks like.
func TestEveryWidgetIsDrawn(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{Script: []byte(allWidgets)})
	p := h.Open("/example/chat/")
	p.Ready()
	p.Ask("Widgets", "All of them.")
	var classes []string
	p.Do(&classes, `return [...inAgent("[part=log]").querySelectorAll(".agent-widget")].map(({className}) => className.replace(/ ?agent-widget/, ""))`)
	if all := []string{"flashcards", "sources", "summary", "gallery", "tile link", "tile video", "gallery", "form", "", "followups"}; !slices.Equal(classes, all) {
		t.Errorf("the widgets are %q, want %q", classes, all)
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
	p.Do(nil, `
		for (const input of inAgent("[part=log]").querySelectorAll(".form [name]:not([type=checkbox], [type=number])")) input.value = "my " + input.name
		inAgent(".form button").focus()`)
	p.Keys("\r")
	p.AwaitTrue(`inAgent(".form [role=status]").textContent.startsWith("Thank you.")`)
	p.Do(nil, `inAgent("[part=composer] textarea").focus()`)
	p.Keys("Widgets\r")
	h.Await("the form's values", func(v pagetest.Request) bool {
		for _, name := range []string{"append", "children", "addEventListener", "id"} {
			if !strings.Contains(v.Body, `"`+name+`":"my `+name+`"`) {
				return false
			}
		}
		return v.Path == "/assistant/converse"
	})
}
