package localservice

import "strings"

// contentPolicy lets a page load code from its own origin and connect to origin, the
// service's, even if the page was opened under another host name.
func contentPolicy(origin string) string {
	socket := "ws" + strings.TrimPrefix(origin, "http")
	return strings.Join([]string{
		"default-src 'self'",
		"script-src 'self' 'wasm-unsafe-eval'",
		"style-src 'self' 'unsafe-inline'", // pages that people write have styles of their own
		"img-src 'self' data: blob: " + origin,
		"media-src 'self' blob:",
		"connect-src 'self' " + origin + " " + socket,
		"object-src 'none'",
		"base-uri 'none'",
	}, "; ")
}
