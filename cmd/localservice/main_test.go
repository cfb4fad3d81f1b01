package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/rawhttp"
)

// TestJSONLine runs the command as a program would that needs a service.
func TestJSONLine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var log bytes.Buffer
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"-addr", "127.0.0.1:0", "-json"}, in, &log) }()

	var info map[string]any
	must.Do(t, json.NewDecoder(out).Decode(&info))
	want := []string{
		"page", "agenticUrl", "genieUrl", "ovpUrl", "conversationManagerUrl", "srsBaseUrl", "turnServerUrl", "messagingUrl",
		"partnerId", "adminSecret", "controlUrl", "controlToken", "agents",
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(info)); !slices.Equal(got, want) { // not the values, which have secrets
		t.Errorf("got the keys %v, want %v", got, want)
	}
	ping, _ := info["ovpUrl"].(string)
	reply := must.Get(http.Get(ping + "/service/system/action/ping?format=1"))(t) // everything listens by now
	_ = reply.Body.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	secret, _ := info["adminSecret"].(string)
	if secret == "" || strings.Contains(log.String(), secret) {
		t.Error("the log holds the secret, or there is none")
	}
}

func TestFlags(t *testing.T) {
	c, err := parse([]string{
		"-link", "sockets:delay=80ms;relay:loss=2%", "-turn-listen", "127.0.0.1:80, 127.0.0.1:443", "-pause-window", "5s",
	}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o := c.options
	if o.Sockets != (netem.Conditions{Delay: 80 * time.Millisecond}) || o.HTTP != (netem.Conditions{}) || o.Relay != (netem.Conditions{Loss: 0.02}) {
		t.Errorf("links %+v %+v %+v", o.Sockets, o.HTTP, o.Relay)
	}
	if !slices.Equal(o.TURNListen, []string{"127.0.0.1:80", "127.0.0.1:443"}) || o.Timing.PauseWindow != 5*time.Second {
		t.Errorf("got %+v", o)
	}
	c, err = parse([]string{"-link", "jitter=5ms"}, io.Discard)
	if err != nil || c.options.HTTP != (netem.Conditions{Jitter: 5 * time.Millisecond}) || c.options.HTTP != c.options.Sockets {
		t.Errorf("for all links: %+v, %v", c, err)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{"-link", "moon:cut"},
		{"-link", "delay=soon"},
		{"-script", "/nowhere.yaml"},
		{"-knowledge", "/nowhere"},
		{"-users", "/nowhere.json"},
		{"-users", "main_test.go"},
		{"-pages", "/nowhere"},
		{"serve"},
	} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
	expect.Fail(parse([]string{"-help"}, io.Discard))(t, flag.ErrHelp, "help")
}

// TestOnlyPagesAreServed: the directory with the pages is a whole checkout.
func TestOnlyPagesAreServed(t *testing.T) {
	c := must.Get(parse([]string{"-addr", "127.0.0.1:0", "-pages", "../..", "-voice", "builtin"}, io.Discard))(t)
	service := must.Get(localservice.Start(t.Context(), c.options))(t)
	defer service.Close()
	origin := service.Info().GenieURL
	for _, p := range examplePages {
		for _, path := range []string{p.path, p.path + "main.js", "/example/shared/dom.js"} {
			if reply, _ := rawhttp.Get(t, origin, path, "localhost"); reply.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", path, reply.Status)
			}
		}
	}
	for _, path := range []string{
		"/example/", "/example/shared/", "/example/shared/shared.go", "/example/studio/", "/example/studio/main.js", "/example/studio/handler.go", "/example/tokenserver/main.go",
		"/example/testing/package.json", "/js/dist/", "/js/dist/index.d.ts", "/js/package.json", "/go.mod", "/.git/config", "/.git", "/example/avatar/%2e%2e/%2e%2e/go.mod",
		"/js/dist/%2e%2e/package.json", "/js/dist/..%2fpackage.json", "/js/dist/..\\package.json", "/js/dist/%252e%252e/package.json", "/example/avatar/%00",
	} {
		if reply, body := rawhttp.Get(t, origin, path, "localhost"); reply.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s %.60q", path, reply.Status, body)
		}
	}
}

func TestGreeting(t *testing.T) {
	var out strings.Builder
	info := localservice.Info{Page: "http://127.0.0.1:8080/example/avatar/", AdminSecret: "hidden", ControlToken: "hidden too"}
	must.Do(t, greet(&out, info))
	want := `
  Open      http://127.0.0.1:8080/example/avatar/       a face and a voice
            http://127.0.0.1:8080/example/chat/         text
            http://127.0.0.1:8080/example/agent/        one conversation in both
            http://127.0.0.1:8080/example/element/      a tag that is the whole of it
            http://127.0.0.1:8080/example/experience/   a face with widgets and tools
            http://127.0.0.1:8080/example/deck/         a deck that an agent presents
            http://127.0.0.1:8080/example/playground/   every option, event and fault
            http://127.0.0.1:8080/example/quickstart/   the agent that was made last
`
	if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "hidden") {
		t.Errorf("got %s", out.String())
	}
}

// With -tls, the addresses are https, and both forms of output have the hash by which
// Chromium accepts the certificate.
func TestTLS(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"-addr", "127.0.0.1:0", "-tls", "-json"}, in, io.Discard) }()
	var info localservice.Info
	must.Do(t, json.NewDecoder(out).Decode(&info))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(info.GenieURL, "https://127.0.0.1:") || len(info.CertificateHash) != 44 {
		t.Errorf("%s with the certificate %q", info.GenieURL, info.CertificateHash)
	}
	var text strings.Builder
	must.Do(t, greet(&text, info))
	if !strings.Contains(text.String(), "--ignore-certificate-errors-spki-list="+info.CertificateHash) {
		t.Errorf("got %s", text.String())
	}
	c := must.Get(parse([]string{"-tls", "-allow-host", "agent.test", "-public-url", "https://public.test:8443"}, io.Discard))(t)
	for _, host := range []string{"agent.test", "public.test", "127.0.0.1"} {
		if err := c.options.Certificate.Leaf.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
}
