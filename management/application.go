package management

import (
	"context"

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

var applicationWidget = endpoint{at: appinit.Agentic, path: "/application/resolveWidgetId", again: harmless}

// ResolveWidgetID returns the id of the agent's widget, always the same one. It needs an
// admin token. Errors: agent_not_found.
func (a Application) ResolveWidgetID(ctx context.Context, id string) (string, error) {
	if err := required("the agent id", id); err != nil {
		return "", err
	}
	var reply struct {
		WidgetID string `json:"widgetId"`
	}
	err := a.c.post(ctx, applicationWidget, agentID{id}, &reply)
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
	return appinit.Init(ctx, appinit.Options{Config: a.c.config, Token: t.KS(), Client: fetch.Watch(a.c.fetch, a.c.onResponse)})
}
