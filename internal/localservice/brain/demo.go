package brain

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // stills of a shared screen
	_ "image/png"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// TriggerUnheard is the trigger of a turn in which speech was heard and no words
// are known, because no recogniser is configured.
const TriggerUnheard = "speech-without-words"

// Demo is the built-in brain. It has no model and says so.
type Demo struct {
	Knowledge Searcher
	Pace      time.Duration // between two pieces; see DefaultPace
}

var _ Brain = (*Demo)(nil)

// Answer implements [Brain].
func (d *Demo) Answer(ctx context.Context, q *Question, out Sink) error {
	t := turn{demo: d, q: q, speaker: speaker{ctx, out, d.Pace}}
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
	demo  *Demo
	q     *Question
	words []string // of the question, in lower case

	related []string // headings that fit the question
}

// answer tries what the brain can do, the most specific first.
func (t *turn) answer() error {
	t.words = wordsOf(t.q.Text)
	if t.q.Trigger == TriggerUnheard {
		return t.say("I heard you speak, but no speech recogniser is set up here, so I don't know the words. Please type, or set one up.")
	}
	if tool, args, ok := matchTool(t.q.Profile.Tools, t.q.Text); ok {
		return t.useTool(tool, args)
	}
	if text := t.remember(); text != "" {
		return t.say(text)
	}
	switch {
	case t.asks("long", "story"):
		return t.say(longStory)
	case t.asks("screen") && t.q.Image != nil:
		return t.say(describeImage(t.q.Image))
	case t.greets():
		return t.say("Hello! " + t.introduction())
	case t.asks("who", "are", "you"), t.asks("what", "can", "you", "do"), t.asks("help") && len(t.words) <= 3:
		return t.say(t.introduction())
	}
	found, err := t.lookUp()
	if err != nil || found {
		return err
	}
	return t.say(fmt.Sprintf("I'm only a demo without a language model, so I can't answer that. You said: %s", t.q.Text))
}

func (t *turn) introduction() string {
	return fmt.Sprintf("I'm %s, a small demo brain without a language model. "+
		"I remember what you tell me, I can answer questions about agentruntime, and I can use the tools of this page.",
		t.q.Profile.DisplayName)
}

// asks reports whether all these words are in the question.
func (t *turn) asks(words ...string) bool {
	for _, w := range words {
		if !slices.Contains(t.words, w) {
			return false
		}
	}
	return true
}

func (t *turn) greets() bool {
	return len(t.words) > 0 && len(t.words) <= 3 && slices.Contains([]string{"hello", "hi", "hey"}, t.words[0])
}

// remember answers what only the thread can tell.
func (t *turn) remember() string {
	if name := nameIn(t.q.Text); name != "" {
		return fmt.Sprintf("Nice to meet you, %s. I'll remember your name.", name)
	}
	var said []string
	for _, line := range t.q.History {
		if !line.Agent {
			said = append(said, line.Text)
		}
	}
	switch {
	case t.asks("my", "name") && (t.asks("what") || t.asks("what's") || t.asks("know") || t.asks("remember")):
		for _, text := range slices.Backward(said) {
			if name := nameIn(text); name != "" {
				return fmt.Sprintf("Your name is %s.", name)
			}
		}
		if name := format(t.q.Vars["user_name"]); name != "" {
			return fmt.Sprintf("Your name is %s; the page told me.", name)
		}
		return "You haven't told me your name yet."
	case t.asks("did", "i", "say") && t.asks("first"):
		if len(said) == 0 {
			return "You haven't said anything before this."
		}
		return fmt.Sprintf("The first thing you said was: %s", said[0])
	case t.asks("did", "i") && (t.asks("just") || t.asks("last")) && (t.asks("say") || t.asks("ask")):
		if len(said) == 0 {
			return "You haven't said anything before this."
		}
		return fmt.Sprintf("You said: %s", said[len(said)-1])
	}
	return ""
}

// lookUp answers from the documents, when the question has words to look for.
func (t *turn) lookUp() (found bool, err error) {
	words := slices.DeleteFunc(slices.Clone(t.words), func(w string) bool { return common[w] })
	if t.demo.Knowledge == nil || len(words) == 0 || !t.q.Capabilities.On(UseKnowledge) {
		return false, nil
	}
	if err := t.out.Think("Looking into the documents."); err != nil {
		return false, err
	}
	hits, err := t.demo.Knowledge.SearchKnowledge(t.ctx, strings.Join(words, " "), maxHits)
	if err != nil || len(hits) == 0 {
		return false, err
	}
	if t.q.Avatar && t.q.Capabilities.On(AvatarFiller) {
		if err := t.out.Filler("Let me look that up. "); err != nil {
			return false, err
		}
	}
	if err := t.say(firstSentences(hits[0].Body, spokenSentences)); err != nil {
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
	return true, sources(t.out, sourcesOf(hits))
}

// How much of the documents goes into an answer.
const (
	maxHits         = 3
	spokenSentences = 2
	snippetLength   = 160 // bytes
)

func sourcesOf(hits []store.Passage) []source {
	list := make([]source, len(hits))
	for i, hit := range hits {
		title := hit.Title
		if hit.Heading != "" {
			title += ": " + hit.Heading
		}
		list[i] = source{Title: title, URL: hit.Source, Snippet: shorten(hit.Body, snippetLength)}
	}
	return list
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

// wordsOf cuts text into words in lower case, without punctuation.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
}

// nameIn finds the name in "my name is Sam".
func nameIn(text string) string {
	const phrase = "my name is "
	i := strings.Index(strings.ToLower(text), phrase)
	if i < 0 || i+len(phrase) > len(text) { // lower case may be of another length
		return ""
	}
	fields := strings.FieldsFunc(text[i+len(phrase):], func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' })
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

func firstSentences(text string, n int) string {
	end := 0
	for range n {
		i := strings.Index(text[end:], ". ")
		if i < 0 {
			return text
		}
		end += i + 2
	}
	return strings.TrimSpace(text[:end])
}

// shorten cuts text at a word's end.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := text[:strings.LastIndexByte(text[:limit], ' ')+1]
	return strings.TrimSpace(cut) + "…"
}

func describeImage(data []byte) string {
	config, kind, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return "I received a picture of your screen, but I can't read it."
	}
	return fmt.Sprintf("I received a picture of your screen, a %s of %d by %d pixels. I have no model that could tell what is on it.",
		strings.ToUpper(kind), config.Width, config.Height)
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

// longStory takes about a minute to say, at 170 words a minute: long enough to
// break in, to pause, or to lose the connection in the middle of it.
const longStory = `Once upon a time there was a lighthouse keeper who had nobody to talk to. ` +
	`Every evening he lit the lamp, and every morning he put it out again. ` +
	`One night a small boat came out of the fog, and in the boat sat a parrot. ` +
	`The parrot said that it had lost its ship, and that it was looking for work. ` +
	`The keeper asked what it could do. I can talk, said the parrot, and I never get tired. ` +
	`So the keeper let it stay, and from that night on the lighthouse had a voice. ` +
	`When the fog was too thick for the lamp, the parrot called out over the water, and the ships found their way. ` +
	`The sailors began to answer. They told the parrot about far harbours, about storms, and about the price of fish. ` +
	`The parrot remembered everything, and told it to the keeper over supper. ` +
	`In the winter the keeper fell ill, and the parrot called the whole night long, until a ship heard it and sent a doctor. ` +
	`In the spring the keeper was well again. He painted the door, he oiled the lamp, and he built a second perch, right next to the window. ` +
	`And if the fog is thick tonight, you can still hear the two of them, talking about the weather.`
