// Package servicetest starts local services for the tests of other packages, and stops
// them. It must not depend on the packages under test.
package servicetest

import (
	"cmp"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
)

// Start runs a service until the test ends. Its voice is the builtin one unless o names
// another, so that it sounds the same on every machine.
func Start(t testing.TB, o localservice.Options) *localservice.Service {
	t.Helper()
	o.Voice = cmp.Or(o.Voice, "builtin")
	service := must.Get(localservice.Start(t.Context(), o))(t)
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Errorf("close the local service: %v", err)
		}
	})
	return service
}
