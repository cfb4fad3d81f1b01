package chat

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

// mint makes a token for a visitor, as a page's server does (service.md
// "Authentication" rule 10).
func mint(t *testing.T, h *pagetest.Server, agent, user string) (token string) {
	t.Helper()
	info := h.Info()
	who, ok := info.Agent(agent)
	if !ok {
		t.Fatalf("no agent %s", agent)
	}
	reply, err := http.PostForm(info.OVPURL+"/service/session/action/start", url.Values{
		"secret": {info.AdminSecret}, "partnerId": {fmt.Sprint(info.PartnerID)}, "type": {"0"}, "format": {"1"}, "userId": {user},
		"privileges": {fmt.Sprintf("agentid:%s,geniegpcid:%d,setrole:PLAYBACK_BASE_ROLE", who.AgentID, who.ConfigID)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if err := json.NewDecoder(reply.Body).Decode(&token); err != nil {
		t.Fatal(err)
	}
	return token
}

func TestAVisitorsThreadsMessagesAndRatings(t *testing.T) {
	t.Parallel()
	h, p := openPage(t)
	p.Allow("the server responded with a status of 404")
	var got struct {
		Threads                       []string
		Found, Missing                string
		Renamed, Said, Turns, Answers string
		Analysis, Cleared             string
		Rated                         bool
		Shared                        bool
		Pages, Deleted, Left          int
		Suggested                     int
		Consent                       bool
		Replies                       int
	}
	p.Call(&got, "visitor.js", "visitorsThreadsMessagesAndRatings", mint(t, h, "receptionist", "ivy"))
	if !slices.Equal(got.Threads, []string{"0", "1", "2"}) {
		t.Errorf("threads %q", got.Threads)
	}
	if got.Renamed != "About me" || got.Found != "found" || got.Missing != "not_found" || got.Deleted != 2 || got.Left != 1 {
		t.Errorf("threads: %+v", got)
	}
	if !strings.Contains(got.Said, "My name is Ivy") || !strings.Contains(got.Turns, "human,ai") || !strings.Contains(got.Answers, "human,ai") {
		t.Errorf("transcript %q of %s, messages %s", got.Said, got.Turns, got.Answers)
	}
	if got.Analysis != `{"mood":"good"}` || got.Cleared != "{}" {
		t.Errorf("analysis %s, cleared %s", got.Analysis, got.Cleared)
	}
	if !got.Rated || !got.Shared || got.Suggested == 0 || !got.Consent || got.Replies == 0 {
		t.Errorf("got %+v", got)
	}
}
