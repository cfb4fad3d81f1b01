package fresh

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
)

// nginxBlock returns the settings for nginx in a document.
func nginxBlock(t *testing.T, doc string) string {
	t.Helper()
	text := must.Get(os.ReadFile("../../docs/" + doc))(t)
	found := regexp.MustCompile("(?ms)^```nginx\n(.*?)^```").FindSubmatch(text)
	if found == nil {
		t.Fatalf("docs/%s has no settings for nginx", doc)
	}
	return string(found[1])
}

// brotliModule is a module of nginx that Debian packs for itself.
const brotliModule = "/usr/lib/nginx/modules/ngx_http_brotli_static_module.so"

func hasBrotli() bool {
	_, err := os.Stat(brotliModule)
	return err == nil
}

// freeAddress returns a loopback address that is free at the moment.
func freeAddress(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// startNginx starts nginx with one server, whose settings follow its address. The test is
// skipped where nginx is not installed.
func startNginx(t *testing.T, address, settings string) {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr; events {}
http {
	access_log off; types { application/wasm wasm; text/javascript js; }
	client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
	server { listen %s %s }
}`, dir, address, settings)
	if hasBrotli() {
		text = "load_module " + brotliModule + ";\n" + text
	}
	if os.Getuid() == 0 {
		text = "user root;\n" + text
	}
	must.Do(t, os.WriteFile(config, []byte(text), 0o600))
	cmd := exec.Command(nginx, "-c", config)
	var said strings.Builder
	cmd.Stderr = &said
	must.Do(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has no workers of its own
		<-ended
	})
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("nginx: %v\n%s", err, said.String())
		case <-time.After(10 * time.Millisecond): // it does not say when it listens
		}
	}
}

// nginx with the docs' settings sends the compressed forms of the package, and lets browsers
// keep only files whose names have a hash.
func TestNginx(t *testing.T) {
	t.Parallel()
	settings, encodings := nginxBlock(t, "hosting.md"), []string{"br", "gzip", ""}
	if !hasBrotli() {
		settings, encodings = strings.ReplaceAll(settings, "brotli_static on;", ""), encodings[1:]
	}
	dist := must.Get(filepath.Abs("../../js/dist"))(t)
	root := t.TempDir()
	for _, folder := range []string{"assets", "agentruntime"} {
		must.Do(t, os.Symlink(dist, filepath.Join(root, folder)))
	}
	address := freeAddress(t)
	startNginx(t, address, "; root "+root+"; "+settings)
	types := map[string]string{"agentruntime.wasm": "application/wasm", "chat.wasm": "application/wasm", "element.js": "text/javascript"}
	for name, kind := range types {
		for _, encoding := range encodings {
			wantSent(t, "http://"+address+"/assets/"+name, encoding, kind, "public, max-age=31536000, immutable")
			wantSent(t, "http://"+address+"/agentruntime/"+name, encoding, kind, "no-cache")
		}
	}
}

// wantSent checks the headers with which nginx sends a file to a browser that accepts one
// encoding, or none.
func wantSent(t *testing.T, address, encoding, kind, caching string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	r.Header.Set("Accept-Encoding", encoding)
	reply := must.Get(http.DefaultClient.Do(r))(t)
	defer reply.Body.Close()
	h := reply.Header
	got := []string{reply.Status, h.Get("Content-Type"), h.Get("Content-Encoding"), h.Get("Vary"), h.Get("Cache-Control")}
	want := []string{"200 OK", kind, encoding, "Accept-Encoding", caching}
	expect.Equal(t, strings.Join(got, "; "), strings.Join(want, "; "), "%s: %q", address, got)
}

// nginx with the docs' settings and a certificate passes on the streams, sockets and uploads
// of the local service behind it.
func TestNginxBeforeTheLocalService(t *testing.T) {
	t.Parallel()
	address, behind := freeAddress(t), freeAddress(t)
	public := "https://" + address
	service := must.Get(localservice.Start(t.Context(), localservice.Options{
		Addr: behind, PublicURL: public, Voice: "builtin",
		Script: []byte("rules: [{when: {any: true}, steps: [{say: Well.}, {stall: 1500}, {say: Yes.}]}]"),
	}))(t)
	t.Cleanup(func() { must.Do(t, service.Close()) })
	certificate := must.Get(localservice.NewCertificate())(t)
	files, key := t.TempDir(), must.Get(x509.MarshalPKCS8PrivateKey(certificate.PrivateKey))(t)
	must.Do(t, os.WriteFile(files+"/key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
	must.Do(t, os.WriteFile(files+"/pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Leaf.Raw}), 0o600))
	settings := strings.ReplaceAll(nginxBlock(t, "local-service.md"), "127.0.0.1:8080", behind)
	startNginx(t, address, fmt.Sprintf("ssl; ssl_certificate %[1]s/pem; ssl_certificate_key %[1]s/key; %s", files, settings))

	roots := x509.NewCertPool()
	roots.AddCert(certificate.Leaf)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	t.Cleanup(client.CloseIdleConnections)
	info := service.Info()
	access := must.Get(appinit.Init(t.Context(), appinit.Options{
		WidgetID: info.Agents[1].WidgetID, HTTPClient: client, // silent
		Config: appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	}))(t)

	o := chat.OptionsFor(access)
	o.HTTPClient = client
	text := must.Get(chat.New(o))(t)
	defer text.Close()
	must.Do(t, text.Connect(t.Context()))
	var times []time.Time
	for segment, err := range text.Stream(t.Context(), "Are you there?", chat.TurnOptions{}) {
		must.Do(t, err)
		if segment.Type == "text" && segment.Content != "" {
			times = append(times, time.Now())
		}
	}
	if n := len(times); n < 2 || times[n-1].Sub(times[0]) < time.Second {
		t.Errorf("the answer came at %v, want its first word a second and a half before the last", times)
	}

	face := avatar.OptionsFor(access)
	face.HTTPClient, face.AllowPrivateHosts, face.MicStart = client, true, avatar.MicDeferred
	live := must.Get(avatar.New(face))(t)
	defer live.Close()
	must.Do(t, live.Connect(t.Context()))

	upload := must.Get(client.Post(public+"/v1/catalog/upload", "application/octet-stream", bytes.NewReader(make([]byte, 2<<20))))(t)
	upload.Body.Close()
	if upload.StatusCode == http.StatusRequestEntityTooLarge {
		t.Error("nginx refuses an upload of 2 MiB")
	}
}
