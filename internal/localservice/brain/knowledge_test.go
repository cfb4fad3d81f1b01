package brain

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// TestPassagesOfSources: Markdown is cut at headings, plain text at paragraphs, and each
// passage says on which line it begins.
func TestPassagesOfSources(t *testing.T) {
	long := strings.Repeat("word ", textPassage/5)
	for name, tt := range map[string]struct {
		source store.Source
		want   string
	}{
		"Markdown": {
			store.Source{Type: store.MarkdownSource, Name: "menu.md", Content: "# Menu\n\nWe cook.\n\n## Soup\nLentils.\n\n```\n# no heading\n```\n", EntryID: "e1"},
			`["Menu" "" "We cook." 3] ["Menu" "Soup" "Lentils.\n\n` + "```\\n# no heading\\n```" + `" 6]`,
		},
		"text, short paragraphs together": {
			store.Source{Type: store.TextSource, Name: "menu.txt", Content: "# not Markdown\n\nSecond.\n", EntryID: "e1"},
			`["menu" "" "# not Markdown\n\nSecond." 1]`,
		},
		"text, long paragraphs apart": {
			store.Source{Type: store.TextSource, Name: "menu", Content: "\n" + long + "\n\nSecond.\n", EntryID: "e1"},
			fmt.Sprintf(`["menu" "" %q 2] ["menu" "" "Second." 4]`, strings.TrimSpace(long)),
		},
		"nothing": {store.Source{Type: store.TextSource, Name: "menu", Content: " \n"}, ``},
	} {
		var got []string
		for _, p := range Passages(tt.source) {
			got = append(got, fmt.Sprintf("[%q %q %q %d]", p.Title, p.Heading, p.Body, p.Line))
			if p.EntryID != "e1" || p.Source != "" {
				t.Errorf("%s: passage of %q, file %q", name, p.EntryID, p.Source)
			}
		}
		expect.Equal(t, strings.Join(got, " "), tt.want, "%s", name)
	}
}

// TestDemoAnswersFromItsKnowledge: from the agent's records and no others.
func TestDemoAnswersFromItsKnowledge(t *testing.T) {
	var asked []int64
	demo := &Demo{Knowledge: searcherFunc(func(records []int64) []store.Passage {
		asked = records
		return []store.Passage{{Title: "Menu", Heading: "Soup", Body: "Lentils.", EntryID: "e1", Line: 3}}
	})}
	out := &tape{}
	answer(t, demo, &Question{Text: "What is the soup?", Profile: store.Profile{Intellect: store.Intellect{KnowledgeIDs: []int64{1234}}}, Capabilities: Layer(nil, nil), Site: "http://x.test"}, out)
	if fmt.Sprint(asked) != "[1234]" || !strings.Contains(out.text, "Lentils.") {
		t.Errorf("searched %v, said %q", asked, out.text)
	}
	// A text of a partner's own has no public address.
	if widgets := strings.Join(out.log, " "); !strings.Contains(widgets, "Menu: Soup") || strings.Contains(widgets, "x.test") {
		t.Errorf("widgets %s", widgets)
	}
}

// searcherFunc is an index for one test.
type searcherFunc func(records []int64) []store.Passage

func (f searcherFunc) SearchKnowledge(_ context.Context, records []int64, _ string, _ int) ([]store.Passage, error) {
	return f(records), nil
}

func TestComplete(t *testing.T) {
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer key" {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":{"message":"bad key"}}`) //nolint:errcheck // the test fails
			return
		}
		io.WriteString(w, `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{}"}}]}`) //nolint:errcheck // the test fails
	}))
	defer server.Close()
	for key, want := range map[string]string{"key": "{} <nil>", "wrong": " endpoint answers with status 401"} {
		chat := NewChat(endpoint.Endpoint{BaseURL: server.URL, Key: key, Model: "m"}, server.Client(), nil, slog.New(slog.DiscardHandler))
		reply, err := chat.Complete(t.Context(), "Sum up.", "human: Hello")
		expect.Equal(t, fmt.Sprint(reply, " ", err), want, "with the key %q", key)
		if !strings.Contains(body, `"Sum up."`) || !strings.Contains(body, `"human: Hello"`) || strings.Contains(body, `"stream":true`) {
			t.Errorf("request %s", body)
		}
	}
}
