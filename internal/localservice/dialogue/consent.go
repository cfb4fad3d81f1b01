package dialogue

import (
	"encoding/json"
	"net/url"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/runtime/converse"
)

// ConsentPath is the page where a user allows a tool, under the service's origin; the
// query parameter ConsentState identifies the request.
const (
	ConsentPath  = "/oauth/consent"
	ConsentState = "state"
)

// oauthRequired is the subtype of an interruption that asks for consent
// (protocol §10.8).
const oauthRequired = "oauth_required"

// rememberedConsents is how many requests for consent are kept, the newest ones.
const rememberedConsents = 4096

// consents are the requests for consent, by the state in their address. They are kept
// in memory only, because the tools are simulated.
type consents struct {
	byState map[string]*consent
	states  []string // oldest first
}

// consent is what a user was asked to allow.
type consent struct {
	threadID, tool, name string
	given                bool
}

// AskedConsent returns the name of the tool that a state is for, and whether the
// user has allowed it; ok is false for an unknown state.
func (s *Service) AskedConsent(state string) (name string, given, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.consents.byState[state]
	if c == nil {
		return "", false, false
	}
	return c.name, c.given, true
}

// GiveConsent records that the user allows the tool of a state, if that is known.
func (s *Service) GiveConsent(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.consents.byState[state]; c != nil {
		c.given = true
	}
}

// consented reports whether a tool was allowed in a thread.
func (s *Service) consented(threadID, tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.consents.byState {
		if c.given && c.threadID == threadID && c.tool == tool {
			return true
		}
	}
	return false
}

// requestConsent returns a state under which the user can allow a tool.
func (s *Service) requestConsent(c consent) (state string) {
	state = uuid.NewString()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consents.byState[state] = &c
	s.consents.states = append(s.consents.states, state)
	if len(s.consents.states) > rememberedConsents {
		delete(s.consents.byState, s.consents.states[0])
		s.consents.states = s.consents.states[1:]
	}
	return state
}

// Consented implements [brain.Sink].
func (s *sink) Consented(tool string) bool { return s.service.consented(s.threadID, tool) }

// AskConsent implements [brain.Sink].
func (s *sink) AskConsent(tool, displayName string) error {
	state := s.service.requestConsent(consent{threadID: s.threadID, tool: tool, name: displayName})
	address := s.service.cfg.Site() + ConsentPath + "?" + url.Values{ConsentState: {state}}.Encode()
	content, err := json.Marshal(map[string]string{"auth_url": address})
	if err != nil {
		return err
	}
	return s.block(converse.Segment{
		Type: converse.Interruption, Content: json.RawMessage(content),
		Metadata: &converse.Metadata{Subtype: oauthRequired, ToolName: tool, ToolDisplayName: displayName},
	})
}
