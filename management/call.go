package management

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"mime/multipart"
	"net/textproto"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// endpoint is one call of the service.
type endpoint struct {
	at    appinit.Service
	path  string // behind the base address
	scope scope
	again again
}

// scope is which kinds of token a call accepts (service.md "Authentication" rule 6).
// Tokens of an unknown kind are checked by the service only.
type scope uint8

const (
	forAdmin scope = iota // an admin's session
	forUsers              // an admin's, or one with a user: conversation or agent
	forAll                // any
)

// again is why a request that failed with 429, 502, 503 or 504 may be repeated.
type again uint8

const (
	keyed    again = iota // it has an idempotency key: creates, deletes, pushes
	harmless              // the second time changes nothing: reads, updates
)

func (s scope) check(t Token, path string) error {
	refused := false
	switch {
	case t.Kind == appinit.UnknownToken || t.admin():
	case s == forAdmin:
		refused = true
	case s == forUsers:
		refused = t.Kind == appinit.WidgetToken
	}
	if !refused {
		return nil
	}
	needs := "an admin token"
	if s == forUsers {
		needs = "an admin, conversation or agent token"
	}
	return fault.New(fault.WrongTokenScope, "this call needs "+needs+"; it has a "+string(t.Kind)+" token").At(path)
}

// withID is the body of a call about one object.
func withID[ID string | int64](id ID) map[string]any { return map[string]any{"id": id} }

// post calls e with body as JSON and decodes the reply into out, which may be nil or a
// *fetch.Raw.
func (c *Client) post(ctx context.Context, e endpoint, body, out any, opts ...Option) error {
	encoded, err := fetch.JSON(body)
	if err != nil {
		return err
	}
	return c.send(ctx, e, encoded, out, opts)
}

// visitorCalls are the calls of [visitor.Client] by their paths.
var visitorCalls = map[string]endpoint{
	"/v1/thread/get":             {scope: forUsers, again: harmless},
	"/v1/thread/update":          {scope: forUsers, again: harmless},
	"/v1/thread/delete":          {scope: forUsers},
	"/v1/thread/get_transcripts": {scope: forUsers, again: harmless},
	"/message/get":               {scope: forUsers, again: harmless},
	"/message/share":             {scope: forUsers},
	"/feedback/add":              {scope: forAll, again: harmless},
	"/followup/get-suggested-questions?new_response=true": {scope: forAll, again: harmless},
}

// visitor returns the calls of a visitor, made with the tokens and the options of this client.
func (c *Client) visitor(opts ...Option) *visitor.Client {
	return visitor.Through(func(ctx context.Context, path string, body, out any) error {
		e := visitorCalls[path]
		e.at, e.path = appinit.Genie, path
		return c.post(ctx, e, body, out, opts...)
	})
}

// pointer returns a pointer to the result of a call, nil if it failed.
func pointer[T any](v T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return &v, nil
}

// authorized calls send with the token of ctx, or with the client's own. If the service refuses
// its own token, authorized mints another one and tries once more: the token may have been
// ended, or the service restarted.
func (c *Client) authorized(ctx context.Context, s scope, path string, refused func(error) bool, send func(Token) error) error {
	if token, given := ctx.Value(tokenKey{}).(Token); given {
		if err := s.check(token, path); err != nil {
			return err
		}
		return send(token)
	}
	token, err := c.ownToken(ctx, Token{})
	if err != nil {
		return err
	}
	if err = send(token); !refused(err) {
		return err
	}
	if token, err = c.ownToken(ctx, token); err != nil {
		return err
	}
	return send(token)
}

// send calls e.
func (c *Client) send(ctx context.Context, e endpoint, body fetch.Body, out any, opts []Option) error {
	base, err := c.addresses.Base(e.at)
	if err != nil {
		return err
	}
	r := &fetch.Request{URL: base + e.path, Header: fetch.Header{}, Body: body, Repeatable: true}
	if e.again == keyed {
		r.Header.Set("idempotency-key", cmp.Or(settingsOf(opts).key, rand.Text()))
	}
	scheme := "KS "
	if e.at == appinit.Messaging {
		scheme = "Bearer "
	}
	return c.authorized(ctx, e.scope, e.path, func(err error) bool { return errors.Is(err, fault.Unauthorized) }, func(t Token) error {
		r.Header.Set("authorization", scheme+t.KS())
		return c.call(ctx, r, out)
	})
}

// call sends one request. Only that of [Application.AppInit] is not sent here.
func (c *Client) call(ctx context.Context, r *fetch.Request, out any) error {
	return fetch.Call(ctx, fetch.Watch(c.fetch, c.onResponse), r, out)
}

// field is a text in a form.
type field struct{ name, value string }

// upload is the file in a form: its field, its name, its MIME type and what is in it.
type upload struct {
	field, name, kind string
	data              []byte
}

// formWith is the body of a request with a form, whose file comes last. Error: no_formdata.
func formWith(file upload, fields ...field) (fetch.Body, error) {
	var body bytes.Buffer
	var err error
	form := multipart.NewWriter(&body)
	for _, f := range fields {
		err = errors.Join(err, form.WriteField(f.name, f.value))
	}
	part, partErr := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition(file.field, file.name)}, "Content-Type": {file.kind},
	})
	if err = errors.Join(err, partErr); err == nil {
		_, err = part.Write(file.data)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return fetch.Body{}, fault.New(fault.NoFormData, "").Wrap(err)
	}
	return fetch.Bytes(form.FormDataContentType(), body.Bytes()), nil
}

func badRequest(detail string) *fault.Error { return fault.New(fault.BadRequest, detail) }

// required rejects an empty value, which is probably an unset variable.
func required(name, value string) error {
	if value == "" {
		return badRequest(name + " must not be empty")
	}
	return nil
}
