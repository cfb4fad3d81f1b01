package toolrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func runner(t *testing.T, log io.Writer, hosts ...string) *Runner {
	t.Helper()
	r := New(hosts, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() { must.Do(t, r.Close()) })
	return r
}

// echo is a service that describes the request it got.
func echo(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		json.NewEncoder(w).Encode(map[string]any{ //nolint:errcheck // a test's reply
			"method": r.Method, "uri": r.RequestURI, "key": r.Header.Get("X-Key"), "body": string(body),
		})
	}))
	t.Cleanup(server.Close)
	return server
}

func api(url string, change func(*store.ToolConfig)) *store.ToolDef {
	t := &store.ToolDef{Name: "t", ToolConfig: store.ToolConfig{Type: store.APITool, Request: &store.ToolRequest{URL: url}}}
	if change != nil {
		change(&t.ToolConfig)
	}
	return t
}

// TestSecretsAreNotEchoed: neither in a result, when the service sends them back, nor in a
// log, nor in the error of a request.
func TestSecretsAreNotEchoed(t *testing.T) {
	var log bytes.Buffer
	server, r := echo(t), runner(t, &log)
	vars := map[string]any{"secrets.KEY": `top "secret" key`, "sys__ks": "djJ8-the-token"}
	use := func(url string) *store.ToolDef {
		return api(url+"/{{ secrets.KEY }}?ks={{ sys__ks }}", func(t *store.ToolConfig) {
			t.Request.Headers = map[string]string{"X-Key": "Bearer {{ secrets.KEY }}"}
			t.Request.Method, t.Request.Body = "POST", json.RawMessage(`{"key":"{{ secrets.KEY }}"}`)
		})
	}
	for _, tool := range []*store.ToolDef{use(server.URL), use("http://localhost:1"), use("http://192.0.2.1"), use("http://local host")} {
		result := string(r.Run(t.Context(), tool, nil, vars))
		for _, secret := range []string{"top", "secret\\", "the-token"} {
			if strings.Contains(result, secret) || strings.Contains(log.String(), secret) {
				t.Errorf("%s: %s, log %s", tool.Request.URL, result, log.String())
			}
		}
	}
	if got := string(r.Run(t.Context(), use(server.URL), nil, vars)); !strings.Contains(got, "Bearer ***") {
		t.Errorf("the secret was not sent: %s", got)
	}
}

func TestToolsCallLoopbackAndAllowedHostsOnly(t *testing.T) {
	server := echo(t)
	run := func(r *Runner, url string) string { return string(r.Run(t.Context(), api(url, nil), nil, nil)) }
	r := runner(t, io.Discard)
	local := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	if got := run(r, local); !strings.Contains(got, `"method":"GET"`) {
		t.Errorf("loopback: %s", got)
	}
	for _, url := range []string{"http://192.0.2.1/", "http://[2001:db8::1]/", "http://10.0.0.1:80/", "http://0.0.0.0:9/", "http://169.254.169.254/latest/", "http://[::ffff:169.254.169.254]/", "http://[fe80::1%25lo]/"} {
		if got := run(r, url); !strings.Contains(got, "loopback only") {
			t.Errorf("%s: %s", url, got)
		}
	}
	if got := run(runner(t, io.Discard, "192.0.2.1"), "file:///etc/passwd"); !strings.Contains(got, "http or https") {
		t.Errorf("a file: %s", got)
	}
	redirect := httptest.NewServer(http.RedirectHandler(server.URL, http.StatusFound))
	defer redirect.Close()
	if got := run(r, redirect.URL); !strings.Contains(got, "status 302") {
		t.Errorf("a redirect: %s", got)
	}
}

func TestToolsThatFail(t *testing.T) {
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/missing":
			w.WriteHeader(404)
		case "/large":
			w.Write(make([]byte, maxReply+1)) //nolint:errcheck // a test's reply
		case "/text":
			io.WriteString(w, "plain text") //nolint:errcheck // a test's reply
		case "/slow":
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
	}))
	defer server.Close()
	defer close(hang)
	r := runner(t, io.Discard)
	for path, want := range map[string]string{
		"/missing": `{"error":"the tool's service answered with status 404"}`, "/large": "more than 262144 bytes", "/text": `{"result":"plain text"}`,
		"/slow": `{"error":"the tool took too long"}`,
	} {
		tool := api(server.URL+path, func(t *store.ToolConfig) { t.TimeoutSeconds = 1 })
		if got := string(r.Run(t.Context(), tool, nil, nil)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestTablesAreLookedUp(t *testing.T) {
	r := runner(t, io.Discard)
	tool := &store.ToolDef{Name: "prices", ToolConfig: store.ToolConfig{Type: store.CSVTool, CSV: "item,price\nTea,3\ncoffee,4\nVilla,2500000\n"}}
	for args, want := range map[string]string{
		`{"item":"tea"}`: `{"rows":[{"item":"Tea","price":"3"}]}`, `{"price":4}`: `{"rows":[{"item":"coffee","price":"4"}]}`,
		`{"item":"milk"}`: `{"rows":[]}`, `{"price":2500000}`: `{"rows":[{"item":"Villa","price":"2500000"}]}`,
		`{"other":1}`: `{"rows":[{"item":"Tea","price":"3"},{"item":"coffee","price":"4"},{"item":"Villa","price":"2500000"}]}`,
	} {
		expect.Equal(t, string(r.Run(t.Context(), tool, json.RawMessage(args), nil)), want, "%s", args)
	}
}

// TestCloseEndsToolsWithoutWaiting: a tool that nothing waits for ends with the runner.
func TestCloseEndsToolsWithoutWaiting(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(ended)
	}))
	defer server.Close()
	r := New(nil, slog.New(slog.DiscardHandler))
	r.Start(api(server.URL, nil), nil, nil)
	<-begun
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

// TestRequestShapes: the request, the authentication and the results of the public client's
// form of a tool. Values stay inside their part of an address and their quotes, and
// arguments don't replace the service's names.
func TestRequestShapes(t *testing.T) {
	const key, token = "the-key-of-the-client", "an-access-token"
	var grants atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/token" {
			id, secret, _ := r.BasicAuth()
			if r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "read write" || id != "me" || secret != key {
				http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
				return
			}
			grants.Add(1)
			fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":60}`, token)
			return
		}
		body, _ := io.ReadAll(r.Body)
		json.NewEncoder(w).Encode(map[string]any{ //nolint:errcheck // a test's reply
			"method": r.Method, "uri": r.RequestURI, "auth": r.Header.Get("Authorization"), "type": r.Header.Get("Content-Type"), "body": string(body), "id": 7,
			"items": []any{map[string]any{"text": "One", "url": "u1"}, map[string]any{"text": "Two"}},
		})
	}))
	defer server.Close()
	r := runner(t, io.Discard)
	run := func(config string) string {
		t.Helper()
		var c store.ToolConfig
		must.Do(t, json.Unmarshal([]byte(strings.ReplaceAll(config, "HOST", server.URL)), &c))
		c.Type = c.Kind()
		return string(r.Run(t.Context(), &store.ToolDef{Name: "t", ToolConfig: c}, json.RawMessage(`{"q":"a&b=c d","mail":"x\"y","sys__user_id":"eve","secrets.NONE":"x","secrets.KEY":"y"}`),
			map[string]any{"secrets.KEY": key, "sys__user_id": "ann", "city": "Bad Ems/\"x\"", "n": 3.0}))
	}
	for config, want := range map[string]string{
		`{"request":{"url":"HOST/a?x=1","params":{"q":"{{args.q}}","n":1000000}},"response_mapping":{"uri":"uri","first":"items.0.text","none":"items.9.x"}}`: `{"first":"One","none":null,"uri":"/a?x=1\u0026n=1000000\u0026q=a%26b%3Dc+d"}`,
		`{"request":{"url":"HOST/w/{{ city }}?q={{ q }}&n={{n}}"},"response_mapping":{"uri":"uri","method":"method"}}`:                                        `{"method":"GET","uri":"/w/Bad%20Ems%2F%22x%22?q=a%26b%3Dc%20d\u0026n=3"}`,
		`{"request":{"url":"HOST/{{ sys__user_id }}/{{ secrets.NONE }}"},"response_mapping":{"uri":"uri"}}`:                                                   `{"uri":"/ann/"}`,
		`{"request":{"url":"HOST/","method":"POST","body":{"city":"{{ city }}"}},"response_mapping":{"body":"body","type":"type","method":"method"}}`:         `{"body":"{\"city\":\"Bad Ems/\\\"x\\\"\"}","method":"POST","type":"application/json"}`,
		`{"request":{"url":"HOST/","method":"POST","body":{"p":{"email":"{{args.mail}}"}}},"response_mapping":{"body":"body"}}`:                               `{"body":"{\"p\":{\"email\":\"x\\\"y\"}}"}`,
		`{"request":{"url":"HOST/","method":"PUT","body":"a text of {{args.mail}}"},"response_mapping":{"body":"body"}}`:                                      `{"body":"a text of x\\\"y"}`,
		`{"request":{"url":"HOST/"},"response_template":"{{ items.1.text }} for {{ sys__user_id }}"}`:                                                         `{"result":"Two for ann"}`,
		`{"request":{"url":"HOST/"},"response_chapters":{"iterate_on":"items","content":"text","link":"url"}}`:                                                `{"chapters":[{"content":"One","link":"u1"},{"content":"Two","link":null}]}`,
		`{"request":{"url":"HOST/"},"response_mapping":{"id":"id"},"variables_mapping":{"contact":"id","none":"x.y"}}`:                                        `{"id":7,"variables":{"contact":7}}`,
		`{"request":{"url":"HOST/","authentication":{"type":"oauth2","client_id":"me","client_secret":"secrets.KEY","token_url":"HOST/token","scopes":["read","write"]}},
			"response_mapping":{"auth":"auth"}}`: `{"auth":"Bearer ***"}`,
		`{"request":{"url":"HOST/","authentication":{"type":"oauth2","client_id":"you","client_secret":"secrets.KEY","token_url":"HOST/token"}}}`:                            `{"error":"the tool's service gave no access token"}`,
		`{"request":{"url":"HOST/","authentication":{"type":"oauth2","client_id":"me","client_secret":"secrets.NONE","token_url":"HOST/token"}}}`:                            `{"error":"the secret of the tool's authentication is not set: secrets.NONE"}`,
		`{"request":{"url":"HOST/","authentication":{"type":"oauth2","client_id":"me","client_secret":"secrets.KEY","token_url":"HOST/token","flow":"authorization_code"}}}`: `{"error":"this service authenticates tools by the flow client_credentials only"}`,
		`{"request":{"url":"HOST/","authentication":{"type":"oauth2","client_id":"me","client_secret":"secrets.KEY","token_url":"http://192.0.2.1/token"}}}`:                 `{"error":"` + errNotAllowed.Error() + `"}`,
	} {
		if got := run(config); got != want {
			t.Errorf("%s\n got %s\nwant %s", config, got, want)
		}
	}
	expect.Equal(t, grants.Load(), 1, "tokens were issued")
}
