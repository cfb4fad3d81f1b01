// Package quota bounds what one client may take of what all share.
package quota

import (
	"sync"
	"time"
)

// Count bounds what is held at one time, by key.
type Count struct {
	mu    sync.Mutex
	taken map[string]int
}

// Take takes one for each key, or none when a key has its limit already. A limit
// of 0 or less is none.
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

// Rate bounds what is taken within a window of time, by key. Its window begins
// with the first Take after the one before it.
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
