package tokenserver

import (
	"sync"
	"time"
)

// window is the period for which requests are counted.
const window = time.Minute

// limiter counts the requests of each visitor, minute by minute, so that it stores no
// more than the visitors of one minute. Around the end of a minute a visitor may send
// twice as many requests.
type limiter struct {
	most int

	mu     sync.Mutex
	until  time.Time
	counts map[string]int
}

// take counts a request. It returns how long the visitor has to wait, 0 for not at all.
func (l *limiter) take(visitor string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !now.Before(l.until) {
		l.until, l.counts = now.Add(window), map[string]int{}
	}
	if l.counts[visitor] >= l.most {
		return l.until.Sub(now)
	}
	l.counts[visitor]++
	return 0
}
