package pagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
)

// Control sends a command to the service's control address.
func (h *Server) Control(path string, body any) {
	h.t.Helper()
	Control(h.ctx, h.t, h.Info(), path, body)
}

// Control sends a command to the control address of a running service.
func Control(ctx context.Context, t testing.TB, info localservice.Info, path string, body any) {
	t.Helper()
	if status, text := TryControl(ctx, t, info, path, body); status != http.StatusOK {
		t.Fatalf("control %s: %d %s", path, status, text)
	}
}

// TryControl sends a command that the service may refuse, such as one for a session that
// may have ended, and returns the response.
func TryControl(ctx context.Context, t testing.TB, info localservice.Info, path string, body any) (status int, text []byte) {
	t.Helper()
	return control(ctx, t, info, http.MethodPost, path, must.Get(json.Marshal(body))(t))
}

// Sessions returns the live sessions of a running service.
func Sessions(ctx context.Context, t testing.TB, info localservice.Info) []live.Info {
	t.Helper()
	var list struct {
		Sessions []live.Info `json:"sessions"`
	}
	status, text := control(ctx, t, info, http.MethodGet, "/sessions", nil)
	if status != http.StatusOK {
		t.Fatalf("sessions: %d %s", status, text)
	}
	must.Do(t, json.Unmarshal(text, &list))
	return list.Sessions
}

func control(ctx context.Context, t testing.TB, info localservice.Info, method, path string, body []byte) (status int, text []byte) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(ctx, method, info.ControlURL+path, bytes.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bearer "+info.ControlToken)
	reply := must.Get(http.DefaultClient.Do(r))(t)
	defer reply.Body.Close()
	return reply.StatusCode, must.Get(io.ReadAll(reply.Body))(t)
}

// OnlySession returns the one live session that the service has.
func (h *Server) OnlySession() live.Info {
	h.t.Helper()
	sessions := h.Sessions(h.ctx)
	if len(sessions) != 1 {
		h.t.Fatalf("the service has %d sessions, want 1", len(sessions))
	}
	return sessions[0]
}

// AwaitNoSessions waits until the service has no session, and fails the test when ctx ends
// before.
func (h *Server) AwaitNoSessions(ctx context.Context) {
	h.t.Helper()
	h.awaitSessions(ctx, "none", func(sessions []live.Info) bool { return len(sessions) == 0 })
}

// AwaitState waits until the service's only session is in a state. A page may show the
// effect of a click before the service has received the message about it.
func (h *Server) AwaitState(state live.State) {
	h.t.Helper()
	h.awaitSessions(h.ctx, "one that is "+string(state), func(sessions []live.Info) bool {
		return len(sessions) == 1 && sessions[0].State == state
	})
}

// awaitSessions polls, because the service has no event for its sessions.
func (h *Server) awaitSessions(ctx context.Context, want string, ok func([]live.Info) bool) {
	h.t.Helper()
	for sessions := h.Sessions(h.ctx); !ok(sessions); sessions = h.Sessions(h.ctx) {
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			h.t.Fatalf("the service has the sessions %+v, want %s", sessions, want)
		}
	}
}

const pollInterval = 20 * time.Millisecond

// UserMessages returns the messages of the user in a thread, as the service keeps
// them, oldest first.
func (h *Server) UserMessages(thread string) []string {
	h.t.Helper()
	return UserMessages(h.ctx, h.t, h.Info(), thread)
}

// UserMessages returns the messages of the user in a thread, as a running service
// keeps them, oldest first.
func UserMessages(ctx context.Context, t testing.TB, info localservice.Info, thread string) (texts []string) {
	t.Helper()
	c := must.Get(management.New(management.Options{
		PartnerID: info.PartnerID, Secret: info.AdminSecret,
		Config: management.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	}))(t)
	defer c.Close()
	for m, err := range c.Messages.List(ctx, management.MessageFilter{ThreadID: thread}) {
		must.Do(t, err)
		if m.Type == "human" {
			texts = append(texts, m.Segments[0].ContentString())
		}
	}
	return texts
}
