//go:build js && wasm

package httpclient

// Client is the type of every option HTTPClient. In a page it is nil: the page's fetch does
// the requests. Only packages of this module put something else into it.
type Client = any
