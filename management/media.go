package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// MediaCall is one call of a [Client.Multirequest].
type MediaCall struct {
	// Service and Action name the call, as in "category" and "list".
	Service, Action string
	// Parameters are those of the action, without the token.
	Parameters map[string]any
	// again: it may be repeated after a reply that says nothing about its effect
	again bool
}

func (m MediaCall) name() string { return m.Service + "." + m.Action }

// mediaVersion is the version of the media API whose shapes are sent.
const mediaVersion = "19.14.0"

// badKS is the title of the refusal of a token by the media API, which has the status 200.
const badKS = "INVALID_KS"

// Multirequest makes several calls of the media API, which is on the address of the session
// API, in one request (management-api.md, F.1). It returns their replies in order. The
// service makes all calls, even when one of them fails.
//
// Errors: bad_request without a call or for one without a name; ovp_error when one failed,
// which names the call; its Title is the service's code, such as CATEGORY_NOT_FOUND.
func (c *Client) Multirequest(ctx context.Context, calls ...MediaCall) ([]json.RawMessage, error) {
	if len(calls) == 0 {
		return nil, badRequest("a multirequest must have a call")
	}
	again := true
	for n, m := range calls {
		if err := cmp.Or(required(indexed("calls", n)+".Service", m.Service), required(indexed("calls", n)+".Action", m.Action)); err != nil {
			return nil, err
		}
		again = again && m.again
	}
	var replies []json.RawMessage
	err := c.media(ctx, "/service/multirequest", again, func(ks string) map[string]any {
		body := map[string]any{"apiVersion": mediaVersion, "format": 1}
		for n, m := range calls {
			call := m.body(ks)
			call["service"], call["action"] = m.Service, m.Action
			body[strconv.Itoa(n)] = call
		}
		return body
	}, &replies)
	if err != nil {
		return nil, err
	}
	if len(replies) != len(calls) {
		return nil, fault.New(fault.InvalidResponse, "the reply must have one entry for each call").At("/service/multirequest")
	}
	for n, reply := range replies {
		if refused := fault.FromBody(0, reply); refused != nil {
			return nil, fault.New(fault.OVPError, calls[n].name()+": "+refused.Message()).
				WithTitle(refused.Title).WithBody(refused.Body).At("/service/multirequest")
		}
	}
	return replies, nil
}

func (m MediaCall) body(ks string) map[string]any {
	body := map[string]any{"ks": ks}
	maps.Copy(body, m.Parameters)
	return body
}

// mediaCall makes one call of the media API.
func (c *Client) mediaCall(ctx context.Context, m MediaCall, out any) error {
	return c.media(ctx, "/service/"+m.Service+"/action/"+m.Action, m.again, func(ks string) map[string]any {
		body := m.body(ks)
		body["format"] = 1
		return body
	}, out)
}

// media sends a JSON body that has the token in it.
func (c *Client) media(ctx context.Context, path string, again bool, body func(ks string) map[string]any, out any) error {
	return c.asAdmin(ctx, path, func(ks string) error {
		encoded, err := fetch.JSON(body(ks))
		if err != nil {
			return err
		}
		return c.toMedia(ctx, path, encoded, again, out)
	})
}

// asAdmin calls send with an admin's token ([Client.authorized]).
func (c *Client) asAdmin(ctx context.Context, path string, send func(ks string) error) error {
	return c.authorized(ctx, forAdmin, path, func(err error) bool {
		var refused *fault.Error
		return errors.As(err, &refused) && refused.Title == badKS
	}, func(t Token) error { return send(t.KS()) })
}

// toMedia sends a request to the media API.
func (c *Client) toMedia(ctx context.Context, path string, body fetch.Body, again bool, out any) error {
	base, err := c.addresses.Base(appinit.OVP)
	if err != nil {
		return err
	}
	return c.call(ctx, &fetch.Request{URL: base + path, Body: body, Repeatable: again, Once: !again}, out)
}

// uploadFile sends the file of an upload token, in one piece.
func (c *Client) uploadFile(ctx context.Context, tokenID, name string, data []byte) error {
	const path = "/service/uploadtoken/action/upload"
	query := url.Values{
		"uploadTokenId": {tokenID}, "resume": {"false"}, "finalChunk": {"true"}, "resumeAt": {"0"}, "format": {"1"},
	}
	return c.asAdmin(ctx, path, func(ks string) error {
		body, err := formWith(upload{"fileData", name, "application/octet-stream", data}, field{"ks", ks})
		if err != nil {
			return err
		}
		return c.toMedia(ctx, path+"?"+query.Encode(), body, false, nil)
	})
}
