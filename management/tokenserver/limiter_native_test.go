//go:build !js

package tokenserver

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter{most: 2}
		take := func(visitor string, want time.Duration) {
			t.Helper()
			expect.Equal(t, l.take(visitor), want, "%s waits", visitor)
		}
		take("ann", 0)
		time.Sleep(20 * time.Second)
		take("ann", 0)
		take("ann", 40*time.Second)
		take("bob", 0)
		time.Sleep(30 * time.Second)
		take("ann", 10*time.Second)
		time.Sleep(10 * time.Second)
		take("ann", 0)
		expect.Equal(t, len(l.counts), 1, "remembers %v", l.counts)
	})
}
