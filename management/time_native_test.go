//go:build !js

package management

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/must"
)

// replies is a fetch.Client for virtual time. It notes when each path was asked.
type replies struct {
	began time.Time
	asked map[string][]time.Duration
	get   func() (int, string)
}

func (r *replies) Do(_ context.Context, q *fetch.Request) (*fetch.Response, error) {
	path := q.URL[strings.LastIndex(q.URL, "/"):]
	r.asked[path] = append(r.asked[path], time.Since(r.began))
	status, body := 200, `"djJ8token"`
	if path == "/get" {
		status, body = r.get()
	}
	return &fetch.Response{Status: status, Body: io.NopCloser(bytes.NewReader([]byte(body)))}, nil
}

func inVirtualTime(t *testing.T, get func() (int, string), test func(*testing.T, *Client, *replies)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := must.Get(New(Options{PartnerID: 1, Secret: "s"}))(t)
		defer c.Close()
		r := &replies{time.Now(), map[string][]time.Duration{}, get}
		c.fetch = r
		test(t, c, r)
	})
}

// TestOwnTokenIsRenewedAheadOfItsEnd asks once a minute for 40 minutes; a token has 15, of
// which the last three are not used.
func TestOwnTokenIsRenewedAheadOfItsEnd(t *testing.T) {
	inVirtualTime(t, func() (int, string) { return 200, `{"agentId":"a"}` }, func(t *testing.T, c *Client, r *replies) {
		for range 40 {
			must.Get(c.Agents.Get(t.Context(), "a"))(t)
			time.Sleep(time.Minute)
		}
		want := []time.Duration{0, 12 * time.Minute, 24 * time.Minute, 36 * time.Minute}
		expect.List(t, r.asked["/start"], want, "minted at")
	})
}
