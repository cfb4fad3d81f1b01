//go:build js && wasm

package fetch

import (
	"os"
	"testing"
)

// serverURL returns the address of the server that TestInChromium runs.
func serverURL(t *testing.T) string {
	t.Helper()
	u := os.Getenv(serverVariable)
	if u == "" {
		t.Skip("needs a server beside the page: run by the native TestInChromium")
	}
	return u
}

// trusting returns an HTTPClient; TestInChromium makes the browser accept the
// certificate of the test server.
func trusting(t *testing.T) *HTTPClient { return newClient(t) }
