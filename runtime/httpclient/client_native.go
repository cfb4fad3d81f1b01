//go:build !js

package httpclient

import "net/http"

// Client is the type of every option HTTPClient: a client of the application, with
// certificates, a tracer or a pool of connections of its own. Nil means connections that
// are opened and closed by what has the option.
//
// The client is used unchanged, with its cookies and its Timeout, which also bounds replies that
// are streamed for minutes, except that no redirect is followed, whatever CheckRedirect says. It is
// never closed. A live session also opens its WebSocket with it.
type Client = *http.Client
