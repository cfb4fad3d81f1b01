package session

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// Spread is a source of random numbers that distribute over time what very many clients would
// otherwise do at the same moment. The numbers depend only on the client's id and the purpose:
// each client has different ones, and they can be computed again.
type Spread struct {
	mu     sync.Mutex
	random *rand.Rand
}

// NewSpread returns the source of the client with that id, for one purpose.
func NewSpread(id, purpose string) *Spread {
	h := fnv.New128a()
	_, _ = io.WriteString(h, purpose+" "+id) // never fails
	sum := h.Sum(nil)
	return &Spread{random: rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])))}
}

// Next returns the next number in [0,1). It may be called on any goroutine.
func (s *Spread) Next() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.Float64()
}

// Around returns wait, varied by up to the fraction part of it in both directions.
func (s *Spread) Around(wait time.Duration, part float64) time.Duration {
	return time.Duration(float64(wait) * (1 + part*(2*s.Next()-1)))
}
