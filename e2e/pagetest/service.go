package pagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
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
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return control(ctx, t, info, http.MethodPost, path, data)
}

// Sessions returns the live sessions of a running service.
func Sessions(ctx context.Context, t testing.TB, info localservice.Info) []live.Info {
	t.Helper()
	var list struct {
		Sessions []live.Info `json:"sessions"`
	}
	if status, text := control(ctx, t, info, http.MethodGet, "/sessions", nil); status != http.StatusOK {
		t.Fatalf("sessions: %d %s", status, text)
	} else if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return list.Sessions
}

func control(ctx context.Context, t testing.TB, info localservice.Info, method, path string, body []byte) (status int, text []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, info.ControlURL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+info.ControlToken)
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if text, err = io.ReadAll(reply.Body); err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, text
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
func UserMessages(ctx context.Context, t testing.TB, info localservice.Info, thread string) []string {
	t.Helper()
	reply, err := http.PostForm(info.OVPURL+"/service/session/action/start", url.Values{
		"secret": {info.AdminSecret}, "partnerId": {fmt.Sprint(info.PartnerID)}, "type": {"2"}, "format": {"1"},
		"userId": {"tester"}, "privileges": {"disableentitlement"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var admin string
	decode(t, reply, &admin)
	var texts []string
	for page, more := 1, true; more; page++ {
		objects := messages(ctx, t, info, admin, thread, page)
		for _, m := range objects {
			if m.Type != "human" {
				continue
			}
			var text string
			if err := json.Unmarshal(m.Content[0].Content, &text); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		more = len(objects) == messagePage
	}
	return texts
}

func decode(t testing.TB, r *http.Response, out any) {
	t.Helper()
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, out); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s", r.Request.Method, r.Request.URL.Path, r.Status, body)
	}
}

// messagePage is the largest page of messages (service.md, Limits).
const messagePage = 500

type message struct {
	Type    string
	Content []struct{ Content json.RawMessage }
}

// messages returns one page of the messages of a thread, oldest first.
func messages(ctx context.Context, t testing.TB, info localservice.Info, admin, thread string, page int) []message {
	t.Helper()
	filter := fmt.Sprintf(`{"filter":{"objectType":"GenieListMessageFilter","threadIdEquals":%q},"pager":{"pageIndex":%d,"pageSize":%d}}`, thread, page, messagePage)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, info.GenieURL+"/message/list", strings.NewReader(filter))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "KS "+admin)
	r.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Objects []message }
	decode(t, reply, &list)
	return list.Objects
}
