package fresh

import (
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

	"github.com/agentruntime/agentruntime/internal/must"
)

// blockOf returns the first block of docs/hosting.md with a language that has a text in it.
func blockOf(t *testing.T, language, with string) string {
	t.Helper()
	doc := must.Get(os.ReadFile("../../docs/hosting.md"))(t)
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllSubmatch(doc, -1) {
		if strings.Contains(string(block[1]), with) {
			return string(block[1])
		}
	}
	t.Fatalf("docs/hosting.md has no %s block with %q", language, with)
	return ""
}

// nginx with the docs' settings sends the compressed forms of the package.
func TestNginx(t *testing.T) {
	t.Parallel()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	brotli := "/usr/lib/nginx/modules/ngx_http_brotli_static_module.so"
	encodings := []string{"br", "gzip"}
	location, load := blockOf(t, "nginx", "location"), "load_module "+brotli+";"
	if _, err := os.Stat(brotli); err != nil { // a module of its own, which Debian packs for itself
		location, load = strings.ReplaceAll(location, "brotli_static on;", ""), ""
		encodings = encodings[1:]
	}
	dist := must.Get(filepath.Abs("../../js/dist"))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := listener.Addr().String()
	listener.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`%s
daemon off; master_process off; pid %[2]s/pid; error_log stderr; events {}
http {
	access_log off; types { application/wasm wasm; }
	client_body_temp_path %[2]s; proxy_temp_path %[2]s; fastcgi_temp_path %[2]s; uwsgi_temp_path %[2]s; scgi_temp_path %[2]s;
	server { listen %s; root %s; %s }
}`, load, dir, address, dist, location)
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
		reply, err := http.Get("http://" + address + "/index.js")
		if err == nil {
			reply.Body.Close()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("nginx: %v\n%s", err, said.String())
		case <-time.After(10 * time.Millisecond): // it does not say when it listens
		}
	}
	for _, name := range []string{"agentruntime.wasm", "chat.wasm"} {
		for _, encoding := range encodings {
			wantEncoded(t, "http://"+address+"/"+name, encoding)
		}
	}
}
