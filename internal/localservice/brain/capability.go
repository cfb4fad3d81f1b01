package brain

import (
	"maps"

	"github.com/agentruntime/agentruntime/runtime/converse"
)

// States of a capability (protocol §4.9). If the stored configuration has
// Disabled, a client can't switch the capability on.
const (
	On       = "on"
	Off      = "off"
	Disabled = "disabled"
)

// Capabilities that the brains of this package use.
const (
	UseKnowledge = "use_knowledge_base"
	Followups    = "generate_followup_questions"
	Sources      = "include_sources"
	ThinkProcess = "think_process"
	AvatarFiller = "avatar_filler"

	ShowContent   = "avatar_show_content" // an avatar may show widgets
	Experiences   = "kaltura_genie_experiences"
	ShowLink      = "show_link"
	VideoGallery  = "video_gallery"
	ExternalVideo = "external_video"
)

// Capabilities are the states after layering: stored ones over the defaults, the
// client's over the stored ones.
type Capabilities map[string]string

// Layer lays the client's states over the stored ones. A state other than the three
// is ignored.
func Layer(stored, client map[string]string) Capabilities {
	states := Capabilities{}
	maps.Copy(states, stored)
	for name, state := range client {
		if ValidState(state) && states[name] != Disabled {
			states[name] = state
		}
	}
	return states
}

// ValidState reports whether state is on, off or disabled.
func ValidState(state string) bool { return state == On || state == Off || state == Disabled }

// On reports whether a capability is on.
func (c Capabilities) On(name string) bool {
	if state, ok := c[name]; ok {
		return state == On
	}
	return converse.OnByDefault(name)
}
