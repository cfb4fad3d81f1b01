package visitor

import (
	"context"
	"maps"
	"net/url"

	"github.com/agentruntime/agentruntime/internal/fetch"
)

// Response is what [Options.OnResponse] learns of a reply (session-api A.2.1,
// option 13).
type Response struct {
	Method string `json:"method"`
	// Path is that of the request, without the query.
	Path   string `json:"path"`
	Status int    `json:"status"`
	// OK tells whether the status is a 2xx. The body may hold an error all the
	// same.
	OK bool `json:"ok"`
	// Attempt counts the requests of one call, from 1.
	Attempt int `json:"attempt"`
	// RequestID is the service's trace id, empty if it sent none.
	RequestID string `json:"requestId"`
	// Headers are those of the reply, with lower-case names.
	Headers map[string]string `json:"headers"`
}

// watched reports the replies to the requests of one call.
type watched struct {
	fetch.Client
	report  func(Response)
	attempt int
}

// Do implements fetch.Client.
func (w *watched) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	w.attempt++
	reply, err := w.Client.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	headers := maps.Clone(reply.Header)
	delete(headers, "set-cookie") // a secret, which pages never get to see
	event := Response{
		Method: "POST", Status: reply.Status, OK: reply.OK(), Attempt: w.attempt,
		RequestID: headers.Get("x-request-id"), Headers: headers,
	}
	if r.Method != "" {
		event.Method = r.Method
	}
	if event.RequestID == "" {
		event.RequestID = headers.Get("x-kaltura-request-id")
	}
	if u, err := url.Parse(r.URL); err == nil {
		event.Path = u.Path
	}
	w.report(event)
	return reply, nil
}
