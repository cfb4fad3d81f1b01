package session

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// Jitter is a source of random numbers that distribute over time what very many clients would
// otherwise do at the same moment. The numbers depend only on the client's id and the purpose:
// each client has different ones, and they can be computed again.
type Jitter struct {
	mu     sync.Mutex
	random *rand.Rand
}

// NewJitter returns the source of the client with that id, for one purpose.
func NewJitter(id, purpose string) *Jitter {
	h := fnv.New128a()
	_, _ = io.WriteString(h, purpose+" "+id) // never fails
	sum := h.Sum(nil)
	return &Jitter{random: rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))}
}

// Next returns the next number in [0,1). It may be called on any goroutine.
func (j *Jitter) Next() float64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.random.Float64()
}

// Apply returns wait, varied by up to the fraction part of it in both directions.
func (j *Jitter) Apply(wait time.Duration, part float64) time.Duration {
	return time.Duration(float64(wait) * (1 + part*(2*j.Next()-1)))
}
