package brain

import (
	"encoding/json"
	"slices"
)

// showing is something that is shown on request, when its capability is on.
type showing struct {
	capability string
	nouns      [][]string // any of these groups of words asks for it
	request    string     // how to ask for it
	words      string     // said before it
	off        string     // said instead, when the capability is not on
	runtime    string     // of the widget (wire-protocol §4.4.3)
	body       func(*turn) any
}

// shows are tried in this order.
var shows = []showing{
	{
		capability: VideoGallery, nouns: [][]string{{"videos"}, {"films"}, {"video", "gallery"}},
		request: "Show me some videos", off: "Showing videos is switched off here.",
		words:   "These are open films of the Blender Foundation. They are not on this machine, so playing one needs the network.",
		runtime: "video-gallery-tool",
		body:    func(*turn) any { return map[string]any{"title": "Open films", "videos": films} },
	},
	{
		capability: ExternalVideo, nouns: [][]string{{"video"}, {"film"}},
		request: "Play a video", off: "Playing videos is switched off here.",
		words:   "This is an open film of the Blender Foundation. It is not on this machine, so playing it needs the network.",
		runtime: "external-video-tool",
		body: func(*turn) any {
			return map[string]string{"url": films[0].URL, "title": films[0].Title, "provider": "youtube", "description": films[0].Description}
		},
	},
	{
		capability: ContentGallery, nouns: [][]string{{"gallery"}, {"pictures"}, {"slides"}},
		request: "Show the gallery", off: "Showing galleries is switched off here.",
		words:   "These are the example pages of this service.",
		runtime: "content-gallery-tool",
		body:    (*turn).gallery,
	},
	{
		capability: ShowLink, nouns: [][]string{{"link"}, {"links"}},
		request: "Show me a link to the documents", off: "Showing links is switched off here.",
		words:   "Here is the link.",
		runtime: "show-link-tool",
		body:    (*turn).link,
	},
	{
		capability: UserForm, nouns: [][]string{{"my", "details"}, {"form"}},
		request: "Ask me for my details", off: "Asking for details is switched off here.",
		words:   "Please fill in what you like. It stays on this machine.",
		runtime: "user-properties-form-tool",
		body:    (*turn).userForm,
	},
}

// requestVerbs ask for something to be shown. A question that begins with one of
// questionWords is about it instead.
var (
	requestVerbs  = []string{"show", "give", "send", "open", "play", "watch", "see", "ask", "take", "fill"}
	questionWords = []string{"how", "what", "what's", "why", "when", "where", "who", "which", "is", "are", "do", "does", "did"}
)

// mayShow reports whether a widget of that capability may be shown. An avatar
// shows none unless it may show content.
func (t *turn) mayShow(capability string) bool {
	return t.q.Capabilities.On(capability) && (t.reads() || t.q.Capabilities.On(ShowContent))
}

// show does what the user asks for, when that is something to look at. A live
// avatar that may show nothing hears nothing of it either.
func (t *turn) show() (done bool, err error) {
	if len(t.words) == 0 || slices.Contains(questionWords, t.words[0]) || !t.reads() && !t.q.Capabilities.On(ShowContent) {
		return false, nil
	}
	if !slices.ContainsFunc(t.words, func(w string) bool { return slices.Contains(requestVerbs, w) }) {
		return false, nil
	}
	for _, s := range shows {
		if !slices.ContainsFunc(s.nouns, func(group []string) bool { return t.asks(group...) }) {
			continue
		}
		if !t.mayShow(s.capability) {
			return true, t.say(s.off)
		}
		body, err := json.Marshal(s.body(t))
		if err != nil {
			return false, err
		}
		if err := t.say(s.words); err != nil {
			return false, err
		}
		return true, t.out.Widget(s.runtime, string(body))
	}
	return false, nil
}

// film is a video of another host that everybody may show.
type film struct {
	ID          string `json:"entryId"`
	Title       string `json:"title"`
	URL         string `json:"url"`
	Duration    int    `json:"duration"` // seconds
	Description string `json:"description"`
}

var films = []film{
	{"big-buck-bunny", "Big Buck Bunny", "https://www.youtube.com/watch?v=aqz-KE-bpKQ", 635, "A rabbit, three bullies, and a plan."},
	{"sintel", "Sintel", "https://www.youtube.com/watch?v=eRsGyueVLvQ", 888, "A girl looks for her dragon."},
	{"tears-of-steel", "Tears of Steel", "https://www.youtube.com/watch?v=R6MlUcmOul8", 734, "Robots in Amsterdam."},
}

// examplePage is a page that the service serves to a browser.
type examplePage struct {
	path, title, description string
	about                    []string // words that mean it
}

var examplePages = []examplePage{
	{"/example/avatar/", "Talk to an agent", "An agent with a face and a voice.", []string{"avatar", "face", "voice", "example"}},
	{"/example/chat/", "Chat with an agent", "An agent in text, without a camera element or a permission prompt.", []string{"chat", "text"}},
	{"/example/agent/", "Text and face", "One conversation that switches between text and a face.", []string{"agent", "switch", "playground"}},
}

func (t *turn) gallery() any {
	type item struct {
		ID          string `json:"id"`
		Title       string `json:"title"`
		Description string `json:"description"`
		ImageURL    string `json:"imageUrl"`
		URL         string `json:"url"`
		Alt         string `json:"alt"`
	}
	var items []item
	for _, p := range examplePages {
		items = append(items, item{
			ID: p.path, Title: p.title, Description: p.description,
			ImageURL: t.q.Site + "/example/avatar/icon.svg", URL: t.q.Site + p.path, Alt: "A drawn face",
		})
	}
	return map[string]any{"title": "Example pages", "items": items}
}

// link is the example page that was asked for, or else the list of the documents.
func (t *turn) link() any {
	for _, p := range examplePages {
		for _, word := range p.about {
			if t.asks(word) {
				return map[string]string{"url": t.q.Site + p.path, "label": p.title, "description": p.description}
			}
		}
	}
	return map[string]string{
		"url": t.q.Site + DocumentPrefix, "label": "Documents", "description": "What this agent answers from.",
	}
}

// userForm asks for what a page can send back as request variables.
func (t *turn) userForm() any {
	type field struct {
		Key         string `json:"key"`
		Type        string `json:"type"`
		Label       string `json:"label"`
		KnownValue  string `json:"knownValue,omitempty"`
		Required    bool   `json:"required"`
		Description string `json:"description,omitempty"`
	}
	name, _ := t.name()
	return map[string]any{"title": "About you", "fields": []field{
		{Key: "user_name", Type: "str", Label: "Your name", KnownValue: name, Required: true},
		{Key: "user_email", Type: "email", Label: "Your e-mail address", KnownValue: format(t.q.Vars["user_email"])},
		{Key: "user_phone", Type: "phone", Label: "Your phone number", Description: "Nobody will call."},
	}}
}
