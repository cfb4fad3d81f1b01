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

// avatarOnly is the experience of an answer without anything to look at.
const avatarOnly = "avatar_only"

// Answer implements [Brain].
func (d *Demo) Answer(ctx context.Context, q *Question, out Sink) error {
	t := turn{demo: d, q: q, speaker: speaker{ctx, out, d.Pace}}
	if err := out.Think("Reading the question."); err != nil {
		return err
	}
	if err := t.answer(); err != nil {
		return err
	}
	if suggestions := t.suggestions(); !t.waits && len(suggestions) > 0 && q.Capabilities.On(Followups) {
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
	waits   bool     // for the user's consent: nothing comes after that
}

// reads reports whether somebody reads the answer; otherwise it is spoken, or
// asked for as if it were.
func (t *turn) reads() bool { return !t.q.Avatar && t.q.Experience != avatarOnly }

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
	if done, err := t.show(); done || err != nil {
		return err
	}
	if done, err := t.connect(); done || err != nil {
		return err
	}
	switch {
	case t.asks("long", "story"):
		return t.say(longStory)
	case t.asks("screen") && t.q.Image != nil:
		return t.say(describeImage(t.q.Image))
	case t.greets():
		return t.say("Hello! " + t.introduction())
	case t.asks("what", "can", "you", "do"), t.asks("help") && len(t.words) <= 3:
		return t.say(t.introduction() + t.offers())
	case t.asks("who", "are", "you"):
		return t.say(t.introduction())
	}
	found, err := t.lookUp()
	if err != nil || found {
		return err
	}
	if form := t.form(); form != "" {
		return t.say(fmt.Sprintf("My documents say nothing about that, so I have nothing for %s.", form))
	}
	return t.say(fmt.Sprintf("I'm only a demo without a language model, so I can't answer that. You said: %s", t.q.Text))
}

func (t *turn) introduction() string {
	return fmt.Sprintf("I'm %s, a small demo brain without a language model. "+
		"I remember what you tell me, I can answer questions about agentruntime, and I can use the tools of this page.",
		t.q.Profile.DisplayName)
}

// offers lists, for somebody who reads, what to try.
func (t *turn) offers() string {
	if !t.reads() {
		return ""
	}
	list := slices.Clone(t.q.Profile.Starters)
	if len(t.q.Profile.Tools) > 0 {
		list = append(list, consentRequest)
	}
	if t.q.Capabilities.On(Experiences) {
		list = append(list, "Make flashcards about threads", "Summarize the local service")
	}
	for _, s := range shows {
		if t.q.Capabilities.On(s.capability) {
			list = append(list, s.request)
		}
	}
	return "\n\nYou can try:\n\n- " + strings.Join(append(list, "What did we talk about?"), "\n- ")
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

// wordsOf cuts text into words in lower case, without punctuation.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
}

func describeImage(data []byte) string {
	config, kind, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return "I received a picture of your screen, but I can't read it."
	}
	return fmt.Sprintf("I received a picture of your screen, a %s of %d by %d pixels. I have no model that could tell what is on it.",
		strings.ToUpper(kind), config.Width, config.Height)
}

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
