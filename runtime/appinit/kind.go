package appinit

import "github.com/agentruntime/agentruntime/runtime/fault"

// TokenKind is what a token was minted as. The text of a token doesn't tell it,
// so whoever mints one records it, and a call for which the kind is wrong can be
// refused before anything is sent (service.md "Authentication" rule 6).
type TokenKind string

// The kinds of tokens.
const (
	// UnknownToken is the kind of a token of which only the text is known.
	UnknownToken TokenKind = ""
	// WidgetToken is made of a widget id and the same for every visitor. What
	// appInit makes of one can converse, but has no threads of its own.
	WidgetToken TokenKind = "widget"
	// ConversationToken talks to one brain configuration.
	ConversationToken TokenKind = "conversation"
	// AgentToken talks as one agent.
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

// Talking returns the error of a token that must not talk: bad_request for an unknown
// kind, wrong_token_scope for an admin's.
func (k TokenKind) Talking() error {
	switch {
	case !k.Known():
		return fault.New(fault.BadRequest, "kind must be one of widget, conversation, agent, admin")
	case k == AdminToken:
		return fault.New(fault.WrongTokenScope, "an admin token is not for talking; use a conversation or agent token")
	}
	return nil
}
