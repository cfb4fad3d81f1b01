// Package storetest opens stores for the tests of the packages that use one. It must not depend on those packages.
package storetest

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

// Open opens a store in memory that is closed when the test has ended, and returns it with its first partner.
func Open(t testing.TB) (*store.Store, store.Partner) {
	t.Helper()
	s := must.Get(store.Open(""))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	partners := must.Get(s.Partners(t.Context()))(t)
	return s, partners[0]
}

// Agent returns the first partner's agent of that name.
func Agent(t testing.TB, s *store.Store, name string) store.Agent {
	t.Helper()
	partners := must.Get(s.Partners(t.Context()))(t)
	agents := must.Get(s.Agents(t.Context(), partners[0].ID))(t)
	i := slices.IndexFunc(agents, func(a store.Agent) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("no agent %s", name)
	}
	return must.Get(s.Agent(t.Context(), partners[0].ID, agents[i].ID))(t)
}
