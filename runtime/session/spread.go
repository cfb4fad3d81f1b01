package session

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// Spread is a source of numbers by which one client takes its own place among very many that
// would otherwise do something at the same moment. They depend on the client's id and on the
// purpose alone: no two clients share them, and those of a client can be computed again.
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

// Next returns the next number, from 0 up to but not 1. It may be called on any goroutine.
func (s *Spread) Next() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.Float64()
}

// Around varies wait by up to the part of it that is given, in both directions.
func (s *Spread) Around(wait time.Duration, part float64) time.Duration {
	return time.Duration(float64(wait) * (1 + part*(2*s.Next()-1)))
}
