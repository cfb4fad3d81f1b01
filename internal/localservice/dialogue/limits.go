package dialogue

import (
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/quota"
)

// turnCounts count turns for the limits of brain configurations (management-api.md, F.6).
type turnCounts struct {
	mu    sync.Mutex
	rates map[turnWindow]*quota.Rate
}

// turnWindow is a limit of an intellect; its users have a count each.
type turnWindow struct {
	configID  int64
	length    time.Duration
	anonymous bool
}

// take reports whether a user may have one more turn, and counts it. Users without an id
// are told apart by their tokens.
func (c *turnCounts) take(who *Caller) bool {
	user, limits, anonymous := who.Claims.UserID, who.Agent.Profile.Turns, false
	if user == "" {
		user, limits, anonymous = who.Claims.ID, who.Agent.Profile.Anonymous, true
	}
	return c.within(turnWindow{who.Agent.ConfigID, time.Minute, anonymous}, limits.PerMinute, user) &&
		c.within(turnWindow{who.Agent.ConfigID, time.Hour, anonymous}, limits.PerHour, user)
}

func (c *turnCounts) within(w turnWindow, limit *int, user string) bool {
	if limit == nil {
		return true
	}
	if *limit == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rates == nil {
		c.rates = map[turnWindow]*quota.Rate{}
	}
	rate := c.rates[w]
	if rate == nil {
		rate = &quota.Rate{Window: w.length}
		c.rates[w] = rate
	}
	rate.Limit = quota.Limit{Token: *limit}
	return rate.Take(quota.Client{Token: user}, 1)
}
