package management

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// TokenKind is the kind of a token, recorded when the token is minted. Calls that the kind
// does not allow fail with wrong_token_scope, without a request (service.md
// "Authentication" rule 6).
type TokenKind = appinit.TokenKind

// The kinds of tokens. The service decides what an UnknownToken may do.
const (
	UnknownToken      = appinit.UnknownToken
	AdminToken        = appinit.AdminToken
	ConversationToken = appinit.ConversationToken
	AgentToken        = appinit.AgentToken
	WidgetToken       = appinit.WidgetToken
)

// Token is a session token with its properties. fmt and encoding/json don't show its
// text; KS returns it.
type Token struct {
	Kind TokenKind
	// AdminSession is set for a conversation or agent token of an admin's session.
	AdminSession bool
	// UserID, AgentID and ConfigID are what the token is bound to; empty or 0 if it is
	// not bound, or unknown.
	UserID   string
	AgentID  string
	ConfigID int64
	// Privileges are what the token was minted with; empty for a widget token.
	Privileges string
	// ExpiresAt is the end of the token's life, zero if it is unknown.
	ExpiresAt time.Time

	// ks is behind a pointer, which fmt does not follow within a struct.
	ks *string
}

// RawToken returns a token from elsewhere, of an unknown kind, which is sent as it is
// (service.md "Authentication" rule 6).
func RawToken(ks string) Token { return Token{ks: &ks} }

// KS returns the text of the token, which is secret.
func (t Token) KS() string {
	if t.ks == nil {
		return ""
	}
	return *t.ks
}

// admin reports whether t is an admin's session.
func (t Token) admin() bool { return t.Kind == AdminToken || t.AdminSession }

// String returns the kind of the token, without its text.
func (t Token) String() string {
	kind := string(t.Kind)
	if t.Kind == UnknownToken {
		kind = "unknown"
	}
	return kind + " token " + fault.Redacted
}

// Format keeps the token out of logs, whatever the verb is.
func (t Token) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, t.String()) }

// MarshalJSON keeps the token out of logs.
func (t Token) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

type tokenKey struct{}

// WithToken makes the calls with the returned context use t instead of an admin token of
// the client's own.
func WithToken(ctx context.Context, t Token) context.Context {
	return context.WithValue(ctx, tokenKey{}, t)
}
