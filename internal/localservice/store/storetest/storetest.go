// Package storetest opens stores for the tests of the packages that use one. It must not depend on those packages.
package storetest

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// Open opens a store in memory that is closed when the test has ended, and returns it with its first partner.
func Open(t testing.TB) (*store.Store, store.Partner) {
	t.Helper()
	s, err := store.Open("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	partners, err := s.Partners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s, partners[0]
}

// Agent returns the first partner's agent of that name.
func Agent(t testing.TB, s *store.Store, name string) store.Agent {
	t.Helper()
	partners, err := s.Partners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	agents, err := s.Agents(t.Context(), partners[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(agents, func(a store.Agent) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("no agent %s", name)
	}
	agent, err := s.Agent(t.Context(), partners[0].ID, agents[i].ID)
	if err != nil {
		t.Fatal(err)
	}
	return agent
}
