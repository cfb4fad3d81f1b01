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

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

// Control gives the service a command at its control address.
func (h *Server) Control(path string, body any) {
	h.t.Helper()
	Control(h.ctx, h.t, h.Info(), path, body)
}

// Control gives a running service a command at its control address.
func Control(ctx context.Context, t testing.TB, info localservice.Info, path string, body any) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, info.ControlURL+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+info.ControlToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("control %s: %s %s", path, resp.Status, text)
	}
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
	filter := fmt.Sprintf(`{"filter":{"objectType":"GenieListMessageFilter","threadIdEquals":%q}}`, thread)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, info.GenieURL+"/message/list", strings.NewReader(filter))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "KS "+admin)
	r.Header.Set("Content-Type", "application/json")
	if reply, err = http.DefaultClient.Do(r); err != nil {
		t.Fatal(err)
	}
	var list struct {
		Objects []struct {
			Type    string
			Content []struct{ Content json.RawMessage }
		}
	}
	decode(t, reply, &list)
	var texts []string
	for _, m := range list.Objects {
		if m.Type == "human" {
			var text string
			if err := json.Unmarshal(m.Content[0].Content, &text); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
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
