package visitor

import (
	"context"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// Options are the settings of calls without a session.
//
// They are the options of [New]; Token is required.
type Options struct {
	// Token is the conversation token.
	Token string `json:"token" ts:"-"`
	// Kind is the kind of the token, from `appInit`. Without it the service decides which
	// calls are allowed. Without a request, calls about threads and messages fail with
	// `wrong_token_scope` for a widget token, and turns for an admin token.
	Kind appinit.TokenKind `json:"kind"`

	// Region picks the default of GenieURL: nvp1 (US, the default) or frp2 (EU).
	Region *string `json:"region" ts:"Region"`
	// GenieURL is the address of the conversation service, from `appInit`.
	GenieURL *string `json:"genieUrl" ts:"string | URL" check:"address"`
	appinit.Policy

	// HTTPClient does the requests of a native program. Default: connections that Close
	// closes.
	HTTPClient httpclient.Client `json:"-"`
	// OnResponse is called for every HTTP reply, also for attempts that are retried,
	// before its body is read.
	OnResponse func(httpclient.Response) `json:"-" js:"onResponse" ts:"(response: ResponseInfo) => void"`
}

// String keeps the token out of logs.
func (o Options) String() string { return "visitor options " + fault.Redacted }

// GoString keeps the token out of logs.
func (o Options) GoString() string { return o.String() }

// Client makes the calls of one visitor. Its methods may be called by several
// goroutines at once.
type Client struct {
	send       Sender // nil: the client's own requests
	base       string
	token      string
	kind       appinit.TokenKind
	fetch      fetch.Client
	onResponse func(httpclient.Response)
	close      func()
}

// New returns a client. It sends nothing. The error is bad_request without a
// token, for an unknown kind or region and for a bad address, and
// insecure_transport for http to a public host (service.md "Regions and base
// addresses").
func New(o Options) (*Client, error) {
	if o.Token == "" {
		return nil, fault.New(fault.BadRequest, "a token is required")
	}
	if !o.Kind.Known() {
		return nil, fault.New(fault.BadRequest, "kind must be widget, conversation, agent or admin, or left out")
	}
	base, err := appinit.Config{Region: o.Region, GenieURL: o.GenieURL, Policy: o.Policy}.GenieBase()
	if err != nil {
		return nil, err
	}
	c := &Client{
		base: base, token: o.Token, kind: o.Kind,
		onResponse: o.OnResponse,
	}
	fault.NewSecrets(c).Add(o.Token)
	c.fetch, c.close = fetch.Open(o.HTTPClient)
	return c, nil
}

// Sender makes a call of a visitor: it posts body to a path of the conversation service, and
// decodes the reply into out, which may be nil.
type Sender func(ctx context.Context, path string, body, out any) error

// Through returns a client whose calls are made by send, for a program that has its own way
// to the service. It has no Status, and need not be closed.
func Through(send Sender) *Client { return &Client{send: send, close: func() {}} }

// Close closes connections that c has opened itself, not those of [Options.HTTPClient]. It
// does not end calls; their contexts do.
func (c *Client) Close() { c.close() }

// String keeps the token out of logs.
func (c *Client) String() string { return "visitor at " + c.base + " " + fault.Redacted }

// GoString keeps the token out of logs.
func (c *Client) GoString() string { return c.String() }

// personal is post for threads and messages. It rejects a widget token, which has none.
func (c *Client) personal(ctx context.Context, r *fetch.Request, body, out any) error {
	if c.kind == appinit.WidgetToken {
		return fault.New(fault.WrongTokenScope,
			"a widget token is the same for every visitor and has no threads or messages; use an agent token with a userId")
	}
	return c.post(ctx, r, body, out)
}

// post makes a call. The URL of r is a path.
func (c *Client) post(ctx context.Context, r *fetch.Request, body, out any) (err error) {
	if c.send != nil {
		return c.send(ctx, r.URL, body, out)
	}
	if r.Body, err = fetch.JSON(body); err != nil {
		return err
	}
	return c.call(ctx, r, out)
}

func (c *Client) call(ctx context.Context, r *fetch.Request, out any) error {
	r.URL = c.base + r.URL
	r.Header = fetch.Header{"authorization": "KS " + c.token}
	return fetch.Call(ctx, fetch.Watch(c.fetch, c.onResponse), r, out)
}

// idBody is the body of calls about one thing.
type idBody struct {
	ID string `json:"id"`
}

// required rejects an empty id, which is probably an unset variable.
func required(name, id string) error {
	if id == "" {
		return fault.New(fault.BadRequest, name+" is empty")
	}
	return nil
}
