package converse

import "strings"

// The normalised names of the widget runtimes (wire-protocol §4.4.3).
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
)

var runtimes = map[string]bool{
	RuntimeFlashcards: true, RuntimeFollowups: true, RuntimeSources: true, RuntimeSummary: true, RuntimeVideoGallery: true,
	RuntimeShowLink: true, RuntimeExternalVideo: true, RuntimeUserPropertiesForm: true, RuntimeContentGallery: true,
}

// NormalizeRuntime returns the normalised form of a widget's runtime name: on
// the wire it ends with "-tool" or comes rewritten already.
func NormalizeRuntime(name string) string { return strings.TrimSuffix(name, "-tool") }

// KnownRuntime reports whether name, normalised, is one of the nine widgets.
func KnownRuntime(name string) bool { return runtimes[name] }

// Runtime returns the normalised name of the widget that s belongs to, which is ""
// for a piece that goes on with the one before. ok is false when s is no piece of
// a widget. On the live socket the type may be the runtime's name already
// (wire-protocol §4.4.2).
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
