package brain

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg" // stills
	_ "image/png"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/template"
)

// TriggerUnheard is the trigger of a turn in which speech was detected but its words
// are unknown, because no recogniser is configured or the recogniser failed.
const TriggerUnheard = "speech-without-words"

// Values of force_experience that change an answer (protocol §9.1).
const (
	avatarOnly    = "avatar_only"
	flashcards    = "flashcards"
	summarization = "summarization"
	markdown      = "markdown"
)

// Limits of what an answer quotes.
const (
	maxHits       = 3   // passages of an ordinary answer
	maxItems      = 6   // flashcards, or points of a summary
	maxListed     = 8   // of the user's messages, the newest
	snippetLength = 160 // bytes
)

// DocumentPrefix is the path of the documents under the service's origin.
const DocumentPrefix = "/knowledge/"

// Demo is the built-in brain, without a language model. It calls the page's tools,
// recalls the thread, quotes skills, plays demo.yaml, and quotes documents.
type Demo struct {
	Knowledge Searcher
	Pace      time.Duration // between two pieces; see DefaultPace
}

var _ Brain = (*Demo)(nil)

//go:embed demo.yaml
var demoYAML []byte

// fixedAnswers parses demo.yaml, which is part of the program: an error in it is a
// defect.
var fixedAnswers = sync.OnceValue(func() *Script {
	script, err := ParseScript(demoYAML)
	if err != nil {
		panic(err)
	}
	return script
})

// Answer implements [Brain].
func (d *Demo) Answer(ctx context.Context, q *Question, out Sink) error {
	t := turn{speaker: speaker{ctx, out, d.Pace}, Question: q, knowledge: d.Knowledge, words: wordsOf(q.Text)}
	if err := out.Think("Reading the question."); err != nil {
		return err
	}
	if err := t.answer(); err != nil {
		return err
	}
	if suggestions := t.suggestions(); len(suggestions) > 0 && q.Capabilities.On(Followups) {
		return followups(out, suggestions)
	}
	return nil
}

// turn is one answer of the demo brain.
type turn struct {
	speaker
	*Question
	knowledge Searcher
	words     []string // of the question, in lower case
	related   []string // headings that fit the question
}

// answer tries the kinds of answers, the most specific first.
func (t *turn) answer() error {
	if tool, args, ok := matchTool(t.Profile.Tools, t.Text); ok {
		return t.useTool(tool, args)
	}
	if text := t.recall(); text != "" {
		return t.say(text)
	}
	if text := t.useSkill(); text != "" {
		return t.say(text)
	}
	if rule := fixedAnswers().match(t.Question); rule != nil {
		vars := map[string]any{"agent_name": t.Profile.DisplayName}
		maps.Copy(vars, t.Vars)
		vars["site"], vars["user_name"] = t.Site, t.userName()
		return play(t.speaker, rule, t.Question, vars)
	}
	if t.contain("screen") && t.Screen != nil {
		return t.say(describeImage("screen", t.Screen))
	}
	if t.contain("camera") && t.Camera != nil {
		return t.say(describeImage("camera", t.Camera))
	}
	found, err := t.quoteDocuments()
	if err != nil || found {
		return err
	}
	return t.say(fmt.Sprintf("I'm only a demo without a language model, so I can't answer that. You said: %s", t.Text))
}

// contain reports whether all these words are in the question.
func (t *turn) contain(words ...string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(t.words, w) })
}

// wordsOf cuts text into words in lower case, without punctuation.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
}

func describeImage(of string, data []byte) string {
	config, kind, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return "I received a picture of your " + of + ", but I can't read it."
	}
	return fmt.Sprintf("I received a picture of your %s, a %s of %d by %d pixels. I have no model that could tell what is on it.",
		of, strings.ToUpper(kind), config.Width, config.Height)
}

// nameIn finds the name in "my name is Sam".
var nameIn = regexp.MustCompile(`(?i)\bmy name is ([\pL'-]+)`)

// recall answers from the thread's history, "" for other questions.
func (t *turn) recall() string {
	if match := nameIn.FindStringSubmatch(t.Text); match != nil {
		return fmt.Sprintf("Nice to meet you, %s. I'll remember your name.", match[1])
	}
	if t.contain("did", "you", "just", "say") {
		if said := t.said(true); len(said) > 0 {
			return "I said: " + plain(said[len(said)-1])
		}
		return "I haven't said anything before this."
	}
	asked := t.said(false)
	first, last := t.contain("did", "i", "say", "first"), t.contain("did", "i", "just")
	list := t.contain("we", "talk", "about") || t.contain("we", "talked", "about")
	switch {
	case t.contain("my", "name") && (t.contain("what") || t.contain("what's") || t.contain("know")):
		if name := t.userName(); name != "" {
			return fmt.Sprintf("Your name is %s.", name)
		}
		return "You haven't told me your name yet."
	case !first && !last && !list:
		return ""
	case len(asked) == 0:
		return "You haven't said anything before this."
	case first:
		return "The first thing you said was: " + asked[0]
	case last:
		return "You said: " + asked[len(asked)-1]
	}
	for i, text := range asked {
		asked[i] = shorten(strings.Join(strings.Fields(text), " "), snippetLength)
	}
	asked = asked[max(0, len(asked)-maxListed):]
	if !t.read() {
		return "You said this: " + strings.Join(asked, "; ")
	}
	return "You said this:\n\n- " + strings.Join(asked, "\n- ")
}

// said returns the messages of one side before this turn, oldest first.
func (t *turn) said(agent bool) []string {
	var list []string
	for _, line := range t.History {
		if line.Agent == agent && !line.System {
			list = append(list, line.Text)
		}
	}
	return list
}

// userName returns the name that the user gave last, else that of the page, else "".
func (t *turn) userName() string {
	for _, text := range slices.Backward(t.said(false)) {
		if match := nameIn.FindStringSubmatch(text); match != nil {
			return match[1]
		}
	}
	return template.Text(t.Vars["user_name"])
}

// quoteDocuments answers from the documents, when the question has words to search
// for.
func (t *turn) quoteDocuments() (found bool, err error) {
	topic := slices.DeleteFunc(slices.Clone(t.words), func(w string) bool { return common[w] })
	if t.knowledge == nil || len(topic) == 0 || !t.Capabilities.On(UseKnowledge) {
		return false, nil
	}
	if err := t.out.Think("Searching the documents."); err != nil {
		return false, err
	}
	hits, err := t.knowledge.SearchKnowledge(t.ctx, t.Profile.KnowledgeIDs, strings.Join(topic, " "), maxItems)
	if err != nil || len(hits) == 0 {
		return false, err
	}
	widgets := t.shows(Experiences)
	switch {
	case widgets && (t.Experience == flashcards || t.contain("flashcards")):
		err = t.flashcards(hits)
	case widgets && (t.Experience == summarization || t.contain("summarize")):
		err = t.summary(hits)
	default:
		hits = hits[:min(len(hits), maxHits)]
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
	if !t.Capabilities.On(Sources) {
		return true, nil
	}
	return true, t.sources(hits[:min(len(hits), maxHits)])
}

// quote gives the best passage: as Markdown when it is read, its first sentences
// when it is spoken.
func (t *turn) quote(hits []store.Passage) error {
	if t.read() {
		text := bounded(hits[0].Body)
		if t.Experience == markdown && hits[0].Heading != "" {
			text = "### " + hits[0].Heading + "\n\n" + text
		}
		return t.say(text)
	}
	if t.Avatar && t.Capabilities.On(AvatarFiller) {
		if err := t.out.Filler("Let me look that up. "); err != nil {
			return err
		}
	}
	for _, hit := range hits {
		if text := spoken(hit, spokenSentences); text != "" {
			return t.say(text)
		}
	}
	return t.say("My documents have an example of that, but it is code, which is better read than spoken.")
}

// flashcards and the other widgets have the bodies of protocol §4.4.3.
func (t *turn) flashcards(hits []store.Passage) error {
	type card struct {
		Question string `json:"question"`
		Answer   string `json:"answer"`
	}
	var cards []card
	for _, hit := range hits {
		if answer := spoken(hit, spokenSentences); answer != "" {
			cards = append(cards, card{headingOf(hit), answer})
		}
	}
	if err := t.say(fmt.Sprintf("Here are flashcards from my documents, %d of them.", len(cards))); err != nil {
		return err
	}
	return t.widget("flashcards-tool", map[string]any{"title": hits[0].Title, "cards": cards})
}

func (t *turn) summary(hits []store.Passage) error {
	var bullets []string
	for _, hit := range hits {
		if text := spoken(hit, 1); text != "" {
			bullets = append(bullets, headingOf(hit)+" — "+text)
		}
	}
	text := spoken(hits[0], spokenSentences)
	if err := t.say(text); err != nil {
		return err
	}
	return t.widget("summary-tool", map[string]any{"title": hits[0].Title, "summary": text, "bullets": bullets})
}

func (t *turn) sources(hits []store.Passage) error {
	type source struct {
		Title   string `json:"title"`
		URL     string `json:"url,omitempty"`
		Snippet string `json:"snippet"`
	}
	list := make([]source, len(hits))
	for i, hit := range hits {
		title := hit.Title
		if hit.Heading != "" {
			title += ": " + hit.Heading
		}
		list[i] = source{
			Title: title, Snippet: shorten(plain(hit.Body), snippetLength),
		}
		if hit.Source != "" { // passages without a source have no page of their own
			list[i].URL = t.Site + DocumentPrefix + (&url.URL{Path: hit.Source}).EscapedPath()
		}
	}
	return t.widget("sources-tool", map[string]any{"sources": list})
}

func (t *turn) widget(runtime string, body map[string]any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return t.out.Widget(runtime, string(text))
}

func headingOf(p store.Passage) string {
	if p.Heading != "" {
		return p.Heading
	}
	return p.Title
}

// suggestions are follow-up questions: related headings first, then the agent's
// starters, without the question itself.
func (t *turn) suggestions() []string {
	var list []string
	for _, s := range append(t.related, t.Profile.Starters...) {
		if !strings.EqualFold(s, t.Text) && !slices.Contains(list, s) && len(list) < maxHits {
			list = append(list, s)
		}
	}
	return list
}

// common words are not searched for: those of any question, and those that name the
// form of an answer.
var common = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`a about am an and any are as at be been but by can can't could did do does doesn't don't
		for from get give had has have he her his how i i'm if in into is isn't it it's its just know let like many me
		more much my name no not of on one or our out over please say she should so some tell than that the their
		them then there these they this those to today too up us very was we were what what's when where which
		who why will with would yes you you're your make flashcards summarize`) {
		set[w] = true
	}
	return set
}()
