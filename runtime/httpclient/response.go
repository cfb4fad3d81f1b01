// Package httpclient has what an application sets and observes of the HTTP requests that
// the other packages make: the client that does them natively, and the description of each
// reply. It must not depend on what is requested.
package httpclient

// Response describes a reply for an application's OnResponse (session §A.2.1,
// onResponse).
type Response struct {
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
