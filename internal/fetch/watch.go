package fetch

import (
	"context"
	"maps"
)

// Report describes a reply for the application (session-api A.2.1, onResponse).
type Report struct {
	Method string `json:"method"`
	// Path is the path of the request, without the query.
	Path   string `json:"path"`
	Status int    `json:"status"`
	// OK means that the status is a 2xx. The body may contain an error
	// nevertheless.
	OK bool `json:"ok"`
	// Attempt counts the requests of one call, from 1.
	Attempt int `json:"attempt"`
	// RequestID is the service's trace id, empty if it sent none.
	RequestID string `json:"requestId,omitempty"`
	// Headers are the reply's headers, with lower-case names.
	Headers map[string]string `json:"headers"`
}

// Watch returns a client for the requests of one call that reports each reply before its
// body is read. It returns c itself when report is nil.
func Watch(c Client, report func(Report)) Client {
	if report == nil {
		return c
	}
	return &watched{Client: c, report: report}
}

type watched struct {
	Client
	report  func(Report)
	attempt int
}

// Do implements [Client].
func (w *watched) Do(ctx context.Context, r *Request) (*Response, error) {
	w.attempt++
	reply, err := w.Client.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	headers := maps.Clone(reply.Header)
	delete(headers, "set-cookie") // secret, and not visible in pages
	_, path := r.place()
	w.report(Report{
		Method: r.method(), Path: path, Status: reply.Status, OK: reply.OK(), Attempt: w.attempt,
		RequestID: reply.RequestID(), Headers: headers,
	})
	return reply, nil
}
