package management

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// Config has the addresses of the services (service.md "Regions and base addresses").
type Config = appinit.Config

// Options are the settings of a [Client]. Only PartnerID is required; without a secret, every
// call needs a token in its context ([WithToken]).
type Options struct {
	// PartnerID is the account's id.
	PartnerID int64 `json:"partnerId"`
	// Secret is the account's admin secret. It is sent to the session API only, and
	// never appears in an error or in the output of fmt.
	Secret string `json:"-"`
	// SecretFunc returns the secret, from a vault for example. It is called for every
	// token that is minted. Only one of Secret and SecretFunc may be set.
	SecretFunc func(ctx context.Context) (string, error) `json:"-"`
	// UserID is the user of the tokens that the client mints for itself, the owner of
	// what they create (service.md "Authentication" rule 1). Default "management".
	UserID string `json:"userId"`
	Config
	// OnResponse is called for every HTTP reply, also of attempts that are repeated,
	// before its body is read.
	OnResponse func(Response) `json:"-"`
	// HTTPClient does the requests. Default: connections that Close closes.
	HTTPClient httpclient.Client `json:"-"`
}

// Response describes a reply for [Options.OnResponse].
type Response = httpclient.Response

const (
	defaultUserID = "management"
	// ownLife is how long a token that the client mints for itself is valid. It is
	// replaced when less than a fifth of that time is left.
	ownLife = 15 * time.Minute
)

// Format keeps the secret out of logs, whatever the verb is.
func (o Options) Format(s fmt.State, _ rune) {
	_, _ = io.WriteString(s, "management options "+fault.Redacted)
}

// Client calls the service for one account. Its methods, and those of its fields, may be
// called by several goroutines at once.
type Client struct {
	Tokens      Tokens
	Agents      Agents
	Avatars     Avatars
	Catalog     Catalog
	Application Application

	AvatarSessions AvatarSessions

	Intellects Intellects
	Tools      Tools
	Skills     Skills
	Threads    Threads
	Messages   Messages
	Feedback   Feedback
	Followups  Followups

	Conversations Conversations

	Knowledge      Knowledge
	Insights       Insights
	Lifecycle      Lifecycle
	EmailTemplates EmailTemplates

	partnerID  int64
	userID     string
	secret     func(context.Context) (string, error) // nil without a secret
	secrets    *fault.Secrets
	config     Config
	addresses  appinit.Addresses
	fetch      fetch.Client
	onResponse func(Response)
	close      func()

	// turn is the lock of own: it holds a value while own is read or replaced.
	turn chan struct{}
	own  Token
}

// New returns a client. It sends nothing. The error is bad_request for a missing
// partner, two secrets, an unknown region or a bad address, and insecure_transport for
// http to a public host (service.md "Regions and base addresses").
func New(o Options) (*Client, error) {
	if o.PartnerID <= 0 {
		return nil, badRequest("PartnerID must be a positive number")
	}
	if o.Secret != "" && o.SecretFunc != nil {
		return nil, badRequest("only one of Secret and SecretFunc may be set")
	}
	addresses, err := o.Resolve()
	if err != nil {
		return nil, err
	}
	c := &Client{
		partnerID: o.PartnerID, userID: cmp.Or(o.UserID, defaultUserID), secret: o.SecretFunc,
		config: o.Config, addresses: addresses, onResponse: o.OnResponse, turn: make(chan struct{}, 1),
	}
	c.config.Warn = nil // Resolve has called it
	c.secrets = fault.NewSecrets(c)
	if secret := o.Secret; secret != "" { // in a closure, where fmt does not find it
		c.secret = func(context.Context) (string, error) { return secret, nil }
	}
	c.fetch, c.close = fetch.Open(o.HTTPClient)
	c.Tokens, c.Application = Tokens{c}, Application{c}
	c.Agents, c.Avatars, c.Catalog = Agents{recordsOf(c, &agents)}, Avatars{recordsOf(c, &avatars)}, Catalog{recordsOf(c, &catalogItems)}
	c.Intellects, c.Tools, c.Skills = Intellects{recordsOf(c, &intellects)}, Tools{recordsOf(c, &tools)}, Skills{recordsOf(c, &skills)}
	c.Knowledge, c.Insights = Knowledge{recordsOf(c, &knowledgeRecords)}, Insights{recordsOf(c, &insights)}
	c.Lifecycle, c.EmailTemplates = Lifecycle{recordsOf(c, &rules)}, EmailTemplates{recordsOf(c, &emails)}
	c.Threads, c.Messages, c.Feedback, c.Followups = Threads{c}, Messages{c}, Feedback{c}, Followups{c}
	c.Conversations, c.AvatarSessions = Conversations{c}, AvatarSessions{c}
	return c, nil
}

// Close closes the client's idle connections, not those of [Options.HTTPClient]. It does not end calls; their contexts do.
func (c *Client) Close() { c.close() }

// String returns the account of the client, without secrets.
func (c *Client) String() string {
	return "management of partner " + strconv.FormatInt(c.partnerID, 10) + " " + fault.Redacted
}

// Format keeps secrets out of logs, whatever the verb is.
func (c *Client) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, c.String()) }

// ownToken returns the client's own admin token. It mints a new one if there is none,
// if it expires soon, or if it is the refused one.
func (c *Client) ownToken(ctx context.Context, refused Token) (Token, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Token{}, fault.From(ctx.Err())
	}
	if c.own != refused && time.Until(c.own.ExpiresAt) > ownLife/5 {
		return c.own, nil
	}
	token, err := c.Tokens.Admin(ctx, AdminTokenInput{UserID: c.userID, TTL: ownLife})
	if err == nil {
		c.own = token
	}
	return token, err
}
