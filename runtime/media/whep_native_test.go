//go:build !js

package media

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
)

// unreachable is a network in which no reply comes.
type unreachable struct{}

func (unreachable) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestAViewerThatCannotBeReleasedDoesNotDelayTheEnd, for which Close waits, beyond the limit of a DELETE.
func TestAViewerThatCannotBeReleasedDoesNotDelayTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newWHEP(nil)
		network, free := fetch.Open(&http.Client{Transport: unreachable{}})
		w.network = network
		began := time.Now()
		(&viewer{whep: w, url: "https://edge.example/v"}).abandon()
		free()
		expect.Equal(t, time.Since(began), w.Limits.WHEPRelease, "closed after")
	})
}
