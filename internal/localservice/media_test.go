package localservice_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

func pauseOf(d time.Duration) live.Timing { return live.Timing{PauseWindow: d} }

// post sends an offer and returns the status.
func post(t testing.TB, address, offer string) int {
	t.Helper()
	reply, err := client.Post(address, "application/sdp", strings.NewReader(offer))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode
}

var _ = http.StatusOK
