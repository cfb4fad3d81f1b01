// Package rawhttp sends requests exactly as they are written, for tests: an HTTP client
// cleans paths, checks host names and never waits. It must not depend on the packages
// under test.
package rawhttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// patience is how long a server may take for a reply.
const patience = 30 * time.Second

// Dial opens a connection to an address or an origin ("http://127.0.0.1:8080"). It is
// closed at the end of the test, and after half a minute.
func Dial(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Get requests a target as it is, under a host name, and returns the reply with its body.
func Get(t testing.TB, address, target, host string) (*http.Response, string) {
	t.Helper()
	return Send(t, address, "GET "+target+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
}

// Send writes a request as it is, and returns the reply with its body.
func Send(t testing.TB, address, request string) (*http.Response, string) {
	t.Helper()
	conn := Dial(t, address)
	defer conn.Close()
	go io.WriteString(conn, request) //nolint:errcheck // the server may refuse before it has read everything
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.100q: %v", request, err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatalf("%.100q: %v", request, err)
	}
	return reply, string(body)
}
