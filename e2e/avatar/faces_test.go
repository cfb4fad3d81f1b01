package avatar

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// shots is the environment variable with a directory for the pictures of TestFacesDiffer, for people to look at.
const shots = "FACES_DIR"

// partner is a server that builds agents.
type partner struct {
	t    *testing.T
	info localservice.Info
	ks   string
}

func newPartner(t *testing.T, h *pagetest.Server) *partner {
	t.Helper()
	p := &partner{t: t, info: h.Info()}
	reply, err := http.PostForm(p.info.OVPURL+"/service/session/action/start", url.Values{
		"secret": {p.info.AdminSecret}, "partnerId": {fmt.Sprint(p.info.PartnerID)}, "type": {"2"}, "format": {"1"}, "userId": {"builder"},
		"privileges": {"disableentitlement"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if err := json.NewDecoder(reply.Body).Decode(&p.ks); err != nil {
		t.Fatal(err)
	}
	return p
}

// call sends JSON to the agent host and returns a field of the reply.
func (p *partner) call(path, body, field string) string {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.info.AgenticURL+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Authorization", "KS "+p.ks)
	request.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer reply.Body.Close()
	var got map[string]any
	if err := json.NewDecoder(reply.Body).Decode(&got); err != nil {
		p.t.Fatal(err)
	}
	value, ok := got[field].(string)
	if !ok {
		p.t.Fatalf("%s: %d %v", path, reply.StatusCode, got)
	}
	return value
}

// agent builds an agent with an avatar and returns its widget.
func (p *partner) agent(configID int64, avatar string) string {
	p.t.Helper()
	avatarID := p.call("/avatar/create", avatar, "id")
	agentID := p.call("/agent/create", fmt.Sprintf(`{"displayName":"Eve","intellect":{"id":%d},"avatarIds":[%q]}`, configID, avatarID), "agentId")
	return p.call("/application/resolveWidgetId", fmt.Sprintf(`{"agentId":%q}`, agentID), "widgetId")
}

// TestFacesDiffer: agents with the four visuals of the catalog show four different pictures; and a quick voice says the same in
// less time than a slow one.
func TestFacesDiffer(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	builder := newPartner(t, h)
	robin, _ := builder.info.Agent("receptionist")
	p := openPage(h)
	type shown struct {
		PNG      string
		Pixels   []int   // of a small copy of the picture
		Duration float64 // of the opening line, in milliseconds
	}
	var all []shown
	for i, speed := range []string{"1", "0.8", "1", "1.6"} {
		widget := builder.agent(robin.ConfigID, fmt.Sprintf(
			`{"voice":{"id":"5ac0000000000000000000b%d","speed":%s},"visual":{"id":"5ac0000000000000000000a%d"}}`, i+1, speed, i+1))
		var got shown
		p.Call(&got, "faces.js", "face", widget)
		if dir := os.Getenv(shots); dir != "" {
			data, err := base64.StdEncoding.DecodeString(got.PNG)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("face%d.png", i+1)), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, got)
	}
	for i, a := range all {
		for j, b := range all[:i] {
			difference := 0
			for k := range a.Pixels {
				difference += max(a.Pixels[k]-b.Pixels[k], b.Pixels[k]-a.Pixels[k])
			}
			if mean := float64(difference) / float64(len(a.Pixels)); mean < 5 {
				t.Errorf("the faces %d and %d differ by %.1f of 255", j+1, i+1, mean)
			}
		}
	}
	// The second voice has half the speed of the fourth.
	if slow, quick := all[1].Duration, all[3].Duration; quick == 0 || slow < 1.9*quick || slow > 2.1*quick {
		t.Errorf("the opening line takes %.0f ms at speed 0.8 and %.0f ms at 1.6", slow, quick)
	}
}
