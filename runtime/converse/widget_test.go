package converse

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/expect"
)

// TestEveryWidgetIsKnown: a live segment whose type is not the name of a known widget is no widget.
func TestEveryWidgetIsKnown(t *testing.T) {
	wordStart := regexp.MustCompile(`\B[A-Z]`)
	var names []string
	for field := range reflect.TypeFor[Widget]().Fields() {
		if field.Type.Kind() == reflect.Pointer {
			names = append(names, strings.ToLower(wordStart.ReplaceAllString(field.Name, "-$0")))
		}
	}
	slices.Sort(names)
	if known := slices.Sorted(maps.Keys(runtimes)); !slices.Equal(names, known) {
		t.Errorf("the fields of Widget with a content are %q, the names in runtimes of widget.go %q: both need each widget", names, known)
	}
}

// pieces makes the segments of a widget: the first names the runtime.
func pieces(runtime string, contents ...string) []*Segment {
	var list []*Segment
	for i, content := range contents {
		s := &Segment{Type: WidgetPiece, Content: content, SegmentStart: i == 0, SegmentEnd: i == len(contents)-1}
		if strings.HasPrefix(content, "{") && json.Valid([]byte(content)) && len(contents) == 1 {
			s.Content = raw(content)
		}
		if i == 0 {
			s.Metadata = &Metadata{WidgetName: "w", RuntimeName: runtime}
		}
		list = append(list, s)
	}
	return list
}

func assemble(segments ...*Segment) (widgets []Widget) {
	var a Assembler
	for _, s := range segments {
		widgets = append(widgets, a.Add(s)...)
	}
	return append(widgets, a.End()...)
}

func TestWidgetsAreParsed(t *testing.T) {
	for _, c := range []struct {
		runtime, body string
		want          Widget
	}{
		{"flashcards-tool", `{"title":"T","cards":[{"front":"a","back":"b","label":"l"},{"question":"c","answer":"d"},{"term":"e","definition":5},"x",{"y":1}]}`, Widget{
			Flashcards: &Flashcards{Title: "T", Cards: []Flashcard{{"a", "b", "l"}, {"c", "d", ""}, {"e", "5", ""}}},
		}},
		{"flashcards-tool", `{"flashcards":[{"front":"a","back":"b"}]}`, Widget{Flashcards: &Flashcards{Cards: []Flashcard{{Front: "a", Back: "b"}}}}},
		{"followups-tool", `{"questions":["a",{"text":"b"},{"question":"c"},"",7,null]}`, Widget{Followups: &Followups{Questions: []string{"a", "b", "c", "7"}}}},
		{"followups", `["a"]`, Widget{Followups: &Followups{Questions: []string{"a"}}}},
		{"followups-tool", "- a\n- text: b\n", Widget{Followups: &Followups{Questions: []string{"a", "b"}}}},
		{"followups-tool", "questions:\n- a\n- Pricing: is there a 'free' plan?\n  and: more\n- text: b\n- question:\n- c", Widget{
			Followups: &Followups{Questions: []string{"a", "Pricing: is there a 'free' plan?", "b", "c"}},
		}},
		{"followups-tool", "questions: null\nitems:\n- a\nitems:\n- Pricing: 1.0", Widget{Followups: &Followups{Questions: []string{"Pricing: 1.0"}}}},
		{"followups-tool", `{"questions":[{"a":"b"},"c"]}`, Widget{Followups: &Followups{Questions: []string{"c"}}}},
		{"summary-tool", "summary: s\npoints:\n- Cost: none\n- text: b", Widget{Summary: &Summary{Summary: "s", Bullets: []string{"Cost: none", "b"}}}},
		{"followups-tool", "followups: a?", Widget{Followups: &Followups{Questions: []string{"a?"}}}},
		{"followups-tool", "What next?", Widget{Raw: "What next?"}},
		{"followups-tool", "Note: it rains", Widget{Raw: "Note: it rains"}},
		{"followups-tool", `{"a":1}`, Widget{Body: map[string]any{"a": 1.0}}},
		{"sources-tool", `{"citations":[{"title":"T","url":"https://a.example","snippet":"s","score":0.25},{"label":"L","href":"/x","content":"c","similarity":"0.5"},{"name":"N","link":"javascript:alert(1)"}]}`, Widget{
			Sources: &Sources{Sources: []Source{
				{"T", "https://a.example", "s", new(0.25)}, {"L", "/x", "c", new(0.5)}, {Title: "N"},
			}},
		}},
		{"summary-tool", `{"title":"T","text":"s","points":["a",{"text":"b"}]}`, Widget{Summary: &Summary{Title: "T", Summary: "s", Bullets: []string{"a", "b"}}}},
		{"summary-tool", "It went: well.\nAll fine. ", Widget{Summary: &Summary{Summary: "It went: well.\nAll fine."}}},
		{"summary-tool", "Overview: it went well.", Widget{Summary: &Summary{Summary: "Overview: it went well."}}},
		{"video-gallery-tool", `{"entries":[{"entry_id":"1_a","name":"N","thumb":"https://t.example","playUrl":"https://p.example","length":"1:02:03","alt":"x"},{"id":12,"duration":"65"},{"id":"b","duration":"soon"}]}`, Widget{
			VideoGallery: &VideoGallery{Videos: []Video{
				{EntryID: "1_a", Title: "N", ThumbnailURL: "https://t.example", URL: "https://p.example", Duration: 3723, Alt: "x"},
				{EntryID: "12", Duration: 65},
				{EntryID: "b"},
			}},
		}},
		{"show-link-tool", `{"url":"","mediaUrl":"mailto:a@b.example","linkText":"L","description":"D"}`, Widget{
			ShowLink: &ShowLink{URL: "mailto:a@b.example", Label: "L", Description: "D"},
		}},
		{"show-link-tool", "url: https://a.example/x?y=1#z\nlabel: 'L'", Widget{ShowLink: &ShowLink{URL: "https://a.example/x?y=1#z", Label: "L"}}},
		{"external-video-tool", `{"embedUrl":"https://v.example/1","source":"S","thumbnailUrl":"https://t.example","title":"T"}`, Widget{
			ExternalVideo: &ExternalVideo{URL: "https://v.example/1", Provider: "S", Poster: "https://t.example", Title: "T"},
		}},
		{"user-properties-form-tool", `{"title":"T","properties":[{"name":"n","type":"email","prompt":"P","known_value":["a"],"required":true,"help":"H"},{"key":"k","type":"file"}]}`, Widget{
			UserPropertiesForm: &UserPropertiesForm{Title: "T", Fields: []FormField{
				{Key: "n", Type: "email", Label: "P", KnownValue: []any{"a"}, Required: true, Description: "H"}, {Key: "k", Type: "str"},
			}},
		}},
		{"content-gallery-tool", `{"slides":[{"slideId":3,"heading":"H","body":"B","thumbnail":"/t.png","href":"/x","alt":"A"}]}`, Widget{
			ContentGallery: &ContentGallery{Items: []GalleryItem{{ID: "3", Title: "H", Description: "B", ImageURL: "/t.png", URL: "/x", Alt: "A"}}},
		}},
		{"kaltura-video-player-tool", `{"a":{"__proto__":{"b":1},"c":2}}`, Widget{Body: map[string]any{"a": map[string]any{"c": 2.0}}}},
		{"chart-tool", "kind: bar\nvalues:\n  - 1\n  - 2.5\n", Widget{Body: map[string]any{"kind": "bar", "values": []any{1.0, 2.5}}}},
		{"chart-tool", "no structure", Widget{Raw: "no structure"}},
	} {
		c.want.Runtime, c.want.WidgetName = NormalizeRuntime(c.runtime), "w"
		half := len(c.body) / 2
		for !utf8.RuneStart(c.body[half]) {
			half++
		}
		for _, cut := range [][]string{{c.body}, {c.body[:half], c.body[half:]}} {
			got := assemble(pieces(c.runtime, cut...)...)
			if !reflect.DeepEqual(got, []Widget{c.want}) {
				t.Errorf("%s %q\n got %+v\nwant %+v", c.runtime, cut, got, c.want)
			}
		}
	}
}

func TestOnlyAddressesThatAreSafeToFollowAreKept(t *testing.T) {
	for address, want := range map[string]struct{ link, video bool }{
		"https://a.example/x":      {true, true},
		"HTTP://a.example":         {true, true},
		" https://a.example ":      {true, true},
		"/path?x#y":                {true, false},
		"page":                     {true, false},
		"//a.example/x":            {true, false},
		"tel:+491234":              {true, false},
		"javascript:alert(1)":      {},
		" JavaScript:alert(1)":     {},
		"java\tscript:alert(1)":    {},
		"\x01javascript:alert(1)":  {},
		"data:text/html,<script>":  {},
		"vbscript:x":               {},
		"blob:https://a.example/1": {},
		"file:///etc/passwd":       {},
		"https://a.example:port/":  {},
		"":                         {},
	} {
		b := &body{values: map[string]any{"url": address}}
		expect.Equal(t, b.link("url") != "", want.link, "link %q: kept is", address)
		expect.Equal(t, b.webLink("url") != "", want.video, "video %q: kept is", address)
	}
}

func TestLineForm(t *testing.T) {
	for text, want := range map[string]map[string]any{
		"a: 1\nb: -2.5\nc: true\nd: null\ne: 'x y'\nf: \"\"\ng:": {"a": 1.0, "b": -2.5, "c": true, "d": nil, "e": "x y", "f": "", "g": ""},
		"l:\n- a\n- 2\n\nm: x":                               {"l": []any{"a", 2.0}, "m": "x"},
		"  l:\n    - a: 1\n      b: 2\n    - a: 3\n  m: x":   {"l": []any{map[string]any{"a": 1.0, "b": 2.0}, map[string]any{"a": 3.0}}, "m": "x"},
		"- a\n-\n- b: 1":                                     {"items": []any{"a", "", map[string]any{"b": 1.0}}},
		"- https://a.example\n- What: this is":               {"items": []any{"https://a.example", map[string]any{"What": "this is"}}},
		"l:\n- \"Who: me\"\n- Who is that: me":               {"l": []any{"Who: me", "Who is that: me"}},
		"id: 007\nbig: 12345678901234567890\nv: 1.\nw: 0.10": {"id": "007", "big": "12345678901234567890", "v": "1.", "w": 0.1},
		"some-key: a: b\r\n_x: 1\r\n":                        {"some-key": "a: b", "_x": 1.0},
		"__proto__: 1\na: 2":                                 {"a": 2.0},
		"a:1":                                                nil,
		"just words":                                         nil,
		"a: 1\nwords":                                        nil,
		"a: 1\n- b":                                          nil,
		"l:\n- a\n  - b":                                     nil,
		"":                                                   nil,
	} {
		if got, ok := parseLines(text); ok != (want != nil) || ok && !reflect.DeepEqual(got.values, want) {
			t.Errorf("parseLines(%q) = %v, %v; want %v", text, got.values, ok, want)
		}
	}
}

// TestMarkdownIsText, also where it looks like JSON or like lines of keys.
func TestMarkdownIsText(t *testing.T) {
	for body, want := range map[string]Widget{
		"# Head\n\n- a: b\n- c":            {Markdown: &Markdown{Text: "# Head\n\n- a: b\n- c"}},
		"title: a\ntext: b":                {Markdown: &Markdown{Text: "title: a\ntext: b"}},
		"[here](https://a.example)":        {Markdown: &Markdown{Text: "[here](https://a.example)"}},
		`{"title":"T","markdown":"**b**"}`: {Markdown: &Markdown{Title: "T", Text: "**b**"}},
		`{"content":"a\nb"}`:               {Markdown: &Markdown{Text: "a\nb"}},
		`{"markdown":"cut`:                 {Raw: `{"markdown":"cut`, Error: errNotJSON},
		`{"other":1}`:                      {Body: map[string]any{"other": 1.0}},
	} {
		want.Runtime, want.WidgetName = RuntimeMarkdown, "w"
		if got := assemble(pieces("markdown-tool", body)...); !reflect.DeepEqual(got, []Widget{want}) {
			t.Errorf("%q: %+v", body, got)
		}
	}
}

// TestGradedQuestions are read however they name the answers and the correct ones.
func TestGradedQuestions(t *testing.T) {
	bonn := func(correct ...bool) []GradedOption {
		return []GradedOption{{Text: "Berlin", Correct: correct[0]}, {Text: "Bonn", Correct: correct[1]}}
	}
	for body, want := range map[string]GradedQuestion{
		`{"title":"T","question":"Q?","options":[{"text":"Berlin","correct":true,"feedback":"Yes."},{"label":"Bonn"}],"explanation":"E"}`: {
			Title: "T", Question: "Q?", Explanation: "E", Options: []GradedOption{{"Berlin", true, "Yes."}, {Text: "Bonn"}},
		},
		`{"prompt":"Q?","choices":["Berlin","Bonn"],"answer":"bonn"}`:                    {Question: "Q?", Options: bonn(false, true)},
		`{"text":"Q?","items":["Berlin","Bonn"],"correct":0,"rationale":"R"}`:            {Question: "Q?", Explanation: "R", Options: bonn(true, false)},
		`{"question":"Q?","answers":["Berlin","Bonn"],"correct_answers":[1,"Berlin",7]}`: {Question: "Q?", Options: bonn(true, true)},
		`{"question":"Q?","options":[{"option":"Berlin"},{"x":1},null,"Bonn"]}`:          {Question: "Q?", Options: bonn(false, false)},
		`{"question":"2+2?","options":[3,4],"answer":4}`:                                 {Question: "2+2?", Options: []GradedOption{{Text: "3"}, {Text: "4", Correct: true}}},
		"question: Q?\noptions:\n- Berlin\n- Bonn: a city\nanswer: Berlin":               {Question: "Q?", Options: []GradedOption{{Text: "Berlin", Correct: true}, {Text: "Bonn: a city"}}},
	} {
		got := assemble(pieces("graded-question-tool", body)...)
		if len(got) != 1 || !reflect.DeepEqual(got[0].GradedQuestion, &want) {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

func TestFencesAreTakenOff(t *testing.T) {
	for _, text := range []string{"```json\n{\"a\":1}\n```", "  ```\n{\"a\":1}```  ", "```yaml\na: 1\n```\n", "```\na: 1"} {
		if c := parseContent(nil, text); !c.parsed || !reflect.DeepEqual(c.values, map[string]any{"a": 1.0}) {
			t.Errorf("parseContent(%q) = %+v", text, c)
		}
	}
}

func TestPiecesFindTheirWidget(t *testing.T) {
	piece := func(runtime, speech, content string) *Segment {
		s := &Segment{Type: WidgetPiece, SpeechID: speech, Content: content}
		if runtime != "" {
			s.Metadata = &Metadata{RuntimeName: runtime}
		}
		return s
	}
	followups := func(speech string, questions ...string) Widget {
		return Widget{Runtime: RuntimeFollowups, SpeechID: speech, Followups: &Followups{Questions: questions}}
	}
	text := &Segment{Type: Text, Content: "aside"}
	bracket := func(s *Segment) *Segment {
		s.SegmentStart, s.SegmentEnd = true, true
		return s
	}
	for _, c := range []struct {
		name     string
		segments []*Segment
		want     []Widget
	}{
		{
			name: "text between pieces", want: []Widget{followups("", "a")},
			segments: []*Segment{piece("followups-tool", "", `["a`), text, piece("", "", `"]`)},
		},
		{
			name: "pieces that repeat the runtime", want: []Widget{followups("", "a")},
			segments: []*Segment{piece("followups-tool", "", `["a`), piece("followups", "", `"]`)},
		},
		{
			name: "the runtime as type", want: []Widget{followups("", "a")},
			segments: []*Segment{{Type: "followups", Content: `["a`}, {Type: "followups", Content: `"]`}},
		},
		{
			name: "another runtime", want: []Widget{followups("", "a"), {Runtime: RuntimeSummary, Summary: &Summary{Summary: "b"}}},
			segments: []*Segment{piece("followups-tool", "", `["a"]`), piece("summary-tool", "", "b")},
		},
		{
			name: "another speech", want: []Widget{followups("s1", "a"), followups("s2", "b")},
			segments: []*Segment{piece("followups-tool", "s1", `["a"]`), piece("followups-tool", "s2", `["b"]`)},
		},
		{
			name: "a second one of its kind", want: []Widget{followups("", "a"), followups("", "b")},
			segments: []*Segment{bracket(piece("followups-tool", "", `["a"]`)), bracket(piece("followups-tool", "", `["b"]`))},
		},
		{
			name: "an object replaces", want: []Widget{followups("", "a")},
			segments: []*Segment{piece("followups-tool", "", "que"), {Type: WidgetPiece, Content: raw(`{"items":["a"]}`)}, piece("", "", "")},
		},
		{
			name: "cut off by another", want: []Widget{
				{Runtime: RuntimeFollowups, SpeechID: "s1", Raw: `["a`, Error: errNotJSON},
				{Runtime: RuntimeSummary, SpeechID: "s2", Summary: &Summary{Summary: "b"}},
			},
			segments: []*Segment{piece("followups-tool", "s1", `["a`), piece("summary-tool", "s2", "b")},
		},
		{
			name: "cut off by the end", want: []Widget{{Runtime: RuntimeFollowups, Raw: `["a`, Error: errNotJSON}},
			segments: []*Segment{piece("followups-tool", "", `["a`)},
		},
		{
			name: "interrupted", want: []Widget{{Raw: "rest"}},
			segments: []*Segment{piece("followups-tool", "", `["a"]`), {Type: UserInterruption}, piece("", "", "rest")},
		},
		{name: "empty", segments: []*Segment{piece("followups-tool", "", " "), {Type: WidgetPiece, Content: raw("null")}, {Type: WidgetPiece}}},
		{name: "a tool", segments: []*Segment{{Type: Tool, Content: "f {}", Metadata: &Metadata{RuntimeName: "followups-tool"}}}},
	} {
		if got := assemble(c.segments...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

// TestALongWidgetIsReadWhole, as text in one piece and with a long text in it.
func TestALongWidgetIsReadWhole(t *testing.T) {
	long := strings.Repeat("x", maxWidget/4)
	body := `{"cards":[{"front":"` + long + `","back":"b"}]}`
	segment, _ := Decode([]byte(`{"type":"unisphere-tool","content":` + quoted(body) + `,"metadata":{"runtimeName":"flashcards-tool"}}`))
	want := []Widget{{Runtime: RuntimeFlashcards, Flashcards: &Flashcards{Cards: []Flashcard{{Front: long, Back: "b"}}}}}
	if got := assemble(&segment); !reflect.DeepEqual(got, want) {
		t.Errorf("%d widgets, %.100v", len(got), got)
	}
}

// TestAWidgetEndsWithItsLastPiece, if it is complete, and is not returned again.
func TestAWidgetEndsWithItsLastPiece(t *testing.T) {
	for _, c := range []struct {
		name    string
		pieces  []*Segment
		after   string // a further piece, "" for none
		atPiece bool
		want    Widget
	}{
		{"JSON", pieces("followups-tool", `["a"`, `]`), "", true, Widget{Followups: &Followups{Questions: []string{"a"}}}},
		{"an object", pieces("followups-tool", `{"items":["a"]}`), "", true, Widget{Followups: &Followups{Questions: []string{"a"}}}},
		{"lines", pieces("followups-tool", "items:\n", "- a"), "", true, Widget{Followups: &Followups{Questions: []string{"a"}}}},
		{"prose", pieces("summary-tool", "All ", "fine."), "", true, Widget{Summary: &Summary{Summary: "All fine."}}},
		{"JSON that goes on all the same", pieces("followups-tool", `["a",`, `"b"`), `]`, false, Widget{Followups: &Followups{Questions: []string{"a", "b"}}}},
		{"nothing yet", pieces("followups-tool", ``), `["a"]`, false, Widget{Followups: &Followups{Questions: []string{"a"}}}},
	} {
		var a Assembler
		var early []Widget
		for _, s := range c.pieces {
			if len(early) > 0 {
				t.Errorf("%s: it ended before its last piece", c.name)
			}
			early = a.Add(s)
		}
		if c.after != "" {
			a.Add(&Segment{Type: WidgetPiece, Content: c.after})
		}
		late := a.End()
		want, none := &early, late
		if !c.atPiece {
			want, none = &late, early
		}
		c.want.Runtime, c.want.WidgetName = NormalizeRuntime(c.pieces[0].Metadata.RuntimeName), "w"
		if !reflect.DeepEqual(*want, []Widget{c.want}) || none != nil {
			t.Errorf("%s: with its last piece %+v, at the end %+v", c.name, early, late)
		}
	}
}

func TestAWidgetIsBounded(t *testing.T) {
	var a Assembler
	a.Add(&Segment{Type: WidgetPiece, Metadata: &Metadata{RuntimeName: "summary-tool"}})
	for range 200 {
		a.Add(&Segment{Type: WidgetPiece, Content: strings.Repeat("x", MaxText)})
	}
	done := a.End()
	if len(done) != 1 || len(done[0].Summary.Summary) > maxWidget || len(done[0].Summary.Summary) < maxWidget-MaxText {
		t.Errorf("the widget has %d bytes", len(done[0].Summary.Summary))
	}
}
