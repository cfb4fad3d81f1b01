package converse

import "strings"

// The normalised names of the widget runtimes (wire-protocol §4.4.3).
const (
	Flashcards         = "flashcards"
	Followups          = "followups"
	Sources            = "sources"
	Summary            = "summary"
	VideoGallery       = "video-gallery"
	ShowLink           = "show-link"
	ExternalVideo      = "external-video"
	UserPropertiesForm = "user-properties-form"
	ContentGallery     = "content-gallery"
)

var runtimes = map[string]bool{
	Flashcards: true, Followups: true, Sources: true, Summary: true, VideoGallery: true,
	ShowLink: true, ExternalVideo: true, UserPropertiesForm: true, ContentGallery: true,
}

// NormalizeRuntime returns the normalised form of a widget's runtime name: on
// the wire it ends with "-tool" or comes rewritten already.
func NormalizeRuntime(name string) string { return strings.TrimSuffix(name, "-tool") }

// KnownRuntime reports whether name, normalised, is one of the nine widgets.
func KnownRuntime(name string) bool { return runtimes[name] }
