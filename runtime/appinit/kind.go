package appinit

import "github.com/agentruntime/agentruntime/runtime/fault"

// TokenKind is the kind of a token. It can't be read from the token, so the creator of
// the token passes it on; calls that the kind does not allow are rejected without a
// request (service.md "Authentication" rule 6).
type TokenKind string

// The kinds of tokens.
const (
	// UnknownToken is the kind of a token without that information.
	UnknownToken TokenKind = ""
	// WidgetToken comes from a widget id and is the same for every visitor. The
	// token that appInit returns for it can converse, but has no threads.
	WidgetToken TokenKind = "widget"
	// ConversationToken is for conversations with one brain configuration.
	ConversationToken TokenKind = "conversation"
	// AgentToken is for conversations with one agent.
	AgentToken TokenKind = "agent"
	// AdminToken manages an account. It must not reach a page.
	AdminToken TokenKind = "admin"
)

// Known reports whether k is one of the above.
func (k TokenKind) Known() bool {
	switch k {
	case UnknownToken, WidgetToken, ConversationToken, AgentToken, AdminToken:
		return true
	}
	return false
}

// Talking returns an error for a token that must not converse: bad_request for an
// unknown kind, wrong_token_scope for an admin token.
func (k TokenKind) Talking() error {
	switch {
	case !k.Known():
		return fault.New(fault.BadRequest, "kind must be one of widget, conversation, agent, admin")
	case k == AdminToken:
		return fault.New(fault.WrongTokenScope, "an admin token must not be used to converse; use a conversation or agent token")
	}
	return nil
}
