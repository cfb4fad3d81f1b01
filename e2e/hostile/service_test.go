package hostile

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

// secret is a token in the platform's format, which must not appear in any output.
const secret = "djJ8NTUwMXxob3N0aWxlLXRlc3QtdG9rZW4tMDEyMzQ1Njc4OWFiY2RlZg"

const (
	ndjson = "application/x-ndjson"
	good   = `{"type":"text","content":"Hello ","threadId":"t","messageId":"m"}` + "\n" + `{"type":"text","content":"wörld 😀"}` + "\n"
)

// liar responds to a turn in the way that the turn's text selects.
func liar(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Headers", "authorization, content-type")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	if r.Method == http.MethodOptions {
		return
	}
	body, _ := io.ReadAll(r.Body)
	reply := func(status int, contentType, text string) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "KS ")
	asked := func(text string) bool { return strings.Contains(string(body), `"userMessage":"`+text) }
	switch {
	case asked("html"):
		reply(200, "text/html", "<!doctype html>\n<p>"+token+"\n")
	case asked("204"):
		w.WriteHeader(204)
	case asked("octets"):
		reply(200, "application/octet-stream", good)
	case asked("empty"):
		reply(200, "text/plain", "")
	case asked("json"):
		reply(200, "application/json", "{\n\"type\":\"text\",\"content\":\"one\"}")
	case asked("hidden"):
		reply(200, "application/json", `{"status":403,"detail":"KS `+token+`"}`)
	case asked("long"):
		reply(200, ndjson, `{"type":"text","content":"`+strings.Repeat("x", 2<<20)+`"}`+"\n"+good)
	case asked("deep"):
		reply(200, ndjson, `{"type":"tool","content":["f",{"a":`+strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000)+"}]}\n"+good)
	case asked("error"):
		reply(200, ndjson, good+`{"type":"error","content":"KS `+token+` failed"}`+"\n")
	case asked("refused"):
		reply(200, ndjson, `{"type":"error","content":"No permission for thread t"}`+"\n")
	case asked("status"):
		status := 0
		fmt.Sscanf(string(body[strings.Index(string(body), "status ")+7:]), "%d", &status)
		reply(status, "application/json", `{"detail":"no, `+token+`","ks":"`+token+`","__proto__":{"x":1}}`)
	case asked("gzip"):
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", ndjson)
		z := gzip.NewWriter(w)
		io.WriteString(z, good)
		z.Close()
	case asked("redirect") && !strings.HasPrefix(r.URL.Path, "/other"):
		http.Redirect(w, r, "/other/assistant/converse", http.StatusTemporaryRedirect)
	case asked("loop"):
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	case asked("cors"):
		w.Header().Del("Access-Control-Allow-Origin")
		reply(200, ndjson, good)
	case asked("never"):
		<-r.Context().Done()
	case asked("hang"):
		reply(200, ndjson, good)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case asked("cut"):
		w.Header().Set("Content-Length", fmt.Sprint(len(good)))
		reply(200, ndjson, good[:rand.IntN(len(good))])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	default:
		reply(200, ndjson, good)
	}
}

// setUp opens a page that talks to liar, with the options by which a session reaches it.
func setUp(t *testing.T) (p *pagetest.Page, access map[string]any) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(liar))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	// A server of its own: the local service's pages may not connect to a stranger.
	pages := httptest.NewServer(http.FileServer(http.Dir("../..")))
	t.Cleanup(pages.Close)
	p = pagetest.Open(t, pages.URL+pagetest.Stage)
	for _, text := range []string{"local or private host", "Failed to load resource", "CORS policy", "redirect"} {
		p.Allow(text) // what the browser says of the service
	}
	return p, map[string]any{"token": secret, "genieUrl": server.URL, "crossTabPresence": false, "brainStallMs": 100, "sessionCompleteOnEnd": false}
}

func TestRepliesOfALiarBecomeTypedErrors(t *testing.T) {
	t.Parallel()
	p, access := setUp(t)
	want := map[string]string{
		"html": "stream_error", "204": "server_error", "octets": "Hello wörld 😀", "empty": "server_error", "json": "one",
		"hidden": "api_exception", "long": "stream_error", "deep": "stream_error", "error": "stream_error", "refused": "thread_access_denied",
		"status 500": "server_error", "status 403": "forbidden", "status 429": "rate_limited", "status 401": "unauthorized",
		"gzip": "Hello wörld 😀", "redirect": "network_error", "loop": "network_error", "cors": "network_error", "cut": "network_error", "fine": "Hello wörld 😀",
	}
	var got map[string]string
	var leaks []string
	p.Call(&struct {
		Got   *map[string]string
		Leaks *[]string
	}{&got, &leaks}, folder+"service.js", "repliesOfALiarBecomeTypedErrors", access, slices.Collect(maps.Keys(want)))
	for name, want := range want {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	for _, leak := range leaks {
		t.Errorf("the token is in %.400s", leak)
	}
}

func TestAStormOfAbortsLeavesNothing(t *testing.T) {
	t.Parallel()
	p, access := setUp(t)
	var got struct {
		Codes         map[string]int
		Text          string
		Before, After map[string]int
		Stalled       int
	}
	p.Call(&got, folder+"service.js", "stormOfAbortsLeavesNothing", access)
	for code := range got.Codes {
		if code != "text" && code != "aborted" && code != "network_error" {
			t.Errorf("%s: %d times", code, got.Codes[code])
		}
	}
	if got.Text != "Hello wörld 😀" || got.Stalled == 0 || fmt.Sprint(got.Before) != fmt.Sprint(got.After) {
		t.Errorf("%+v", got)
	}
}

// Whatever a page passes, it gets an error of the package, and nothing is sent.
func TestAnythingIsRefusedWithATypedError(t *testing.T) {
	t.Parallel()
	p, access := setUp(t)
	var got []string
	p.Call(&got, folder+"service.js", "anythingIsRefusedWithATypedError", access)
	for _, wrong := range got {
		t.Error(wrong)
	}
}
