package brain

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Forms of an answer from the documents, with the names of force_experience
// (wire-protocol §9.1).
const (
	flashcards    = "flashcards"
	summarization = "summarization"
	markdown      = "markdown"
)

// How much of the documents goes into an answer.
const (
	maxHits       = 3   // passages of an ordinary answer
	maxItems      = 6   // flashcards, or points of a summary
	snippetLength = 160 // bytes
)

// DocumentPrefix is where the documents can be read, under the service's origin.
const DocumentPrefix = "/knowledge/"

// form is how the page wants to have its answer, or the user asks for it; "" is
// an ordinary answer.
func (t *turn) form() string {
	switch {
	case !t.mayShow(Experiences):
		return ""
	case t.q.Experience == flashcards, t.asks("flashcards"):
		return flashcards
	case t.q.Experience == summarization, t.asks("summarize"), t.asks("summarise"), t.asks("summary"):
		return summarization
	}
	return ""
}

// formWords say what form an answer shall have, and nothing of its topic.
var formWords = []string{"flashcards", "summarize", "summarise", "summary", "make", "create", "cards"}

// topic returns the words to look for. The form of an answer alone means what was
// asked last.
func (t *turn) topic() []string {
	pick := func(words []string) []string {
		return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
			return common[w] || t.form() != "" && slices.Contains(formWords, w)
		})
	}
	words := pick(t.words)
	for _, text := range slices.Backward(t.said(false)) {
		if len(words) > 0 || t.form() == "" {
			break
		}
		words = pick(wordsOf(text))
	}
	return words
}

// lookUp answers from the documents, when the question has words to look for.
func (t *turn) lookUp() (found bool, err error) {
	words := t.topic()
	if t.demo.Knowledge == nil || len(words) == 0 || !t.q.Capabilities.On(UseKnowledge) {
		return false, nil
	}
	if err := t.out.Think("Looking into the documents."); err != nil {
		return false, err
	}
	form, limit := t.form(), maxHits
	if form != "" {
		limit = maxItems
	}
	hits, err := t.demo.Knowledge.SearchKnowledge(t.ctx, strings.Join(words, " "), limit)
	if err != nil || len(hits) == 0 {
		return false, err
	}
	switch form {
	case flashcards:
		err = t.flashcards(hits)
	case summarization:
		err = t.summary(hits)
	default:
		err = t.quote(hits)
	}
	if err != nil {
		return false, err
	}
	for _, hit := range hits[1:] {
		if strings.HasSuffix(hit.Heading, "?") {
			t.related = append(t.related, hit.Heading)
		}
	}
	if !t.q.Capabilities.On(Sources) {
		return true, nil
	}
	return true, sources(t.out, t.sources(hits[:min(len(hits), maxHits)]))
}

// quote gives the best passage: as it stands to somebody who reads, its first
// sentences to somebody who listens.
func (t *turn) quote(hits []store.Passage) error {
	if t.reads() {
		text := bounded(hits[0].Body)
		if t.q.Experience == markdown && hits[0].Heading != "" {
			text = "### " + hits[0].Heading + "\n\n" + text
		}
		return t.say(text)
	}
	if t.q.Avatar && t.q.Capabilities.On(AvatarFiller) {
		if err := t.out.Filler("Let me look that up. "); err != nil {
			return err
		}
	}
	for _, hit := range hits {
		if text := gist(hit); text != "" {
			return t.say(text)
		}
	}
	return t.say("My documents have an example of that, but it is code: better read than heard.")
}

// gist is what can be said of a passage.
func gist(p store.Passage) string { return firstSentences(plain(p.Body), spokenSentences) }

// flashcard is one card of a flashcards widget (wire-protocol §4.4.3).
type flashcard struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

func (t *turn) flashcards(hits []store.Passage) error {
	var cards []flashcard
	for _, hit := range hits {
		if answer := gist(hit); answer != "" {
			cards = append(cards, flashcard{nameOf(hit), answer})
		}
	}
	if err := t.say(fmt.Sprintf("Here are flashcards from my documents, %d of them.", len(cards))); err != nil {
		return err
	}
	return listWidget(t.out, "flashcards-tool", map[string]string{"title": hits[0].Title}, "cards", cards)
}

func (t *turn) summary(hits []store.Passage) error {
	var points []string
	for _, hit := range hits {
		if text := firstSentences(plain(hit.Body), 1); text != "" {
			points = append(points, nameOf(hit)+" — "+text)
		}
	}
	text := gist(hits[0])
	if err := t.say(text); err != nil {
		return err
	}
	return listWidget(t.out, "summary-tool", map[string]string{"title": hits[0].Title, "summary": text}, "bullets", points)
}

// nameOf is what a passage is about.
func nameOf(p store.Passage) string {
	if p.Heading != "" {
		return p.Heading
	}
	return p.Title
}

// listWidget shows a widget of some fields and a list, an item a fragment.
func listWidget[T any](out Sink, runtime string, fields map[string]string, key string, list []T) error {
	head, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	fragments := []string{fmt.Sprintf(`%s,%q:[`, strings.TrimSuffix(string(head), "}"), key)}
	for i, item := range list {
		text, err := json.Marshal(item)
		if err != nil {
			return err
		}
		fragments = append(fragments, strings.Repeat(",", min(i, 1))+string(text))
	}
	return out.Widget(runtime, append(fragments, "]}")...)
}

// source is one entry of a sources widget.
type source struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

func (t *turn) sources(hits []store.Passage) []source {
	list := make([]source, len(hits))
	for i, hit := range hits {
		title := hit.Title
		if hit.Heading != "" {
			title += ": " + hit.Heading
		}
		list[i] = source{Title: title, URL: t.document(hit), Snippet: shorten(plain(hit.Body), snippetLength)}
	}
	return list
}

// document is the address of the document that a passage is of.
func (t *turn) document(p store.Passage) string {
	return t.q.Site + DocumentPrefix + (&url.URL{Path: p.Source}).EscapedPath()
}

func sources(out Sink, list []source) error {
	body, err := json.Marshal(map[string][]source{"sources": list})
	if err != nil {
		return err
	}
	return out.Widget("sources-tool", string(body))
}

// suggestions are questions to go on with: related headings first, then the
// agent's starters, without the question itself.
func (t *turn) suggestions() []string {
	var list []string
	for _, s := range append(t.related, t.q.Profile.Starters...) {
		if !strings.EqualFold(s, t.q.Text) && !slices.Contains(list, s) && len(list) < maxHits {
			list = append(list, s)
		}
	}
	return list
}

// common words say nothing about what a question is about.
var common = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`a about am an and any are as at be been but by can can't could did do does doesn't don't
		for from get give had has have he her his how i i'm if in into is isn't it it's its just know let like many me
		more much my name no not of on one or our out over please say she should so some tell than that the their
		them then there these they this those to today too up us very was we were what what's when where which
		who why will with would yes you you're your`) {
		set[w] = true
	}
	return set
}()
