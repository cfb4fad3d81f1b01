package converse

import (
	"slices"
	"strings"
)

// fill puts a body into the field of w's runtime. A body without any key of that
// runtime stays as it came.
func (w *Widget) fill(c content) {
	if c.parsed {
		b := &body{values: c.values, items: c.items}
		read := *w
		if read.read(b); b.hit {
			*w = read
			return
		}
		if !c.lined || !KnownRuntime(w.Runtime) { // else it was a sentence with a colon
			w.Body = c.values
			return
		}
	}
	if w.Runtime == RuntimeSummary {
		w.Summary = &Summary{Summary: strings.TrimSpace(c.text)}
		return
	}
	w.Raw = c.text
}

// read takes the keys of w's runtime, under each of the names that they have
// (wire-protocol §4.4.3).
func (w *Widget) read(b *body) {
	switch w.Runtime {
	case RuntimeFlashcards:
		w.Flashcards = &Flashcards{
			Title: b.text("title"),
			Cards: items(b, flashcard, "cards", "items", "flashcards"),
		}
	case RuntimeFollowups:
		w.Followups = &Followups{Questions: b.texts([]string{"text", "question"}, "questions", "followups", "items")}
	case RuntimeSources:
		w.Sources = &Sources{Sources: items(b, source, "sources", "items", "citations")}
	case RuntimeSummary:
		w.Summary = &Summary{
			Title:   b.text("title"),
			Summary: b.text("summary", "text", "content", "raw"),
			Bullets: b.texts([]string{"text"}, "bullets", "points", "items"),
		}
	case RuntimeVideoGallery:
		w.VideoGallery = &VideoGallery{Title: b.text("title"), Videos: items(b, video, "videos", "entries", "items")}
	case RuntimeShowLink:
		w.ShowLink = &ShowLink{
			URL:         b.link("url", "linkUrl", "link", "href", "mediaUrl"),
			Label:       b.text("label", "linkText", "title", "text"),
			Description: b.text("description"),
		}
	case RuntimeExternalVideo:
		w.ExternalVideo = &ExternalVideo{
			URL:         b.webLink("url", "videoUrl", "mediaUrl", "src", "embedUrl"),
			Title:       b.text("title"),
			Provider:    b.text("provider", "source"),
			Poster:      b.webLink("poster", "thumbnail", "thumbnailUrl"),
			Description: b.text("description"),
		}
	case RuntimeUserPropertiesForm:
		w.UserPropertiesForm = &UserPropertiesForm{
			Title:  b.text("title"),
			Fields: items(b, formField, "fields", "properties", "items"),
		}
	case RuntimeContentGallery:
		w.ContentGallery = &ContentGallery{Title: b.text("title"), Items: items(b, galleryItem, "items", "slides", "cards")}
	}
}

func flashcard(b *body) Flashcard {
	return Flashcard{
		Front: b.text("front", "question", "term"),
		Back:  b.text("back", "answer", "definition"),
		Label: b.text("label"),
	}
}

func source(b *body) Source {
	s := Source{
		Title:   b.text("title", "name", "label"),
		URL:     b.link("url", "link", "href"),
		Snippet: b.text("snippet", "text", "content"),
	}
	if n, ok := b.number("score", "relevance", "similarity"); ok {
		s.Score = &n
	}
	return s
}

func video(b *body) Video {
	return Video{
		EntryID:      b.text("entryId", "entry_id", "id"),
		Title:        b.text("title", "name"),
		ThumbnailURL: b.link("thumbnailUrl", "thumbnail", "thumb"),
		URL:          b.link("url", "playUrl", "link"),
		Duration:     b.seconds("duration", "length"),
		Description:  b.text("description"),
		Alt:          b.text("alt"),
	}
}

// fieldTypes are the types of a form's fields; str stands for any other.
var fieldTypes = []string{"str", "int", "float", "bool", "list", "dict", "email", "phone", "text"}

func formField(b *body) FormField {
	f := FormField{
		Key:         b.text("key", "name"),
		Type:        b.text("type"),
		Label:       b.text("label", "prompt"),
		KnownValue:  b.get("knownValue", "known_value"),
		Required:    b.get("required") == true,
		Description: b.text("description", "help"),
	}
	if !slices.Contains(fieldTypes, f.Type) {
		f.Type = "str"
	}
	return f
}

func galleryItem(b *body) GalleryItem {
	return GalleryItem{
		ID:          b.text("id", "slideId", "key"),
		Title:       b.text("title", "name", "heading"),
		Description: b.text("description", "text", "body"),
		ImageURL:    b.link("imageUrl", "image", "thumbnail"),
		URL:         b.link("url", "link", "href"),
		Alt:         b.text("alt"),
	}
}
