// Package quota limits how much of a shared resource one client may use.
package quota

import (
	"sync"
	"time"
)

// Count limits how many units are held at the same time, by key.
type Count struct {
	mu    sync.Mutex
	taken map[string]int
}

// Take takes one unit for each key and returns true, or takes nothing and returns false
// when a key has reached its limit. A limit of 0 or less means no limit.
func (c *Count) Take(limits map[string]int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, limit := range limits {
		if limit > 0 && c.taken[key] >= limit {
			return false
		}
	}
	if c.taken == nil {
		c.taken = map[string]int{}
	}
	for key := range limits {
		c.taken[key]++
	}
	return true
}

// Free gives back what Take took.
func (c *Count) Free(limits map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range limits {
		if c.taken[key]--; c.taken[key] <= 0 {
			delete(c.taken, key)
		}
	}
}

// Rate limits how many units are taken within a window of time, by key. A window begins
// with the first Take after the end of the previous one.
type Rate struct {
	Window time.Duration

	mu    sync.Mutex
	began time.Time
	count Count
}

// Take is [Count.Take] for the present window.
func (r *Rate) Take(limits map[string]int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.began) >= r.Window {
		r.began, r.count.taken = now, nil
	}
	return r.count.Take(limits)
}
