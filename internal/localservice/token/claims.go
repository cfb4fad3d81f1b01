package token

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind is what a token may be used for (service.md, Authentication).
type Kind string

// The kinds of token.
const (
	Admin        Kind = "admin"
	Conversation Kind = "conversation" // names a brain configuration
	Agent        Kind = "agent"        // names an agent
	Widget       Kind = "widget"       // for the visitors of a page, without a user of its own
)

// Session types on the wire.
const (
	TypeUser  = 0
	TypeAdmin = 2
)

// PlaybackRole is the role that user sessions are bound to.
const PlaybackRole = "PLAYBACK_BASE_ROLE"

// Claims is the content of a token.
type Claims struct {
	PartnerID  int64
	Type       int // TypeUser or TypeAdmin
	UserID     string
	Expiry     time.Time // whole seconds
	Privileges string    // comma-separated key:value entries

	// ID is random. A token that was derived from another one keeps its ID, so
	// that both are ended and counted together.
	ID string

	grants grants
}

// grants is the meaning of the privileges. A privilege that the service does not use
// stays in the token and is ignored.
type grants struct {
	agentID            string
	configID           int64
	role               string
	group              string
	actionsLimit       int
	ipRestrict         string
	uriRestrict        string
	widget             bool
	disableEntitlement bool
}

// sharedID begins the ids of tokens that all visitors of a widget share. Other ids are random and have no colon.
const sharedID = "widget:"

// Shared reports whether all visitors of a widget have this token.
func (c *Claims) Shared() bool { return strings.HasPrefix(c.ID, sharedID) }

// Client is the token in a [quota.Client]: its id, or "" if many clients share it, which are then known by their addresses
// alone.
func (c *Claims) Client() string {
	if c.Shared() {
		return ""
	}
	return c.ID
}

// AgentID is the agent that the token names, or "".
func (c *Claims) AgentID() string { return c.grants.agentID }

// ConfigID is the brain configuration that the token names, or 0.
func (c *Claims) ConfigID() int64 { return c.grants.configID }

// Entitled reports whether the caller is limited to what belongs to its user.
func (c *Claims) Entitled() bool { return !c.grants.disableEntitlement }

// Kind derives what the token may be used for. The enriched token that appInit
// makes from a widget token is still a widget token: any visitor of the page can get
// one, so it must not list threads.
func (c *Claims) Kind() Kind {
	switch {
	case c.Type == TypeAdmin:
		return Admin
	case c.grants.widget:
		return Widget
	case c.grants.agentID != "":
		return Agent
	}
	return Conversation
}

// parsePrivileges reads the comma-separated list. A malformed entry is an error, and so
// is a second one of a privilege that is allowed only once.
func parsePrivileges(list string) (grants, error) {
	var g grants
	if list == "" {
		return g, nil
	}
	seen := map[string]bool{}
	for entry := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(entry), ":")
		if key == "" {
			return grants{}, fmt.Errorf("privileges: empty entry")
		}
		if strings.ContainsAny(key, " \t\r\n") { // it would be taken for another privilege and ignored
			return grants{}, fmt.Errorf("privileges: white space in %q", key)
		}
		if strings.ContainsAny(value, " \t\r\n") {
			return grants{}, fmt.Errorf("privilege %s: white space in its value", key)
		}
		if single[key] && seen[key] {
			return grants{}, fmt.Errorf("privilege %s: given twice", key)
		}
		seen[key] = true
		if err := g.set(key, value); err != nil {
			return grants{}, fmt.Errorf("privilege %s: %w", key, err)
		}
	}
	return g, nil
}

// single lists the privileges of which a token has at most one.
var single = map[string]bool{
	"setrole": true, "agentid": true, "geniegpcid": true, "sessionid": true,
	"actionslimit": true, "iprestrict": true, "urirestrict": true,
}

func (g *grants) set(key, value string) (err error) {
	switch key {
	case "agentid":
		g.agentID = value
	case "geniegpcid":
		g.configID, err = strconv.ParseInt(value, 10, 64)
		if err != nil || g.configID <= 0 {
			err = errNotPositive
		}
	case "setrole":
		g.role = value
	case "sessionid":
		g.group = value
	case "actionslimit":
		g.actionsLimit, err = strconv.Atoi(value)
		if err != nil || g.actionsLimit <= 0 {
			err = errNotPositive
		}
	case "iprestrict":
		g.ipRestrict = value
	case "urirestrict":
		g.uriRestrict = value
	case "sview":
		g.widget = g.widget || value == "*" // one entry does not undo another
		return nil
	case "disableentitlement":
		g.disableEntitlement = true
		return nil
	default:
		return nil
	}
	if err == nil && value == "" {
		err = errNoValue
	}
	return err
}
