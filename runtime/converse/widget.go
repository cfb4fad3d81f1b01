package converse

// Widget is a structured answer (wire-protocol §4.4.3). Of the fields behind
// SpeechID the one of its runtime is set; Body is set for a runtime that is none
// of the nine, Raw when the text of the widget has no structure.
type Widget struct {
	// Runtime is the normalised name: followups, sources, …
	Runtime    string `json:"runtime"`
	WidgetName string `json:"widgetName,omitempty"`
	// SpeechID is the speech it came with; none in a turn in text.
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

	Body any    `json:"body,omitempty"`
	Raw  string `json:"raw,omitempty"`
}

// Malformed is a widget that began like JSON and was none when another followed.
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

// Source is one of them.
type Source struct {
	Title   string `json:"title,omitempty"`
	URL     string `json:"url,omitempty"`
	Snippet string `json:"snippet,omitempty"`
	// Score is the relevance, if the service tells.
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

// FormField is one thing to fill in.
type FormField struct {
	Key string `json:"key"`
	// Type is str, int, float, bool, list, dict, email, phone or text.
	Type  string `json:"type"`
	Label string `json:"label,omitempty"`
	// KnownValue is what the service knows already, absent if nothing.
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
