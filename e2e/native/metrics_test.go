package native

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestMetricsOfTheService: after a conversation in text and one with a face, the control address
// has the measurements of both, for clients with its token.
func TestMetricsOfTheService(t *testing.T) {
	service := start(t, localservice.Options{})
	info := service.Info()
	get := func(token, path string) (int, string) {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, info.ControlURL+path, nil))(t)
		r.Header.Set("Authorization", "Bearer "+token)
		reply := must.Get(http.DefaultClient.Do(r))(t)
		defer reply.Body.Close()
		text := must.Get(io.ReadAll(reply.Body))(t)
		return reply.StatusCode, string(text)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap"} {
		if status, _ := get("wrong", path); status != http.StatusUnauthorized {
			t.Errorf("%s without the token: %d", path, status)
		}
		if status, text := get(info.ControlToken, path); status != http.StatusOK || text == "" {
			t.Errorf("%s: %d", path, status)
		}
	}

	init := arrive(t, service, "receptionist")
	oneTurn(t, chat.OptionsFor(init))
	a := connectFace(t, avatar.OptionsFor(init))
	must.Get(a.Ask(t.Context(), "Hello"))(t)
	a.Disconnect(session.DisconnectOptions{})
	a.Close()

	// Each has at least this value; a turn is counted when its reply has ended.
	want := map[string]float64{
		`localservice_sessions_total`:                                                                              1,
		`localservice_turn_duration_seconds_count{channel="live",outcome="ok"}`:                                    1,
		`localservice_turn_duration_seconds_count{channel="text",outcome="ok"}`:                                    1,
		`localservice_turn_first_segment_seconds_count{channel="text"}`:                                            1,
		`localservice_media_bytes_total{direction="sent",kind="video"}`:                                            1000,
		`localservice_media_bytes_total{direction="sent",kind="audio"}`:                                            1000,
		`localservice_store_duration_seconds_count{statement="SELECT"}`:                                            1,
		`localservice_store_duration_seconds_count{statement="INSERT"}`:                                            1,
		`localservice_http_request_duration_seconds_count{method="POST",route="/assistant/converse",status="200"}`: 1,
		`go_goroutines`: 1,
	}
	missing := ""
	for late := time.Now().Add(patience); time.Now().Before(late); time.Sleep(50 * time.Millisecond) {
		_, text := get(info.ControlToken, "/metrics")
		missing = ""
		for name, least := range want {
			found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
			if found == nil {
				missing += name + " is missing\n"
			} else if got, err := strconv.ParseFloat(found[1], 64); err != nil || got < least {
				missing += name + " is " + found[1] + "\n"
			}
		}
		if missing == "" {
			return
		}
	}
	t.Error(strings.TrimSpace(missing))
}
