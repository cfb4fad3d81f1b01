package quota

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestPace: a client waits for what is beyond its pace, another one does not, and none is
// remembered for ever.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{Limit: Limit{Token: 10, Address: 20, Total: 1}}
		took := func(by Client, n int) time.Duration {
			t.Helper()
			began := time.Now()
			must.Do(t, p.Wait(t.Context(), by, n))
			return time.Since(began)
		}
		a, b, c := client("a", "192.0.2.1"), client("b", "192.0.2.1"), client("c", "192.0.2.2")
		expect.Equal(t, took(a, 60), 0, "six seconds' worth took")
		expect.Equal(t, took(a, 10), time.Second, "a second's worth more took")
		expect.Equal(t, took(b, 59), 0, "another token waited")
		expect.Equal(t, took(b, 31), 3*time.Second, "too much for the token waited")
		expect.Equal(t, took(c, 60), 0, "another address waited")
		expect.Error(t, p.Wait(t.Context(), c, 101), ErrBusy, "more than ten seconds' worth")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		expect.Error(t, p.Wait(ctx, c, 50), context.DeadlineExceeded, "a client that left")
		time.Sleep(2 * time.Minute)
		if wait := took(c, 60); wait != 0 || len(p.paid) != 2 {
			t.Errorf("after a while: waited %v, %d are remembered", wait, len(p.paid))
		}
		unlimited := &Pace{Limit: Limit{Token: -1}}
		if err := unlimited.Wait(t.Context(), a, 1_000_000); err != nil {
			t.Error(err)
		}
	})
}
