package fetch

import (
	"context"
	"maps"

	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// Watch returns a client for the requests of one call that reports each reply before its
// body is read. It returns c itself when report is nil.
func Watch(c Client, report func(httpclient.Response)) Client {
	if report == nil {
		return c
	}
	return &watched{Client: c, report: report}
}

type watched struct {
	Client
	report  func(httpclient.Response)
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
	w.report(httpclient.Response{
		Method: r.method(), Path: path, Status: reply.Status, OK: reply.OK(), Attempt: w.attempt,
		RequestID: reply.RequestID(), Headers: headers,
	})
	return reply, nil
}
