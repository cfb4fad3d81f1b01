package brain

// States of a capability (wire-protocol §4.9). Disabled, in a stored
// configuration, vetoes a client's on.
const (
	On       = "on"
	Off      = "off"
	Disabled = "disabled"
)

// Capabilities that the brains here look at.
const (
	UseKnowledge = "use_knowledge_base"
	Followups    = "generate_followup_questions"
	Sources      = "include_sources"
	ThinkProcess = "think_process"
	AvatarFiller = "avatar_filler"

	ShowContent    = "avatar_show_content" // an avatar may show widgets
	Experiences    = "kaltura_genie_experiences"
	ShowLink       = "show_link"
	VideoGallery   = "video_gallery"
	ExternalVideo  = "external_video"
	ContentGallery = "gallery_slides"
	UserForm       = "user_properties_form"
)

// offByDefault lists the capabilities that are off unless they are switched
// on; all others are on.
var offByDefault = map[string]bool{
	"avatar": true, AvatarFiller: true, ShowContent: true, VideoGallery: true,
	ExternalVideo: true, ShowLink: true, "use_web_search": true,
	"screen_share_analysis": true, ThinkProcess: true,
}

// Capabilities are the states after layering: stored ones over the defaults, the
// client's over the stored ones.
type Capabilities struct{ states map[string]string }

// Layer puts what a client asks for over what is stored. A state that is none of
// the three is passed over.
func Layer(stored, client map[string]string) Capabilities {
	states := map[string]string{}
	for name, state := range stored {
		states[name] = state
	}
	for name, state := range client {
		if ValidState(state) && states[name] != Disabled {
			states[name] = state
		}
	}
	return Capabilities{states}
}

// ValidState reports whether state is on, off or disabled.
func ValidState(state string) bool { return state == On || state == Off || state == Disabled }

// On reports whether a capability is on.
func (c Capabilities) On(name string) bool {
	if state, ok := c.states[name]; ok {
		return state == On
	}
	return !offByDefault[name]
}
