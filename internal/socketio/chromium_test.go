//go:build js && wasm

package socketio

import (
	"os"
	"testing"
)

// This file has no _js_test.go name, because it can't run alone: the native
// TestClientInChromium starts the server and then these tests.

// addressVar names the environment variable with the official server's address.
const addressVar = "AGENTRUNTIME_SIO_URL"

func TestClientAgainstNPMServer(t *testing.T) {
	address := os.Getenv(addressVar)
	if address == "" {
		t.Skipf("needs %s; go test -run TestClientInChromium sets it", addressVar)
	}
	againstNPM(t, address)
}
