package management

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Lifetimes of tokens (protocol §1.3).
const (
	DefaultAdminTTL = time.Hour
	MaxAdminTTL     = 7 * 24 * time.Hour
	DefaultUserTTL  = 30 * time.Minute
	MaxUserTTL      = 24 * time.Hour
	// lookupTTL is the life of the token that looks up an agent's intellect
	// (service.md "Limits").
	lookupTTL = time.Minute
)

// Types of sessions (service.md "Session API").
const (
	userSession  = 0
	adminSession = 2
)

// The privileges that the client sets by itself.
const (
	noEntitlement = "disableentitlement"
	playbackRole  = "PLAYBACK_BASE_ROLE"
	agentKey      = "agentid"
	configKey     = "geniegpcid"
	roleKey       = "setrole"
)

// Tokens mints and ends session tokens (service.md "Authentication"). Minting needs the
// admin secret, and fails with no_secret without it.
type Tokens struct{ c *Client }

// AdminTokenInput describes an admin token.
type AdminTokenInput struct {
	// UserID is required: it becomes the owner of what the token creates.
	UserID string
	// TTL is the token's life, in whole seconds; 1 s to 7 days. Default 1 hour.
	TTL time.Duration
}

// TokenInput describes a conversation or agent token. By default it is a user's session,
// limited to what belongs to that user.
type TokenInput struct {
	// ConfigID is the id of the intellect that answers. A conversation token requires
	// it; for an agent token it is looked up when it is 0.
	ConfigID int64
	// AgentID labels the threads; an agent token requires it, and so does appInit.
	// Without it threads have the agent "default".
	AgentID string
	// UserID is the end user: the token gives access to the threads and memory of this
	// user. Pass a different id for each user, in UTF-8. Required with AdminSession.
	UserID string
	// TTL is the token's life, in whole seconds; 1 s to 24 hours. Default 30 minutes.
	TTL time.Duration
	// AdminSession makes it an admin's session, without a role. It must stay on the
	// server.
	AdminSession bool
	Restrictions Restrictions
	// ExtraPrivileges are added as they are, each "key" or "key:value". They must not
	// switch entitlement off (entitlement_violation) and not repeat a privilege that the
	// token has already.
	ExtraPrivileges []string
}

// Restrictions limit what a token can be used for (service.md "Authentication" rule 8).
// Zero values are no restriction. Texts must not have a comma or white space in them.
type Restrictions struct {
	// IP is the address, or the prefix of addresses, that the token is valid from.
	IP string
	// URI is the path that the token is valid for; a * at its end matches any rest.
	URI string
	// SessionGroupID groups tokens: ending one ends all of them.
	SessionGroupID string
	// Role replaces the role; only with AdminSession.
	Role string
	// ActionsLimit is how many requests the token can be used for.
	ActionsLimit int
}

// Admin mints a token with access to the whole account. It must not leave the server.
// Errors: bad_request without a UserID or for a TTL under a second, ttl_too_long,
// no_secret, api_exception when the service refuses, session_failed when it returns no token.
func (t Tokens) Admin(ctx context.Context, in AdminTokenInput) (Token, error) {
	if in.UserID == "" {
		return Token{}, badRequest("an admin token needs a UserID: it becomes the owner of what the token creates")
	}
	return t.mint(ctx, Token{Kind: AdminToken, UserID: in.UserID, Privileges: noEntitlement}, in.TTL)
}

// Conversation mints a token for talking to one intellect. Errors: bad_request for a
// missing ConfigID and for everything that [TokenInput] and [Restrictions] rule out,
// entitlement_violation, ttl_too_long, no_secret, api_exception when the service refuses,
// session_failed when it returns no token.
func (t Tokens) Conversation(ctx context.Context, in TokenInput) (Token, error) {
	if in.ConfigID == 0 {
		return Token{}, badRequest("a conversation token needs a ConfigID, the id of an intellect")
	}
	return t.user(ctx, ConversationToken, in)
}

// Agent mints a token for talking to one agent, which appInit takes. Without a ConfigID
// it reads the agent first, with an admin token of 60 seconds. Errors are those of
// Conversation, intellect_not_found for an agent without an intellect, and those of
// [Agents.Get].
func (t Tokens) Agent(ctx context.Context, in TokenInput) (Token, error) {
	if in.AgentID == "" {
		return Token{}, badRequest("an agent token needs an AgentID")
	}
	if in.ConfigID != 0 {
		return t.user(ctx, AgentToken, in)
	}
	if _, err := in.privileges(); err != nil { // before the requests of the look-up
		return Token{}, err
	}
	if _, err := seconds(in.TTL, DefaultUserTTL, MaxUserTTL); err != nil {
		return Token{}, err
	}
	admin, err := t.Admin(ctx, AdminTokenInput{UserID: t.c.userID, TTL: lookupTTL})
	if err != nil {
		return Token{}, err
	}
	agent, err := t.c.Agents.Get(WithToken(ctx, admin), in.AgentID)
	if err != nil {
		return Token{}, err
	}
	if in.ConfigID = agent.Intellect.ID; in.ConfigID <= 0 {
		return Token{}, fault.New(fault.IntellectNotFound, "the agent has no intellect with a number; give it one, or pass a ConfigID")
	}
	return t.user(ctx, AgentToken, in)
}

// Widget exchanges a widget id for a token without a user. It needs no secret. Errors:
// bad_request for an empty id, agent_not_found for an unknown one, session_failed when there
// is no token in the reply.
func (t Tokens) Widget(ctx context.Context, widgetID string) (Token, error) {
	if err := required("the widget id", widgetID); err != nil {
		return Token{}, err
	}
	ks, err := t.start(ctx, "startWidgetSession", map[string]string{"widgetId": widgetID})
	if err != nil {
		return Token{}, err
	}
	return Token{Kind: WidgetToken, ks: &ks}, nil
}

// End ends a token, and all with the same SessionGroupID. It is not an error if the token
// has ended or expired already.
func (t Tokens) End(ctx context.Context, token Token) error {
	if token.KS() == "" {
		return badRequest("there is no token to end")
	}
	return t.session(ctx, "end", map[string]string{"ks": token.KS()}, nil)
}

func (t Tokens) user(ctx context.Context, kind TokenKind, in TokenInput) (Token, error) {
	privileges, err := in.privileges()
	if err != nil {
		return Token{}, err
	}
	return t.mint(ctx, Token{
		Kind: kind, AdminSession: in.AdminSession, UserID: in.UserID, AgentID: in.AgentID, ConfigID: in.ConfigID,
		Privileges: privileges,
	}, in.TTL)
}

// mint requests the token that is described.
func (t Tokens) mint(ctx context.Context, token Token, ttl time.Duration) (Token, error) {
	usual, most, kind := DefaultUserTTL, MaxUserTTL, userSession
	if token.Kind == AdminToken {
		usual, most = DefaultAdminTTL, MaxAdminTTL
	}
	if token.admin() {
		kind = adminSession
	}
	expiry, err := seconds(ttl, usual, most)
	if err == nil {
		err = isText("UserID", token.UserID)
	}
	if err != nil {
		return Token{}, err
	}
	secret, err := t.secret(ctx)
	if err != nil {
		return Token{}, err
	}
	began := time.Now() // the service's time begins later, so that ExpiresAt is never too late
	ks, err := t.start(ctx, "start", map[string]string{
		"secret": secret, "partnerId": strconv.FormatInt(t.c.partnerID, 10), "userId": token.UserID,
		"type": strconv.Itoa(kind), "expiry": strconv.Itoa(expiry), "privileges": token.Privileges,
	})
	if err != nil {
		return Token{}, err
	}
	token.ks, token.ExpiresAt = &ks, began.Add(time.Duration(expiry)*time.Second)
	return token, nil
}

// secret returns the admin secret, which from then on is redacted in every error.
func (t Tokens) secret(ctx context.Context) (string, error) {
	if t.c.secret == nil {
		return "", fault.New(fault.NoSecret, "minting a token needs the admin secret; set Secret or SecretFunc")
	}
	secret, err := t.c.secret(ctx)
	if err == nil && secret == "" {
		err = fault.New(fault.NoSecret, "SecretFunc returned no secret")
	}
	if err != nil {
		return "", fault.From(err)
	}
	t.c.secrets.Add(secret)
	return secret, nil
}

// session calls the session API, the only one that the secret is sent to (service.md
// "Regions and base addresses" rule 4).
func (t Tokens) session(ctx context.Context, action string, fields map[string]string, out any) error {
	base, err := t.c.addresses.Base(appinit.OVP)
	if err != nil {
		return err
	}
	fields["format"] = "1"
	return t.c.call(ctx, &fetch.Request{
		URL: base + "/service/session/action/" + action, Body: fetch.Form(fields), Repeatable: true,
	}, out)
}

// start calls the session API for a token. The reply is the token, or an object with it as ks.
func (t Tokens) start(ctx context.Context, action string, fields map[string]string) (ks string, err error) {
	var reply json.RawMessage
	if err := t.session(ctx, action, fields, &reply); err != nil {
		return "", err
	}
	if json.Unmarshal(reply, &ks) != nil {
		var object struct {
			KS string `json:"ks"`
		}
		_ = json.Unmarshal(reply, &object) // of another type: without a token
		ks = object.KS
	}
	if !strings.HasPrefix(ks, ksPrefix) {
		return "", fault.New(fault.SessionFailed, action+" returned no token")
	}
	return ks, nil
}

// seconds returns a lifetime as it is sent; usual is the default, most the maximum.
func seconds(ttl, usual, most time.Duration) (int, error) {
	ttl = cmp.Or(ttl, usual)
	switch {
	case ttl > most:
		return 0, fault.New(fault.TTLTooLong, "TTL must be at most "+strconv.Itoa(int(most.Seconds()))+" seconds for this kind of token")
	case ttl < time.Second || ttl%time.Second != 0:
		return 0, badRequest("TTL must be a whole number of seconds, at least one")
	}
	return int(ttl / time.Second), nil
}

// privileges checks in and returns its privileges as they are sent.
func (in *TokenInput) privileges() (string, error) {
	if in.ConfigID < 0 {
		return "", badRequest("ConfigID must be a positive number")
	}
	if in.AdminSession && in.UserID == "" {
		return "", badRequest("a token of an admin's session needs a UserID: it becomes the owner of what the token creates")
	}
	if err := isText("UserID", in.UserID); err != nil {
		return "", err
	}
	if in.Restrictions.Role != "" && !in.AdminSession {
		return "", badRequest("Restrictions.Role is allowed with AdminSession only")
	}
	if in.Restrictions.ActionsLimit < 0 {
		return "", badRequest("Restrictions.ActionsLimit must be a positive number")
	}
	p := privilegeList{}
	p.add("AgentID", agentKey, in.AgentID)
	p.addNumber(configKey, in.ConfigID)
	if !in.AdminSession {
		p.add("", roleKey, playbackRole)
	}
	p.add("Restrictions.Role", roleKey, in.Restrictions.Role)
	p.addNumber("actionslimit", int64(in.Restrictions.ActionsLimit))
	p.add("Restrictions.IP", "iprestrict", in.Restrictions.IP)
	p.add("Restrictions.URI", "urirestrict", in.Restrictions.URI)
	p.add("Restrictions.SessionGroupID", "sessionid", in.Restrictions.SessionGroupID)
	for _, extra := range in.ExtraPrivileges {
		p.addExtra(extra)
	}
	return strings.Join(p.entries, ","), p.err
}

// privilegeList collects privileges until one is wrong.
type privilegeList struct {
	entries []string
	err     error
}

// noEntitlementWord finds what only an admin's token may have: the whole word, in any case
// (management-api.md, F.2).
var noEntitlementWord = regexp.MustCompile(`(?i)\b` + noEntitlement + `\b`)

// single are the privileges of which a token has at most one.
var single = []string{roleKey, agentKey, configKey, "iprestrict", "urirestrict", "sessionid", "actionslimit"}

// add adds a privilege unless its value is empty; name is the field that it came from.
func (p *privilegeList) add(name, key, value string) {
	if err := isText(name, value); err != nil && p.err == nil {
		p.err = err
	}
	if noEntitlementWord.MatchString(value) && p.err == nil {
		p.err = fault.New(fault.EntitlementViolation, name+" must not switch entitlement off; use an admin token on the server")
	}
	if separates(value) && p.err == nil {
		p.err = badRequest(name + " must not have a comma or white space in it")
	}
	if value != "" {
		p.entries = append(p.entries, key+":"+value)
	}
}

func (p *privilegeList) addNumber(key string, n int64) {
	if n != 0 {
		p.entries = append(p.entries, key+":"+strconv.FormatInt(n, 10))
	}
}

func (p *privilegeList) addExtra(entry string) {
	if p.err != nil {
		return
	}
	key, _, _ := strings.Cut(strings.ToLower(entry), ":")
	switch err := isText("each of ExtraPrivileges", entry); {
	case err != nil:
		p.err = err
	case key == "" || separates(entry):
		p.err = badRequest("each of ExtraPrivileges must be a key, or key:value, without a comma or white space in it")
	case noEntitlementWord.MatchString(entry):
		p.err = fault.New(fault.EntitlementViolation, "ExtraPrivileges must not switch entitlement off; use an admin token on the server")
	case slices.Contains(single, key) && p.has(key):
		p.err = badRequest("ExtraPrivileges must not have a second " + key)
	}
	p.entries = append(p.entries, entry)
}

func (p *privilegeList) has(key string) bool {
	return slices.ContainsFunc(p.entries, func(entry string) bool {
		name, _, _ := strings.Cut(entry, ":")
		return strings.EqualFold(name, key)
	})
}

// isText returns an error for a value that is not UTF-8. The service can't store it as it
// is: two such ids could become the same.
func isText(name, value string) error {
	if !utf8.ValidString(value) {
		return badRequest(name + " must be UTF-8")
	}
	return nil
}

// separates reports whether a privilege with this text would be read as several.
func separates(s string) bool {
	return strings.Contains(s, ",") || strings.ContainsFunc(s, unicode.IsSpace)
}
