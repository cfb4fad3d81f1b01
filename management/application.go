package management

import (
	"context"
	"strings"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Application has the calls between an agent and the pages that show it (service.md
// "Application utilities").
type Application struct{ c *Client }

// AppInit is what a page needs to connect: a conversation token and the hosts. fmt does
// not show the token; JSON has it, for the page.
type AppInit = appinit.Result

var (
	applicationWidget  = endpoint{at: appinit.Agentic, path: "/application/resolveWidgetId", again: harmless}
	applicationProfile = endpoint{at: appinit.Agentic, path: "/application/generateAgentProfile", again: harmless}
	applicationPrompts = endpoint{at: appinit.Agentic, path: "/application/getCustomPrompts", scope: forAll, again: harmless}
)

// Profile is what a description says about an agent (management-api.md, F.3).
type Profile struct {
	Goal             string `json:"goal"`
	TargetAudience   string `json:"targetAudience"`
	RestrictedTopics string `json:"restrictedTopics"`
	Name             string `json:"name"`
	OpeningPhrase    string `json:"openingPhrase"`
}

// GenerateProfile makes a profile from a description of an agent in a few sentences. Nothing
// is stored. It takes some seconds. Error: bad_request for a blank description.
func (a Application) GenerateProfile(ctx context.Context, description string) (*Profile, error) {
	if err := required("the description", strings.TrimSpace(description)); err != nil {
		return nil, err
	}
	profile := new(Profile)
	err := a.c.post(ctx, applicationProfile, map[string]string{"userDescription": description}, profile)
	if err == nil && *profile == (Profile{}) {
		err = fault.New(fault.InvalidResponse, "the reply has no profile").At(applicationProfile.path)
	}
	if err != nil {
		return nil, err
	}
	return profile, nil
}

// CustomPrompts returns the prompts that a [Profile] fills, by its keys, without their values.
// No description of the service shows the reply; this is the local service's.
func (a Application) CustomPrompts(ctx context.Context) ([]Prompt, error) {
	return objects[Prompt](ctx, a.c, applicationPrompts, struct{}{})
}

// ResolveWidgetID returns the id of the agent's widget, always the same one. It needs an
// admin token. Errors: agent_not_found.
func (a Application) ResolveWidgetID(ctx context.Context, id string) (string, error) {
	if err := required("the agent id", id); err != nil {
		return "", err
	}
	var reply struct {
		WidgetID string `json:"widgetId"`
	}
	err := a.c.post(ctx, applicationWidget, a.c.Agents.about(id), &reply)
	if err == nil && reply.WidgetID == "" {
		err = fault.New(fault.InvalidResponse, "the reply has no widget id").At(applicationWidget.path)
	}
	return reply.WidgetID, err
}

// AppInit exchanges a visitor's agent token, or a widget token, for what a page needs to
// connect. The token in the result has the same user (service.md "Authentication"
// rule 10). Errors: wrong_token_scope for a token of another kind or without an agent,
// api_exception when the service refuses a raw token.
func (a Application) AppInit(ctx context.Context, t Token) (*AppInit, error) {
	switch {
	case t.KS() == "":
		return nil, badRequest("there is no token")
	case t.admin(), t.Kind == ConversationToken && t.AgentID == "":
		return nil, fault.New(fault.WrongTokenScope, "appInit needs a widget token or the agent token of a visitor; it has a "+string(t.Kind)+" token")
	}
	return appinit.Init(ctx, appinit.Options{Config: a.c.config, Token: t.KS(), HTTPClient: fetch.As(fetch.Watch(a.c.fetch, a.c.onResponse))})
}
