package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// consentOf returns the address of the consent that a turn asks for, "" for none.
func consentOf(t *testing.T, got turn) string {
	t.Helper()
	for _, seg := range got.segments {
		if seg.Type != converse.Interruption {
			continue
		}
		var content struct {
			AuthURL string `json:"auth_url"`
		}
		must.Do(t, json.Unmarshal([]byte(seg.ContentString()), &content))
		want := converse.Metadata{Subtype: "oauth_required", ToolName: "calendar", ToolDisplayName: "Your calendar"}
		if m := seg.Metadata; m == nil || m.Subtype != want.Subtype || m.ToolName != want.ToolName || m.ToolDisplayName != want.ToolDisplayName {
			t.Errorf("metadata %+v", m)
		}
		return content.AuthURL
	}
	return ""
}

// TestConsentIsAskedForAndGiven: the built-in agent's script asks for it.
func TestConsentIsAskedForAndGiven(t *testing.T) {
	const site, question = "http://talk.test", "Connect my calendar!"
	const answer = "Your calendar is connected. It is a simulated one: this shows how consent works."
	v := serve(t, nil, nil)
	ks := v.conversation(store.Tools, "ann")
	first := v.ask(ks, "", question)
	address, found := strings.CutPrefix(consentOf(t, first), site)
	if !found || !strings.HasPrefix(address, "/oauth/consent?state=") || !strings.HasPrefix(first.text, "I may not look into your calendar before you allow it.") {
		t.Fatalf("asked at %q, said %q", address, first.text)
	}
	if again := v.ask(ks, first.threadID, question); consentOf(t, again) == "" {
		t.Error("not asked again while it is not given")
	}
	page := v.do(v.request("GET", address, "", "", ""))
	wantStatus(t, "page", page, 200, "")
	if !strings.Contains(page.body, "<h1>Your calendar</h1>") || !strings.Contains(page.body, `<button autofocus>Allow</button>`) ||
		!strings.Contains(page.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("page %s", page.body)
	}
	state := strings.TrimPrefix(address, "/oauth/consent?state=")
	form := v.request("POST", "/oauth/consent", "", "application/x-www-form-urlencoded", url.Values{"state": {state}}.Encode())
	given := v.do(form)
	wantStatus(t, "given", given, 200, "") // after the redirect
	if !strings.Contains(given.body, "Your calendar is allowed") {
		t.Errorf("page %s", given.body)
	}
	done := v.ask(ks, first.threadID, question)
	if consentOf(t, done) != "" || done.text != answer {
		t.Errorf("allowed, it says %q", done.text)
	}
	if other := v.ask(ks, "", question); consentOf(t, other) == "" {
		t.Error("another thread is allowed as well")
	}
}

func TestConsentWithoutARequest(t *testing.T) {
	v := serve(t, nil, nil)
	const evil = `"><script>alert(1)</script>`
	got := v.do(v.request("GET", "/oauth/consent?state="+url.QueryEscape(evil), "", "", ""))
	wantStatus(t, "page", got, http.StatusNotFound, "")
	if strings.Contains(got.body, "<script>") {
		t.Errorf("page %s", got.body)
	}
	form := v.request("POST", "/oauth/consent", "", "application/x-www-form-urlencoded", url.Values{"state": {evil}}.Encode())
	wantStatus(t, "form", v.do(form), http.StatusNotFound, "")
}

func TestDocumentsAreShown(t *testing.T) {
	v := serve(t, nil, nil)
	list := v.do(v.request("GET", "/knowledge/", "", "", ""))
	wantStatus(t, "list", list, 200, "")
	if !strings.Contains(list.body, `<a href="/knowledge/agentruntime.md">agentruntime.md</a>`) {
		t.Errorf("list %s", list.body)
	}
	for path, status := range map[string]int{
		"/knowledge/agentruntime.md":    200,
		"/knowledge/none.md":            404,
		"/knowledge/%00.md":             404,
		"/knowledge/agentruntime":       404,
		"/knowledge/..%2fknowledge.go":  404,
		"/knowledge/%2e%2e/brain.go.md": 404,
	} {
		wantStatus(t, path, v.do(v.request("GET", path, "", "", "")), status, "")
	}
	got := v.do(v.request("GET", "/knowledge/agentruntime.md", "", "", ""))
	if !strings.HasPrefix(got.body, "# agentruntime\n") || got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%s: %.80s", got.header.Get("Content-Type"), got.body)
	}
	// What an answer names as its source can be read there.
	answer := v.ask(v.conversation(store.Receptionist, "ann"), "", "What is a thread?")
	for _, seg := range answer.segments {
		if seg.Metadata == nil || seg.Metadata.RuntimeName != "sources-tool" {
			continue
		}
		var body struct{ Sources []struct{ URL string } }
		if err := json.Unmarshal([]byte(seg.ContentString()), &body); err != nil || len(body.Sources) == 0 {
			t.Fatalf("sources %s: %v", seg.Content, err)
		}
		for _, s := range body.Sources {
			path, _ := strings.CutPrefix(s.URL, "http://talk.test")
			wantStatus(t, s.URL, v.do(v.request("GET", path, "", "", "")), 200, "")
		}
		return
	}
	t.Error("no sources")
}
