package pagetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

// Control gives the service a command at its control address.
func (h *Server) Control(path string, body any) {
	h.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	info := h.Info()
	r, err := http.NewRequestWithContext(h.ctx, http.MethodPost, info.ControlURL+path, bytes.NewReader(data))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+info.ControlToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		h.t.Fatalf("control %s: %s %s", path, resp.Status, text)
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
	info := h.Info()
	reply, err := http.PostForm(info.OVPURL+"/service/session/action/start", url.Values{
		"secret": {info.AdminSecret}, "partnerId": {fmt.Sprint(info.PartnerID)}, "type": {"2"}, "format": {"1"},
		"userId": {"tester"}, "privileges": {"disableentitlement"},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	var admin string
	h.decode(reply, &admin)
	filter := fmt.Sprintf(`{"filter":{"objectType":"GenieListMessageFilter","threadIdEquals":%q}}`, thread)
	r, err := http.NewRequestWithContext(h.ctx, http.MethodPost, info.GenieURL+"/message/list", strings.NewReader(filter))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Authorization", "KS "+admin)
	r.Header.Set("Content-Type", "application/json")
	if reply, err = http.DefaultClient.Do(r); err != nil {
		h.t.Fatal(err)
	}
	var list struct {
		Objects []struct {
			Type    string
			Content []struct{ Content json.RawMessage }
		}
	}
	h.decode(reply, &list)
	var said []string
	for _, m := range list.Objects {
		if m.Type == "human" {
			var text string
			if err := json.Unmarshal(m.Content[0].Content, &text); err != nil {
				h.t.Fatal(err)
			}
			said = append(said, text)
		}
	}
	return said
}

func (h *Server) decode(r *http.Response, out any) {
	h.t.Helper()
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := json.Unmarshal(body, out); err != nil || r.StatusCode != http.StatusOK {
		h.t.Fatalf("%s %s: %s %s", r.Request.Method, r.Request.URL.Path, r.Status, body)
	}
}
