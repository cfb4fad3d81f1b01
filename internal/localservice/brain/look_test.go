package brain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// asked returns what the demo brain makes of a question, with every widget read
// as a client reads it.
func asked(t *testing.T, q *Question) (string, []converse.Widget) {
	t.Helper()
	if q.Profile.DisplayName == "" {
		q.Profile = store.DefaultProfile()
	}
	out := &tape{}
	answer(t, &Demo{Knowledge: knowledge(t)}, q, out)
	var widgets []converse.Widget
	for _, line := range out.log {
		rest, ok := strings.CutPrefix(line, "widget ")
		if !ok {
			continue
		}
		runtime, body, _ := strings.Cut(rest, " ")
		var a converse.Assembler
		for i, fragment := range strings.Split(body, "|") {
			seg := converse.Segment{Type: converse.WidgetPiece, Content: fragment}
			if i == 0 {
				seg.Metadata = &converse.Metadata{RuntimeName: runtime}
			}
			a.Add(&seg)
		}
		for _, w := range a.End() {
			expect.Equal(t, w.Error, "", "malformed %+v", w)
			widgets = append(widgets, w)
		}
	}
	return out.text, widgets
}

const agents = "Which agents are built in?"

func TestDocumentsAreReadAsMarkdownAndHeardAsSentences(t *testing.T) {
	for _, tt := range []struct {
		name string
		q    Question
		want string
	}{
		{"text", Question{Text: agents}, "There are six:\n\n- `receptionist`, with an opening phrase and follow-ups\n- `silent`"},
		{"text, forced", Question{Text: agents, Experience: markdown}, "### Which agents are built in?\n\nThere are six:\n\n- `"},
		{"code", Question{Text: "How do I start the local service?"}, "```sh\nmake run "},
		{"link", Question{Text: "How do I add an agent to my page?"}, "Give it an element for the picture"},
		{"heard", Question{Text: agents, Avatar: true}, "There are six: receptionist, with an opening phrase and follow-ups, silent, which"},
		{"heard, forced", Question{Text: agents, Avatar: true, Experience: markdown}, "There are six: receptionist"},
		{"as if heard", Question{Text: agents, Experience: avatarOnly}, "There are six: receptionist"},
		{"code, heard", Question{Text: "How do I add an agent to my page?", Avatar: true}, "Give it an element for the picture, ask the service for a token, and connect when the visitor clicks: The example page does this"},
	} {
		got, _ := asked(t, &tt.q)
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if heard := tt.q.Avatar || tt.q.Experience == avatarOnly; heard && strings.ContainsAny(got, "`*#[\n") {
			t.Errorf("%s: %q can't be spoken", tt.name, got)
		}
	}
	if got, _ := asked(t, &Question{Text: "How do I add an agent to my page?"}); !strings.Contains(got, "```html\n<video") || !strings.Contains(got, "[example page](/example/avatar/)") {
		t.Errorf("code and link are not as they stand: %q", got)
	}
}

func find[T any](t *testing.T, widgets []converse.Widget, field func(converse.Widget) *T) *T {
	t.Helper()
	for _, w := range widgets {
		if found := field(w); found != nil {
			return found
		}
	}
	text, _ := json.Marshal(widgets)
	t.Fatalf("no %T in %s", *new(T), text)
	return nil
}

func TestFlashcardsAreMadeOfTheDocuments(t *testing.T) {
	for name, q := range map[string]*Question{
		"forced":    {Text: "What is a client tool?", Experience: flashcards},
		"asked for": {Text: "Make flashcards about client tools, please"},
	} {
		text, widgets := asked(t, q)
		got := find(t, widgets, func(w converse.Widget) *converse.Flashcards { return w.Flashcards })
		if got.Title != "Client tools" || len(got.Cards) < 2 || !strings.HasPrefix(text, "Here are flashcards from my documents") {
			t.Fatalf("%s: %q, %+v", name, text, got)
		}
		want := converse.Flashcard{
			Front: "What is a client tool?",
			Back: "A client tool is a function of the page that the agent may call, for example to save a note or to turn to another page. " +
				"The page registers it by name and receives its arguments.",
		}
		expect.Equal(t, got.Cards[0], want, "%s: first card", name)
		find(t, widgets, func(w converse.Widget) *converse.Sources { return w.Sources })
		find(t, widgets, func(w converse.Widget) *converse.Followups { return w.Followups })
	}
}

func TestSummariesAreMadeOfTheDocuments(t *testing.T) {
	for name, q := range map[string]*Question{
		"forced":    {Text: "Where does the voice come from?", Experience: summarization},
		"asked for": {Text: "Summarize where the voice comes from"},
	} {
		text, widgets := asked(t, q)
		got := find(t, widgets, func(w converse.Widget) *converse.Summary { return w.Summary })
		if got.Summary != text || !strings.HasPrefix(text, "The voice comes from espeak-ng") || len(got.Bullets) < 2 ||
			!strings.HasPrefix(got.Bullets[0], "Where does the voice come from? — The voice comes from") {
			t.Errorf("%s: %q, %+v", name, text, got)
		}
	}
}

func TestAvatarShowsNoFlashcards(t *testing.T) {
	if _, widgets := asked(t, &Question{Text: "What is a client tool?", Avatar: true, Experience: flashcards}); strings.Contains(jsonOf(widgets), "flashcards") {
		t.Errorf("an avatar shows %+v", widgets)
	}
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func TestWidgetsAreShownOnRequest(t *testing.T) {
	const site = "http://talk.test"
	on := map[string]string{ShowLink: On, VideoGallery: On, ExternalVideo: On, Followups: Off}
	ask := func(text string, client map[string]string) (string, []converse.Widget) {
		return asked(t, &Question{Text: text, Site: site, Capabilities: Layer(on, client), Vars: map[string]any{"user_email": "sam@x.test"}, History: []Line{{Text: "My name is Sam"}}})
	}
	_, widgets := ask("Show me a link to the documents", nil)
	if got := find(t, widgets, func(w converse.Widget) *converse.ShowLink { return w.ShowLink }); got.URL != site+"/knowledge/" || got.Label == "" {
		t.Errorf("link %+v", got)
	}
	_, widgets = ask("Show the gallery", nil)
	gallery := find(t, widgets, func(w converse.Widget) *converse.ContentGallery { return w.ContentGallery })
	if len(gallery.Items) != 3 || gallery.Items[0].URL != site+"/example/avatar/" || gallery.Items[0].ImageURL != site+"/example/avatar/icon.svg" {
		t.Errorf("gallery %+v", gallery)
	}
	_, widgets = ask("Show me some videos", nil)
	videos := find(t, widgets, func(w converse.Widget) *converse.VideoGallery { return w.VideoGallery })
	if len(videos.Videos) != 3 || videos.Videos[0].Duration != 635 || videos.Videos[0].URL == "" {
		t.Errorf("videos %+v", videos)
	}
	_, widgets = ask("Play a video", nil)
	if video := find(t, widgets, func(w converse.Widget) *converse.ExternalVideo { return w.ExternalVideo }); video.URL == "" || video.Title != "Big Buck Bunny" {
		t.Errorf("video %+v", video)
	}
	_, widgets = ask("Ask me for my details", nil)
	form := find(t, widgets, func(w converse.Widget) *converse.UserPropertiesForm { return w.UserPropertiesForm })
	if len(form.Fields) != 3 || form.Fields[0].KnownValue != "Sam" || !form.Fields[0].Required || form.Fields[1].Type != "email" || form.Fields[1].KnownValue != "sam@x.test" {
		t.Errorf("form %+v", form)
	}
	_, widgets = ask("Quiz me", nil)
	quiz := find(t, widgets, func(w converse.Widget) *converse.GradedQuestion { return w.GradedQuestion })
	if len(quiz.Options) != 3 || !quiz.Options[1].Correct || quiz.Options[0].Feedback == "" || quiz.Explanation == "" {
		t.Errorf("question %+v", quiz)
	}
	_, widgets = ask("Show me a table", nil)
	if table := find(t, widgets, func(w converse.Widget) *converse.Markdown { return w.Markdown }); !strings.Contains(table.Text, "AgentSession") || table.Title == "" {
		t.Errorf("markdown %+v", table)
	}

	if text, widgets := ask("Show me a link", map[string]string{ShowLink: Off}); text != "That is switched off here." || len(widgets) != 0 {
		t.Errorf("with the capability off: %q, %+v", text, widgets)
	}
	if text, _ := ask("How do I show a link or a video?", nil); strings.HasPrefix(text, "Here is the link") {
		t.Errorf("a question about links got %q", text)
	}
	if _, widgets := asked(t, &Question{Text: "Show the gallery", Avatar: true, Capabilities: Layer(on, nil)}); strings.Contains(jsonOf(widgets), "gallery") {
		t.Errorf("an avatar shows %+v", widgets)
	}
	if _, widgets := asked(t, &Question{Text: "Show the gallery", Avatar: true, Capabilities: Layer(on, map[string]string{ShowContent: On})}); !strings.Contains(jsonOf(widgets), "content-gallery") {
		t.Errorf("an avatar that may show content shows %+v", widgets)
	}
}

func TestOffersAreWhatTheBrainUnderstands(t *testing.T) {
	profile := tools()
	profile.Starters = nil
	on := Layer(map[string]string{ShowLink: On, VideoGallery: On, ExternalVideo: On, Followups: Off, Sources: Off}, nil)
	text, _ := asked(t, &Question{Text: "What can you do?", Profile: profile, Capabilities: on})
	_, list, ok := strings.Cut(text, "\n\nYou can try:\n\n- ")
	if !ok {
		t.Fatalf("%q offers nothing", text)
	}
	for offer := range strings.SplitSeq(list, "\n- ") {
		if got, _ := asked(t, &Question{Text: offer, Profile: profile, Capabilities: on}); strings.HasPrefix(got, "I'm only a demo") || strings.Contains(got, "nothing") {
			t.Errorf("%q is answered by %q", offer, got)
		}
	}
	if got, _ := asked(t, &Question{Text: "What can you do?", Profile: profile, Avatar: true}); strings.Contains(got, "\n") {
		t.Errorf("spoken: %q", got)
	}
}

func TestWhatWasSaidIsListed(t *testing.T) {
	history := []Line{
		{Agent: true, Text: "Hello!"},
		{Text: "What is\na thread?"},
		{Agent: true, Text: "A **thread** is:\n\n- stored"},
		{Text: "Which agents are there?"},
	}
	for _, tt := range []struct {
		q    Question
		want string
	}{
		{Question{Text: "What did we talk about?"}, "You haven't said anything before this."},
		{Question{Text: "What did we talk about?", History: history}, "You said this:\n\n- What is a thread?\n- Which agents are there?"},
		{Question{Text: "What have we talked about?", History: history, Avatar: true}, "You said this: What is a thread?; Which agents are there?"},
		{Question{Text: "What did you just say?", History: history}, "I said: A thread is: stored."},
		{Question{Text: "What did you just say?"}, "I haven't said anything before this."},
	} {
		if got, _ := asked(t, &tt.q); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.q.Text, got, tt.want)
		}
	}
	long := make([]Line, 11)
	for i := range long {
		long[i].Text = strings.Repeat("word ", 100)
	}
	got, _ := asked(t, &Question{Text: "What did we talk about?", History: long})
	if !strings.HasPrefix(got, "You said this:\n\n- word") || strings.Count(got, "\n- ") != maxListed || len(got) > maxListed*(snippetLength+10)+100 {
		t.Errorf("a long thread is listed as %q", got)
	}
}
