package agentruntime

import (
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Answer is what ask() and say() resolve with. Times are in milliseconds from the end of the
// question: when the text was sent, or when the recording ended or, if that is earlier, its
// transcript came.
type Answer struct {
	// Text is what the agent said, as far as it came when it was interrupted. Of an answer
	// without sound it is the text, and FirstSound is 0.
	Text string `js:"text"`
	// FirstText is the time to the first text, FirstSound that to the first sound.
	FirstText  float64 `js:"firstText"`
	FirstSound float64 `js:"firstSound"`
	// Duration is the time to the end of the answer.
	Duration    float64 `js:"duration"`
	Interrupted bool    `js:"interrupted"`
}

// turn is a question under way in a live session, put together from the session's events.
type turn struct {
	speech string // the id of the answer's utterance, "" before it begins

	asked, transcribed, firstWritten, firstText, firstSound, ended time.Time

	text        string          // what was said, once it ended
	captions    strings.Builder // what was said so far
	written     strings.Builder // the answer's text so far
	interrupted bool
	err         error

	talks chan struct{} // closed at the first sound
	over  chan struct{} // closed at the end; the fields don't change after it
}

func newTurn() *turn {
	return &turn{asked: time.Now(), talks: make(chan struct{}), over: make(chan struct{})}
}

// receive takes one event, and reports whether the turn is over.
func (t *turn) receive(e event.Event) bool {
	switch e := e.(type) {
	case event.TurnStarted:
		if e.IsNewTurn && e.SpeechID != nil && !strings.HasSuffix(*e.SpeechID, signaling.SuffixOpening) {
			t.speech = *e.SpeechID
		}
	case event.BrainSegment:
		switch {
		case t.speech == "":
		case e.Type == converse.Error:
			return t.fail(fault.New(fault.StreamError, e.ContentString()))
		case e.Type.Spoken():
			stamp(&t.firstWritten)
			t.written.WriteString(e.ContentString())
		}
	case event.TurnTimings:
		if e.Outcome == "failed" && e.SpeechID == t.speech { // also a text that the service does not answer
			return t.fail(fault.New(fault.StreamError, "the agent did not answer"))
		}
		// The end of an answer without sound: the agent has no voice, its voice failed, or it shows something only.
		if t.speech != "" && e.SpeechID == t.speech && t.firstSound.IsZero() && (e.Outcome == "answered" || e.Outcome == "empty") {
			t.firstText = t.firstWritten
			return t.end(strings.TrimSpace(t.written.String()))
		}
	case event.Transcript:
		if e.Type == "user" {
			stamp(&t.transcribed)
			return false
		}
		if t.speech == "" || e.SpeechID == nil || *e.SpeechID != t.speech {
			return false
		}
		if e.Type == "partial" {
			t.captions.WriteString(e.Text + " ")
		} else {
			stamp(&t.firstText)
		}
	case event.AvatarStartTalking:
		if t.speech != "" && t.firstSound.IsZero() {
			stamp(&t.firstSound)
			close(t.talks)
		}
	case event.AvatarStopTalking:
		if !t.firstSound.IsZero() { // otherwise it is the end of what was said before
			return t.end(e.Text)
		}
	case event.Interrupted:
		if !t.firstSound.IsZero() {
			t.interrupted = true
			return t.end(strings.TrimSpace(t.captions.String()))
		}
	case event.Ended:
		return t.fail(fault.New(fault.Ended, "the session ended before the answer: "+e.Reason))
	}
	return false
}

// stamp sets at to the present, once.
func stamp(at *time.Time) {
	if at.IsZero() {
		*at = time.Now()
	}
}

func (t *turn) end(text string) bool {
	t.text, t.ended = text, time.Now()
	close(t.over)
	return true
}

func (t *turn) fail(err error) bool {
	t.err = err
	close(t.over)
	return true
}

// answer returns the answer of a turn that is over.
func (t *turn) answer() (Answer, error) {
	if t.err != nil {
		return Answer{}, t.err
	}
	asked := t.asked
	if !t.transcribed.IsZero() && t.transcribed.Before(asked) {
		asked = t.transcribed
	}
	return Answer{
		Text: t.text, Interrupted: t.interrupted,
		FirstText: since(asked, t.firstText), FirstSound: since(asked, t.firstSound), Duration: since(asked, t.ended),
	}, nil
}

// since returns the milliseconds from a question to at, 0 if at did not come.
func since(asked, at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(0, ms(at.Sub(asked)))
}
