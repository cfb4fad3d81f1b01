package converse

import (
	"encoding/json"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/jsonbounds"
)

// body is the parsed content of a widget. It records in hit whether any of the
// requested keys was present.
type body struct {
	values map[string]any
	items  map[string][]string // see content
	hit    bool
}

// content is the content of a widget, of all its pieces together.
type content struct {
	text   string // empty if the content was an object or an array
	values map[string]any
	items  map[string][]string // for lists that come from lines, the first line of each item
	parsed bool
	lined  bool // the values come from lines, not from JSON
}

// blank reports whether there is nothing to show.
func (c content) blank() bool { return !c.parsed && strings.TrimSpace(c.text) == "" }

// broken reports whether c begins like JSON but is not valid.
func (c content) broken() bool { return !c.parsed && looksLikeJSON(c.text) }

// parseContent reads object or, if that is nil, text: an object as it is, an array
// as the items of one, text as JSON or as lines (protocol §4.4.3).
func parseContent(object json.RawMessage, text string) content {
	if object != nil {
		values, ok := parseJSON(string(object))
		return content{values: values, parsed: ok}
	}
	plain := stripFence(strings.TrimSpace(text))
	if values, ok := parseJSON(plain); ok {
		return content{text: text, values: values, parsed: true}
	}
	c, _ := parseLines(plain)
	c.text = text
	return c
}

func parseJSON(text string) (map[string]any, bool) {
	if !looksLikeJSON(text) {
		return nil, false
	}
	v, ok := decodeAny([]byte(text))
	if !ok {
		return nil, false
	}
	switch v := Scrub(v).(type) {
	case map[string]any:
		return v, true
	case []any:
		return map[string]any{"items": v}, true
	}
	return nil, false
}

// decodeAny decodes a value of any type, at most [MaxDepth] levels deep, because a page
// has little stack for a recursive decoder.
func decodeAny(text []byte) (v any, ok bool) {
	return v, jsonbounds.Check(text, MaxDepth, 0) == nil && json.Unmarshal(text, &v) == nil
}

func looksLikeJSON(text string) bool {
	text = stripFence(strings.TrimSpace(text))
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// stripFence removes the fence of a code block.
func stripFence(text string) string {
	inner, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return text
	}
	_, inner, _ = strings.Cut(inner, "\n") // after the name of the language
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "```"))
}

// get returns the value of the first of keys that is present and not null.
func (b *body) get(keys ...string) any {
	for _, key := range keys {
		if v, ok := b.values[key]; ok {
			b.hit = true
			if v != nil {
				return v
			}
		}
	}
	return nil
}

// text returns the first text under one of keys.
func (b *body) text(keys ...string) string {
	for _, key := range keys {
		if s := scalarText(b.get(key)); s != "" {
			return s
		}
	}
	return ""
}

// list returns the list under the first of keys that has one; a single value is
// a list of one.
func (b *body) list(keys ...string) []any {
	switch v := b.get(keys...).(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

// texts returns the texts of a list; an item that is an object has its text under one
// of fields. A line with another word before its colon is a text, not an object.
func (b *body) texts(fields []string, keys ...string) []string {
	var texts []string
	for i, item := range b.list(keys...) {
		s := scalarText(item)
		if values, ok := item.(map[string]any); ok {
			object := &body{values: values}
			if s = object.text(fields...); !object.hit {
				s = b.line(i, keys...)
			}
		}
		if s != "" {
			texts = append(texts, s)
		}
	}
	return texts
}

// line returns the first line of item i of the list under the first of keys that is
// present, "" if the list doesn't come from lines.
func (b *body) line(i int, keys ...string) string {
	for _, key := range keys {
		if b.values[key] != nil {
			if lines := b.items[key]; i < len(lines) {
				return lines[i]
			}
			return ""
		}
	}
	return ""
}

// items reads the objects of a list. An object with none of the keys that read
// requests is left out.
func items[T any](b *body, read func(*body) T, keys ...string) []T {
	var list []T
	for _, v := range b.list(keys...) {
		if values, ok := v.(map[string]any); ok {
			item := &body{values: values}
			if made := read(item); item.hit {
				list = append(list, made)
			}
		}
	}
	return list
}

// link returns the first address under one of keys that is safe to follow, because a
// page may put it into a link. An absolute address is http, https, mailto or tel.
func (b *body) link(keys ...string) string {
	for _, key := range keys {
		if s, u := address(b.get(key)); u != nil && slices.Contains([]string{"", "http", "https", "mailto", "tel"}, u.Scheme) {
			return s
		}
	}
	return ""
}

// webLink is link for addresses that must be absolute, http or https.
func (b *body) webLink(keys ...string) string {
	for _, key := range keys {
		if s, u := address(b.get(key)); u != nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
			return s
		}
	}
	return ""
}

// address parses v as an address; u is nil if it is none.
func address(v any) (s string, u *url.URL) {
	if s, _ = v.(string); strings.TrimSpace(s) == "" {
		return "", nil
	}
	s = strings.TrimSpace(s)
	u, err := url.Parse(s) // fails for control characters, which browsers skip
	if err != nil {
		return "", nil
	}
	return s, u
}

// number returns the first number under one of keys.
func (b *body) number(keys ...string) (n float64, ok bool) {
	for _, key := range keys {
		switch v := b.get(key).(type) {
		case float64:
			return v, true
		case string:
			if n, isNumber := scalar(v).(float64); isNumber {
				return n, true
			}
		}
	}
	return 0, false
}

// seconds is number for durations, which may also be written as 1:02:03.
func (b *body) seconds(keys ...string) float64 {
	if n, ok := b.number(keys...); ok {
		return max(n, 0)
	}
	total := 0.0
	for part := range strings.SplitSeq(b.text(keys...), ":") {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return 0
		}
		total = total*60 + float64(n)
	}
	return total
}

// scalarText is the text of a string, number or boolean, "" for anything else.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return printable(strings.TrimSpace(v))
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// fill sets the field of w's runtime. Content without any key of that runtime is kept in
// Body or Raw, the plain text of a summary in Summary.
func (w *Widget) fill(c content) {
	// A Markdown text may have lines like those of a structure.
	if c.parsed && !(c.lined && w.Runtime == RuntimeMarkdown) {
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
	switch w.Runtime {
	case RuntimeSummary:
		w.Summary = &Summary{Summary: strings.TrimSpace(c.text)}
	case RuntimeMarkdown:
		w.Markdown = &Markdown{Text: strings.TrimSpace(c.text)}
	default:
		w.Raw = c.text
	}
}

// read sets the field of w's runtime from b, in which a key may have one of several
// names (protocol §4.4.3).
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
	case RuntimeMarkdown:
		w.Markdown = &Markdown{Title: b.text("title"), Text: b.text("markdown", "text", "content", "raw")}
	case RuntimeGradedQuestion:
		w.GradedQuestion = gradedQuestion(b)
	}
}

func gradedQuestion(b *body) *GradedQuestion {
	q := &GradedQuestion{
		Title: b.text("title"), Question: b.text("question", "prompt", "text"), Explanation: b.text("explanation", "rationale"),
	}
	keys := []string{"options", "choices", "answers", "items"}
	for i, v := range b.list(keys...) {
		o := GradedOption{Text: scalarText(v)}
		if values, ok := v.(map[string]any); ok {
			item := &body{values: values}
			o = GradedOption{
				Text: item.text("text", "label", "option", "answer"), Feedback: item.text("feedback", "explanation"),
				Correct: item.get("correct", "isCorrect", "is_correct") == true,
			}
			if !item.hit {
				o.Text = b.line(i, keys...)
			}
		}
		if o.Text != "" {
			q.Options = append(q.Options, o)
		}
	}
	// The correct ones may be named beside the list, by their texts or by their places from 0.
	for _, v := range b.list("correct", "correctAnswers", "correct_answers", "correctAnswer", "correct_answer", "answer") {
		text, place := scalarText(v), -1
		if n, ok := v.(float64); ok && n == math.Trunc(n) && n >= 0 && n < float64(len(q.Options)) {
			place = int(n)
		}
		if i := slices.IndexFunc(q.Options, func(o GradedOption) bool { return strings.EqualFold(o.Text, text) }); i >= 0 {
			place = i
		}
		if place >= 0 {
			q.Options[place].Correct = true
		}
	}
	return q
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

// maxDigits is how many digits of a number a float64 keeps exactly: a longer number is
// an id.
const maxDigits = 15

// parseLines reads "key: value" lines with one level of lists, whose items are
// values or such lines again (protocol §4.4.3). ok is false for other text.
func parseLines(text string) (c content, ok bool) {
	p := lineParser{values: map[string]any{}, items: map[string][]string{}}
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && !p.line(line) {
			return content{}, false
		}
	}
	if len(p.values) == 0 {
		return content{}, false
	}
	clean, ok := Scrub(p.values).(map[string]any)
	return content{values: clean, items: p.items, parsed: ok, lined: ok}, ok
}

type lineParser struct {
	values map[string]any
	items  map[string][]string // the first lines of the items of each list
	key    string              // the key whose list may follow
	dash   int                 // indentation of that list, once it has begun
	item   map[string]any      // its last item, if that has lines of its own
}

// line reads one line that is not blank.
func (p *lineParser) line(line string) bool {
	text := strings.TrimSpace(line)
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if rest, isItem := strings.CutPrefix(text, "-"); isItem && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
		return p.listItem(indent, strings.TrimSpace(rest))
	}
	key, value, ok := pair(text)
	switch {
	case !ok:
		return false
	case p.item != nil && indent > p.dash:
		p.item[key] = scalar(value)
	default:
		p.values[key] = scalar(value)
		p.key, p.item = "", nil
		if value == "" {
			p.key = key
		}
	}
	return true
}

func (p *lineParser) listItem(indent int, text string) bool {
	if p.key == "" {
		if len(p.values) > 0 {
			return false // the list of a key that has a value
		}
		p.key = "items"
	}
	list, begun := p.values[p.key].([]any)
	if !begun {
		p.dash, p.items[p.key] = indent, nil
	}
	if indent != p.dash {
		return false // a list in a list
	}
	p.item = nil
	item := scalar(text)
	if key, value, ok := pair(text); ok {
		p.item = map[string]any{key: scalar(value)}
		item = p.item
	}
	p.values[p.key] = append(list, item)
	p.items[p.key] = append(p.items[p.key], text)
	return true
}

// pair splits "key: value". A key is one word, so that a sentence with a colon or an
// address is no pair.
func pair(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text, ":")
	if !ok || key == "" || value != "" && value[0] != ' ' && value[0] != '\t' {
		return "", "", false
	}
	for i := range len(key) {
		if !isWord(key[i]) && (i == 0 || key[i] != '-') {
			return "", "", false
		}
	}
	return key, strings.TrimSpace(value), true
}

// scalar returns the value that a text represents.
func scalar(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	if isDecimal(text) {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	}
	return text
}

// isDecimal reports whether text is a number as JSON writes it, without an
// exponent, and short enough to be one.
func isDecimal(text string) bool {
	whole, fraction, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	switch {
	case len(whole)+len(fraction) > maxDigits, !allDigits(whole), point && !allDigits(fraction):
		return false
	}
	return whole == "0" || whole[0] != '0'
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
