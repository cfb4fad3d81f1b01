package api

import (
	"cmp"
	"net/http"
)

// preflightAge is how long a browser may remember a preflight, in seconds
// (local-service choice D8).
const preflightAge = "600"

// allowOrigin lets the page read the reply; package localservice has already refused
// pages of other sites. No cookies are used, so the token in the Authorization header
// is a page's only credential.
func allowOrigin(h http.Header, r *http.Request) {
	h.Add("Vary", "Origin")
	origin := cmp.Or(r.Header.Get("Origin"), "*")
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Location, X-Request-Id, Retry-After")
}

// allowPreflight sets the headers of the reply to a preflight, which a browser sends
// before a request with an Authorization header or a JSON body.
func (s *server) allowPreflight(h http.Header, r *http.Request) {
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE, OPTIONS")
	headers := cmp.Or(r.Header.Get("Access-Control-Request-Headers"), "Authorization, Content-Type, Traceparent, Tracestate")
	h.Set("Access-Control-Allow-Headers", headers)
	h.Set("Access-Control-Max-Age", preflightAge)
	// A page on a public network needs this permission for requests to this machine.
	if s.PrivateNetwork && r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
}
