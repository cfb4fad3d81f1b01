package token

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Lifetimes of a token (protocol §1.3).
const (
	DefaultAdminTTL = time.Hour
	MaxAdminTTL     = 7 * 24 * time.Hour
	DefaultUserTTL  = 30 * time.Minute
	MaxUserTTL      = 24 * time.Hour
)

// maxUserID bounds a user id, in bytes. E-mail addresses and UUIDs are far below.
const maxUserID = 1024

// Refusal is the error for a [Grant] that breaks a rule of minting. Its text, which names
// the rule, may be shown.
type Refusal struct{ reason string }

func (r *Refusal) Error() string { return r.reason }

func refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// Authority mints, checks and ends tokens.
type Authority struct {
	store *store.Store
	onEnd func(Ended)

	shares bool // see ShareWidgets
	mu     sync.Mutex
	shared map[string]widgetToken // by the ids of agents
}

// widgetToken is a token that all visitors of a widget share.
type widgetToken struct {
	text   string
	claims Claims
}

// NewAuthority returns an Authority over s.
func NewAuthority(s *store.Store) *Authority {
	return &Authority{store: s, onEnd: func(Ended) {}, shared: map[string]widgetToken{}}
}

// OnEnd makes [Authority.End] call f, which must not block, after the end is stored: from
// then on every [Authority.Check] of the token fails. It must be called before the first
// End.
func (a *Authority) OnEnd(f func(Ended)) { a.onEnd = f }

// ShareWidgets makes [Authority.StartWidget] return the same token to all visitors of a widget, as service.md says. Who knows
// the id of a visitor's thread can then continue it. It must be called before the first StartWidget.
func (a *Authority) ShareWidgets() { a.shares = true }

// Ended identifies a token that was ended, together with the tokens of its group.
type Ended struct {
	partnerID   int64
	id, groupID string // groupID is "" for a token without a group
}

// Covers reports whether the token with these claims is among the ended ones.
func (e Ended) Covers(c *Claims) bool {
	return e.partnerID == c.PartnerID && (e.id == c.ID || e.groupID != "" && e.groupID == c.grants.group)
}

// Grant describes the token that a caller requests.
type Grant struct {
	PartnerID  int64
	Secret     string
	Type       int
	UserID     string
	TTL        time.Duration // 0 means the default of the type
	Privileges string
}

// Start mints a token for a caller with the partner's secret. The rules are those
// of service.md, Authentication; a broken one is a [Refusal].
//
// Older clients mint every token with the type 2 and without a user (management-api.md,
// F.2). What such a token may do is in its privileges: with disableentitlement it is an
// admin's, with an agent or a brain configuration it is a user session like one of type 0.
func (a *Authority) Start(ctx context.Context, g Grant) (string, error) {
	secret, err := a.secretFor(ctx, g.PartnerID)
	if err != nil && !errors.Is(err, ErrInvalid) {
		return "", err
	}
	if err != nil || !equal(secret, g.Secret) {
		return "", refuse("wrong partner or secret")
	}
	if g.Type == TypeAdmin && g.UserID == "" {
		privileges, err := parsePrivileges(g.Privileges)
		switch {
		case err != nil:
			return "", refuse("%v", err)
		case privileges.disableEntitlement:
		case privileges.agentID != "" || privileges.configID != 0:
			g.Type = TypeUser
		default:
			return "", refuse("an admin session needs a userId")
		}
	}
	ttl, longest := DefaultUserTTL, MaxUserTTL
	switch {
	case g.Type == TypeAdmin:
		ttl, longest = DefaultAdminTTL, MaxAdminTTL
	case g.Type != TypeUser:
		return "", refuse("session type %d: want %d or %d", g.Type, TypeUser, TypeAdmin)
	}
	ttl = cmp.Or(g.TTL, ttl)
	if ttl < time.Second || ttl > longest {
		return "", refuse("expiry: want 1 to %d seconds", longest/time.Second)
	}
	if len(g.UserID) > maxUserID {
		return "", refuse("userId: at most %d bytes", maxUserID)
	}
	if !utf8.ValidString(g.UserID) { // JSON would make the same text of all such ids
		return "", refuse("userId: want UTF-8")
	}
	if !utf8.ValidString(g.Privileges) {
		return "", refuse("privileges: want UTF-8")
	}
	c := &Claims{
		PartnerID: g.PartnerID, Type: g.Type, UserID: g.UserID,
		Expiry: time.Now().Add(ttl), Privileges: g.Privileges,
	}
	return a.mint(secret, c)
}

// mint mints a token and checks the rules that depend on the meaning of its privileges.
func (a *Authority) mint(secret string, c *Claims) (string, error) {
	text, err := Mint(secret, c)
	if err != nil {
		return "", refuse("%v", err)
	}
	if c.Type == TypeUser {
		if c.grants.disableEntitlement {
			return "", refuse("disableentitlement needs an admin session")
		}
		if c.grants.role != "" && c.grants.role != PlaybackRole {
			return "", refuse("a role other than PLAYBACK_BASE_ROLE needs an admin session")
		}
	}
	if c.grants.ipRestrict != "" {
		if _, err := parsePrefix(c.grants.ipRestrict); err != nil {
			return "", refuse("iprestrict: want an address or a prefix")
		}
	}
	return text, nil
}

// StartWidget mints the token of a widget: it needs no secret, and the token has no user
// (service.md, Session API). Each call returns another token, unless [Authority.ShareWidgets]
// was called.
func (a *Authority) StartWidget(ctx context.Context, widgetID string) (string, Claims, error) {
	agent, err := a.store.AgentByWidget(ctx, widgetID)
	if err != nil {
		return "", Claims{}, err
	}
	secret, err := a.secretFor(ctx, agent.PartnerID)
	if err != nil {
		return "", Claims{}, err
	}
	c := &Claims{
		PartnerID: agent.PartnerID, Type: TypeUser, Expiry: time.Now().Add(MaxUserTTL),
		Privileges: "setrole:" + PlaybackRole + ",sview:*,agentid:" + agent.ID,
	}
	if a.shares {
		return a.sharedToken(secret, agent.ID, c)
	}
	text, err := a.mint(secret, c)
	return text, *c, err
}

// sharedToken returns the token of all visitors of an agent's widget. When half of its life is over, the next one has the
// claims c. The id stays the same, also in the next run of the service, because the threads belong to it.
func (a *Authority) sharedToken(secret, agentID string, c *Claims) (string, Claims, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.shared[agentID]; ok && time.Until(t.claims.Expiry) > MaxUserTTL/2 {
		return t.text, t.claims, nil
	}
	c.ID = sharedID + agentID
	text, err := a.mint(secret, c)
	if err == nil {
		a.shared[agentID] = widgetToken{text, *c}
	}
	return text, *c, err
}

// Bind mints a copy of c that names a brain configuration, as appInit does. The
// copy has the same user, life and restrictions, and ends with its original.
func (a *Authority) Bind(ctx context.Context, c Claims, configID int64) (string, error) {
	secret, err := a.secretFor(ctx, c.PartnerID)
	if err != nil {
		return "", err
	}
	if c.grants.configID == 0 {
		c.Privileges += fmt.Sprintf(",geniegpcid:%d", configID)
	}
	return a.mint(secret, &c)
}

// End ends a token and its session group. It is not an error if the token has ended
// already, has expired, or is invalid. A token that all visitors of a widget share can't be
// ended: that is a [Refusal].
func (a *Authority) End(ctx context.Context, text string) error {
	c, err := Parse(ctx, text, a.secretFor)
	if errors.Is(err, ErrInvalid) {
		return nil
	}
	if err != nil {
		return err
	}
	if c.Shared() {
		return refuse("all visitors of the widget share this token, so it can't be ended")
	}
	// Members of the group may live longer than this token.
	if err := a.store.Revoke(ctx, c.PartnerID, c.ID, c.grants.group, time.Now().Add(MaxAdminTTL)); err != nil {
		return err
	}
	a.onEnd(Ended{c.PartnerID, c.ID, c.grants.group})
	return nil
}

// Use describes what a token is presented for.
type Use struct {
	Addr netip.Addr // of the client; the zero value fails every iprestrict
	Path string     // of the request, without query
}

// Valid returns an error when the token with these claims, which [Authority.Check]
// has accepted before, has been ended since.
func (a *Authority) Valid(ctx context.Context, c Claims) error {
	ended, err := a.store.Revoked(ctx, c.PartnerID, c.ID, c.grants.group)
	if err == nil && ended {
		err = ErrEnded
	}
	return err
}

// Check reads a token and refuses it if it has expired, was ended, or has a restriction
// that forbids this use. Each call counts as one action. The error is one of the
// package's, or the store's.
func (a *Authority) Check(ctx context.Context, text string, use Use) (Claims, error) {
	c, err := Parse(ctx, text, a.secretFor)
	if err != nil {
		return Claims{}, err
	}
	if !time.Now().Before(c.Expiry) {
		return Claims{}, ErrExpired
	}
	if err := a.Valid(ctx, c); err != nil {
		return Claims{}, err
	}
	if !c.grants.allows(use) {
		return Claims{}, ErrRestricted
	}
	if limit := c.grants.actionsLimit; limit > 0 {
		within, err := a.store.CountAction(ctx, c.PartnerID, c.ID, limit, c.Expiry)
		if err != nil {
			return Claims{}, err
		}
		if !within {
			return Claims{}, ErrRestricted
		}
	}
	return c, nil
}

// allows reports whether the address and path restrictions permit use.
func (g *grants) allows(use Use) bool {
	if g.ipRestrict != "" {
		prefix, err := parsePrefix(g.ipRestrict)
		if err != nil || !prefix.Contains(use.Addr.Unmap()) {
			return false
		}
	}
	if g.uriRestrict != "" {
		want, open := strings.CutSuffix(g.uriRestrict, "*")
		if use.Path != want && !(open && strings.HasPrefix(use.Path, want)) {
			return false
		}
	}
	return true
}

// parsePrefix reads an address, or a prefix of addresses as in 10.0.0.0/8.
func parsePrefix(s string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	return netip.ParsePrefix(s)
}

// secretFor returns the secret of a partner, [ErrInvalid] for one that does not exist.
func (a *Authority) secretFor(ctx context.Context, partnerID int64) (string, error) {
	secret, err := a.store.Secret(ctx, partnerID)
	if errors.Is(err, store.ErrNotFound) {
		err = ErrInvalid
	}
	return secret, err
}

// equal compares secrets in a time that depends on neither, not even on
// the length: both are hashed first.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
