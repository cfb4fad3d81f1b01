package converse

import (
	"encoding/json"
	"strings"
)

// Widget is a structured answer (protocol §4.4.3). Of the fields after SpeechID
// only the field of its runtime is set. Instead of it, Body is set for a runtime that is
// not known, or for JSON without any key of the runtime, and Raw for text without
// structure. Error and Raw are set for a widget that can't be read.
type Widget struct {
	// Runtime is the normalised name: followups, sources, …
	Runtime    string `json:"runtime"`
	WidgetName string `json:"widgetName,omitempty"`
	// SpeechID is the id of the speech to which it belongs; absent in a turn in text.
	SpeechID string `json:"speechId,omitempty"`

	Flashcards         *Flashcards         `json:"flashcards,omitempty"`
	Followups          *Followups          `json:"followups,omitempty"`
	Sources            *Sources            `json:"sources,omitempty"`
	Summary            *Summary            `json:"summary,omitempty"`
	VideoGallery       *VideoGallery       `json:"videoGallery,omitempty"`
	ShowLink           *ShowLink           `json:"showLink,omitempty"`
	ExternalVideo      *ExternalVideo      `json:"externalVideo,omitempty"`
	UserPropertiesForm *UserPropertiesForm `json:"userPropertiesForm,omitempty"`
	ContentGallery     *ContentGallery     `json:"contentGallery,omitempty"`
	Markdown           *Markdown           `json:"markdown,omitempty"`
	GradedQuestion     *GradedQuestion     `json:"gradedQuestion,omitempty"`

	Body any    `json:"body,omitempty"`
	Raw  string `json:"raw,omitempty"`
	// Error is why the widget can't be read: its content began like JSON, but is not valid.
	Error string `json:"error,omitempty"`
}

const errNotJSON = "the content is not valid JSON"

// Malformed is a widget that began like JSON but was not valid when another followed.
type Malformed struct {
	Runtime    string `json:"runtime"`
	WidgetName string `json:"widgetName,omitempty"`
	SpeechID   string `json:"speechId,omitempty"`
	Raw        string `json:"raw"`
}

// Flashcards are cards with two sides.
type Flashcards struct {
	Title string      `json:"title,omitempty"`
	Cards []Flashcard `json:"cards"`
}

// Flashcard is a question and its answer, or a term and its definition.
type Flashcard struct {
	Front string `json:"front"`
	Back  string `json:"back"`
	Label string `json:"label,omitempty"`
}

// Followups are questions that the user may ask next.
type Followups struct {
	Questions []string `json:"questions"`
}

// Sources are what an answer is based on.
type Sources struct {
	Sources []Source `json:"sources"`
}

// Source is one source of an answer.
type Source struct {
	Title   string `json:"title,omitempty"`
	URL     string `json:"url,omitempty"`
	Snippet string `json:"snippet,omitempty"`
	// Score is the relevance, if the service sends it.
	Score *float64 `json:"score,omitempty"`
}

// Summary is a text with its main points.
type Summary struct {
	Title   string   `json:"title,omitempty"`
	Summary string   `json:"summary"`
	Bullets []string `json:"bullets"`
}

// VideoGallery is a choice of videos.
type VideoGallery struct {
	Title  string  `json:"title,omitempty"`
	Videos []Video `json:"videos"`
}

// Video is one of the service's media items.
type Video struct {
	EntryID      string `json:"entryId,omitempty"`
	Title        string `json:"title,omitempty"`
	ThumbnailURL string `json:"thumbnailUrl,omitempty"`
	URL          string `json:"url,omitempty"`
	// Duration is in seconds.
	Duration    float64 `json:"duration,omitempty"`
	Description string  `json:"description,omitempty"`
	Alt         string  `json:"alt,omitempty"`
}

// ShowLink is a page that the agent wants to show.
type ShowLink struct {
	URL         string `json:"url,omitempty"`
	Label       string `json:"label,omitempty"`
	Description string `json:"description,omitempty"`
}

// ExternalVideo is a video of another host.
type ExternalVideo struct {
	// URL is absolute, http or https.
	URL         string `json:"url,omitempty"`
	Title       string `json:"title,omitempty"`
	Provider    string `json:"provider,omitempty"`
	Poster      string `json:"poster,omitempty"`
	Description string `json:"description,omitempty"`
}

// UserPropertiesForm asks the user for data.
type UserPropertiesForm struct {
	Title  string      `json:"title,omitempty"`
	Fields []FormField `json:"fields"`
}

// FormField is one field of a form.
type FormField struct {
	Key string `json:"key"`
	// Type is str, int, float, bool, list, dict, email, phone or text.
	Type  string `json:"type"`
	Label string `json:"label,omitempty"`
	// KnownValue is the value that the service already has, absent if it has none.
	KnownValue  any    `json:"knownValue,omitempty"`
	Required    bool   `json:"required"`
	Description string `json:"description,omitempty"`
}

// ContentGallery is a row of slides.
type ContentGallery struct {
	Title string        `json:"title,omitempty"`
	Items []GalleryItem `json:"items"`
}

// GalleryItem is one slide.
type GalleryItem struct {
	ID          string `json:"id,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	ImageURL    string `json:"imageUrl,omitempty"`
	URL         string `json:"url,omitempty"`
	Alt         string `json:"alt,omitempty"`
}

// Markdown is a text with Markdown.
type Markdown struct {
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
}

// GradedQuestion is a question with answers to choose from. If none of them is marked as
// correct, a page can't grade the choice.
type GradedQuestion struct {
	Title    string         `json:"title,omitempty"`
	Question string         `json:"question"`
	Options  []GradedOption `json:"options"`
	// Explanation is for the time after the choice.
	Explanation string `json:"explanation,omitempty"`
}

// GradedOption is one answer to choose.
type GradedOption struct {
	Text    string `json:"text"`
	Correct bool   `json:"correct"`
	// Feedback is what to say to somebody who chose it.
	Feedback string `json:"feedback,omitempty"`
}

// The normalised names of the widget runtimes (protocol §4.4.3, and the optional ones
// of session §D.3).
const (
	RuntimeFlashcards         = "flashcards"
	RuntimeFollowups          = "followups"
	RuntimeSources            = "sources"
	RuntimeSummary            = "summary"
	RuntimeVideoGallery       = "video-gallery"
	RuntimeShowLink           = "show-link"
	RuntimeExternalVideo      = "external-video"
	RuntimeUserPropertiesForm = "user-properties-form"
	RuntimeContentGallery     = "content-gallery"
	RuntimeMarkdown           = "markdown"
	RuntimeGradedQuestion     = "graded-question"
)

var runtimes = map[string]bool{
	RuntimeFlashcards: true, RuntimeFollowups: true, RuntimeSources: true, RuntimeSummary: true, RuntimeVideoGallery: true,
	RuntimeShowLink: true, RuntimeExternalVideo: true, RuntimeUserPropertiesForm: true, RuntimeContentGallery: true,
	RuntimeMarkdown: true, RuntimeGradedQuestion: true,
}

// NormalizeRuntime returns the normalised form of a widget's runtime name, which ends with
// "-tool" in a segment unless it is normalised already.
func NormalizeRuntime(name string) string { return strings.TrimSuffix(name, "-tool") }

// KnownRuntime reports whether name, normalised, is one of the widgets of [Widget].
func KnownRuntime(name string) bool { return runtimes[name] }

// Runtime returns the normalised runtime name of the widget that s belongs to, or "" for a
// piece that continues the widget before. ok is false when s is no piece of a widget. On
// the live socket the type may be the runtime's name already (protocol §4.4.2).
func (s *Segment) Runtime() (name string, ok bool) {
	if s.Metadata != nil {
		name = NormalizeRuntime(s.Metadata.RuntimeName)
	}
	if s.Type == WidgetPiece {
		return name, true
	}
	if byType := NormalizeRuntime(string(s.Type)); KnownRuntime(byType) {
		return byType, true
	}
	return "", false
}

// maxWidget bounds the text of a widget, in bytes: a widget in pieces may be as long as a
// widget in one line.
const maxWidget = MaxLine

// Assembler puts the widgets of a conversation together from their pieces
// (protocol §4.4.3). The zero value is ready.
type Assembler struct {
	open   *Widget // without a body yet
	text   strings.Builder
	object json.RawMessage // content that was no text
	ended  bool            // the piece that is marked as the last was added
}

// Add takes any segment. If the segment begins a widget, it returns the widget before. If the
// segment is marked as the last piece of its widget, it returns that widget without waiting
// for the next segment, which may come only after a tool that takes minutes.
func (a *Assembler) Add(s *Segment) (done []Widget) {
	if s.Type == UserInterruption {
		a.Discard()
		return nil
	}
	runtime, ok := s.Runtime()
	if !ok {
		return nil
	}
	switch {
	case a.open == nil:
		a.begin(s, runtime)
	case runtime == "": // continues the open widget
	// Of two widgets of one kind, the second begins where the first has ended.
	case runtime != a.open.Runtime || s.SpeechID != a.open.SpeechID || a.ended && s.SegmentStart:
		done = a.End()
		a.begin(s, runtime)
	}
	a.put(s.Content)
	if s.SegmentEnd && !a.ended {
		a.ended = true
		done = append(done, a.whole()...)
	}
	return done
}

// Discard drops the widget that is open: the turn was interrupted.
func (a *Assembler) Discard() { *a = Assembler{} }

func (a *Assembler) begin(s *Segment, runtime string) {
	*a = Assembler{open: &Widget{Runtime: runtime, SpeechID: s.SpeechID}}
	if s.Metadata != nil {
		a.open.WidgetName = s.Metadata.WidgetName
	}
}

// put takes the content of a piece: text is added to text, an object or an array
// replaces everything.
func (a *Assembler) put(content any) {
	switch content := content.(type) {
	case json.RawMessage:
		if looksLikeJSON(string(content)) {
			a.text.Reset()
			a.object = content
		}
	case string:
		if a.text.Len()+len(content) <= maxWidget {
			a.text.WriteString(content)
		}
	}
}

// whole ends the open widget if it is complete. Incomplete JSON waits for further pieces,
// even after a piece that is marked as the last.
func (a *Assembler) whole() []Widget {
	c := parseContent(a.object, a.text.String())
	if a.broken(c) || c.blank() {
		return nil
	}
	return []Widget{a.fill(c)}
}

// End returns the widget that is open, if any, with an Error if its text began like JSON but is
// not valid.
func (a *Assembler) End() (done []Widget) {
	if a.open == nil {
		return nil
	}
	c := parseContent(a.object, a.text.String())
	broken := a.broken(c)
	w := a.fill(c)
	switch {
	case c.blank():
		return nil // it was announced, but has no content
	case broken:
		w = Widget{Runtime: w.Runtime, WidgetName: w.WidgetName, SpeechID: w.SpeechID, Raw: c.text, Error: errNotJSON}
	}
	return []Widget{w}
}

// broken reports whether c should be JSON, but is not valid. A Markdown text may begin
// with a link, as in "[here](…)".
func (a *Assembler) broken(c content) bool {
	return c.broken() && (a.open.Runtime != RuntimeMarkdown || strings.HasPrefix(stripFence(strings.TrimSpace(c.text)), "{"))
}

// fill returns the open widget with c, and clears it.
func (a *Assembler) fill(c content) Widget {
	w := *a.open
	w.fill(c)
	*a = Assembler{}
	return w
}
