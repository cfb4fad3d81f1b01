package quota

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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
		if wait := took(a, 60); wait != 0 {
			t.Errorf("six seconds' worth took %v", wait)
		}
		if wait := took(a, 10); wait != time.Second {
			t.Errorf("a second's worth more took %v", wait)
		}
		if wait := took(b, 59); wait != 0 {
			t.Errorf("another token waited %v", wait)
		}
		if wait := took(b, 31); wait != 3*time.Second {
			t.Errorf("too much for the token waited %v", wait)
		}
		if wait := took(c, 60); wait != 0 {
			t.Errorf("another address waited %v", wait)
		}
		if err := p.Wait(t.Context(), c, 101); !errors.Is(err, ErrBusy) {
			t.Errorf("more than ten seconds' worth: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Wait(ctx, c, 50); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a client that left: %v", err)
		}
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
