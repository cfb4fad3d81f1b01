package pageserver_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/rawhttp"
	"github.com/agentruntime/agentruntime/pageserver"
)

// secret is in every file of a test that must not be served, and in no other.
const secret = "the secret"

// checkout writes a project with pages in it, and with files of which none is for pages.
func checkout(t *testing.T) (dir string) {
	t.Helper()
	top := t.TempDir()
	dir = filepath.Join(top, "project")
	files := map[string]string{
		"../outside.js": secret, "outside.js": secret, "go.mod": secret, ".git/config": secret, ".env.js": secret,
		"example/other/main.js":   secret,
		"example/siteother/x.js":  secret,
		"example/site/index.html": "<p>page", "example/site/main.js": "code", "example/site/two words.js": "code",
		"example/site/main.go": secret, "example/site/.env": secret, "example/site/.hidden.js": secret,
		"example/site/.git/a.js": secret, "example/site/package.json": secret, "example/site/notes.txt": secret,
		"example/site/readme": secret, "example/site/main.js~": secret, "example/site/main.js.bak": secret,
		"example/site/empty/x.js": "code", "example/site/only.js.br": secret, "example/site/main.js.orig.gz": secret,
		"js/dist/a.wasm": "plain", "js/dist/a.wasm.br": "brotli", "js/dist/a.wasm.gz": "gzip", "js/package.json": secret,
		"js/dist/index.html/main.js": "code",
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for name, target := range map[string]string{
		"example/site/out.js": filepath.Join(top, "outside.js"), "example/site/up.js": "../../outside.js",
		"example/site/up": "../..", "example/site/other": "../other", "js/dist/b.wasm.br": "../package.json",
	} {
		must.Do(t, os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "js/dist/b.wasm"), []byte("plain"), 0o600))
	return dir
}

// TestOnlyFilesOfPagesAreServed sends paths as no client sends them, once to the handler
// and once through a ServeMux, which cleans some of them.
func TestOnlyFilesOfPagesAreServed(t *testing.T) {
	t.Parallel()
	root := must.Get(os.OpenRoot(checkout(t)))(t)
	defer root.Close()
	files := &pageserver.Files{FS: root.FS(), Paths: []string{"example/site", "js/dist"}}
	mux := http.NewServeMux()
	mux.Handle("/", files)
	prefixed := http.NewServeMux()
	for _, dir := range []string{"/example/site/", "/js/dist/"} {
		prefixed.Handle("GET "+dir, files)
	}
	for name, h := range map[string]http.Handler{"alone": files, "mux": mux, "mux of directories": prefixed} {
		server := httptest.NewServer(h)
		defer server.Close()
		for _, path := range []string{
			"/example/site/", "/example/site/index.html", "/example/site/main.js", "/example/site/two%20words.js",
			"/example/site/main.js?../../go.mod", "/js/dist/a.wasm", "/example/site/%6dain.js", "/js/dist/index.html/main.js",
			"http://127.0.0.1/example/site/main.js",
		} {
			reply, body := rawhttp.Get(t, server.URL, path, "127.0.0.1")
			if reply.StatusCode != http.StatusOK || strings.Contains(body, secret) || body == "" {
				t.Errorf("%s: %s: %s %.40q", name, path, reply.Status, body)
			}
		}
		for _, path := range hostilePaths("/example/site", ".git/config", "outside.js", "go.mod") {
			reply, body := rawhttp.Get(t, server.URL, path, "127.0.0.1")
			if reply.StatusCode < 300 || strings.Contains(body, secret) {
				t.Errorf("%s: %s: %s %.40q", name, path, reply.Status, body)
			}
		}
		for _, path := range []string{
			"/", "/go.mod", "/outside.js", "/.env.js", "/.git/config", "/example", "/example/", "/js/", "/js/package.json", "/example/other/main.js", "/example/siteother/x.js",
			"/example/site/main.go", "/example/site/.env", "/example/site/.hidden.js", "/example/site/.git/a.js", "/example/site/package.json",
			"/example/site/notes.txt", "/example/site/readme", "/example/site/main.js~", "/example/site/main.js.bak", "/example/site/only.js.br",
			"/example/site/empty", "/example/site/empty/", "/example/site/main.js/", "/example/site/main.js/index.html", "/js/dist", "/js/dist/", "/js/dist/index.html", "/js/dist/index.html/",
			"/example/site/out.js", "/example/site/up.js", "/example/site/up/outside.js", "/example/site/other/main.js", "/js/dist/a.wasm.br",
			"/example/site/" + strings.Repeat("x", 300) + ".js", "/" + strings.Repeat("a/", 20_000) + "x.js",
		} {
			reply, body := rawhttp.Get(t, server.URL, path, "127.0.0.1")
			// A ServeMux redirects from a directory that it knows.
			known := name == "mux of directories" && reply.Header.Get("Location") == "/js/dist/"
			if reply.StatusCode != http.StatusNotFound && !known || strings.Contains(body, secret) {
				t.Errorf("%s: %.60s: %s %.40q", name, path, reply.Status, body)
			}
		}
	}
}

// hostilePaths are ways to write the path from a directory two levels below the top to
// files at the top.
func hostilePaths(dir string, files ...string) []string {
	var paths []string
	for _, file := range files {
		for _, up := range []string{
			"/../../", "/%2e%2e/%2e%2e/", "/%2E%2E/%2E%2E/", "/.%2e/.%2e/", "/..%2f..%2f", "/%2e%2e%2f%2e%2e%2f", "/..%5c..%5c", "/..\\..\\",
			"/%252e%252e/%252e%252e/", "/%252e%252e%252f%252e%252e%252f", "/....//....//", "/..;/..;/", "/.../.../", "/%c0%ae%c0%ae/%c0%ae%c0%ae/",
			"/%uff0e%uff0e/", "//..//..//", "/%00/../../", "/x/../../../", "/main.js/../../../", "/index.html%00/../../../", "/./.././../", "/%2e/%2e%2e/%2e%2e/",
		} {
			// The second form has the ending of a type that pages load.
			paths = append(paths, dir+up+file, dir+up+file+"%00.js", dir+up+file+"/.js", dir+up+file+"#.js")
		}
		paths = append(paths, "/"+file, "//"+file, "/%2f"+file, "/js/dist/../../"+file, "http://127.0.0.1"+dir+"/%2e%2e/%2e%2e/"+file, "http://127.0.0.1/"+file, "/example/site/up/"+file)
	}
	return paths
}

func TestDirectoriesLeadToTheirPage(t *testing.T) {
	t.Parallel()
	files := &pageserver.Files{FS: fstest.MapFS{"a/b/index.html": {Data: []byte("<p>page")}}, Paths: []string{"."}, Policy: "default-src 'self'"}
	server := httptest.NewServer(http.StripPrefix("/below", files))
	defer server.Close()
	reply := must.Get(http.Get(server.URL + "/below/a/b?agent=x"))(t) // follows the redirect
	reply.Body.Close()
	if reply.Request.URL.RequestURI() != "/below/a/b/?agent=x" || reply.StatusCode != http.StatusOK ||
		reply.Header.Get("Content-Security-Policy") != files.Policy || reply.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: %s %v", reply.Request.URL, reply.Status, reply.Header)
	}
}

func TestCompressedCopies(t *testing.T) {
	t.Parallel()
	dir := checkout(t)
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	files := &pageserver.Files{FS: root.FS(), Paths: []string{"js/dist"}}
	for _, tt := range []struct{ path, accept, rng, want, encoding string }{
		{"/js/dist/a.wasm", "gzip, br", "", "brotli", "br"},
		{"/js/dist/a.wasm", "gzip, br;q=0", "", "gzip", "gzip"},
		{"/js/dist/a.wasm", "br;q=0", "", "plain", ""},
		{"/js/dist/a.wasm", "br", "bytes=0-1", "pl", ""}, // of the file itself
		{"/js/dist/b.wasm", "br", "", "plain", ""},       // its copy is a symbolic link
	} {
		r := httptest.NewRequest(http.MethodGet, tt.path, nil)
		r.Header.Set("Accept-Encoding", tt.accept)
		if tt.rng != "" {
			r.Header.Set("Range", tt.rng)
		}
		w := httptest.NewRecorder()
		files.ServeHTTP(w, r)
		if w.Body.String() != tt.want || w.Header().Get("Content-Encoding") != tt.encoding || w.Header().Get("Content-Type") != "application/wasm" {
			t.Errorf("%s, %q: %q %v", tt.path, tt.accept, w.Body, w.Header())
		}
	}
	w := httptest.NewRecorder()
	if files.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/js/dist/a.wasm", nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
}

// TestHosts has every form in which a client can write a Host header.
func TestHosts(t *testing.T) {
	t.Parallel()
	own := pageserver.Hosts{Names: []string{"Shop.example", "2001:db8::1"}}
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST:8081": true, "localhost.": true, "localhost.:8081": true, "app.localhost": true, "app.localhost.:1": true,
		"127.0.0.1": true, "127.0.0.1:80": true, "127.9.9.9": true, "[::1]": true, "[::1]:8081": true, "[::ffff:127.0.0.1]:1": true,
		"shop.example": true, "SHOP.EXAMPLE.:443": true, "[2001:db8::1]:8081": true,

		"": false, ".": false, ":8081": false, "::1": false, "[localhost]": false, "localhost..": false, ".localhost.evil.example": false,
		"localhost:x": false, "localhost:80:80": false, "localhost@evil.example": false, "evil.example@localhost": false, "evil.example#.localhost": false,
		"evil.example/.localhost": false, "evil.example?.localhost": false, "evil.example\\.localhost": false, "localhost evil.example": false,
		"localhost,evil.example": false, "evil.example": false, "127.0.0.1.evil.example": false, "localhost.evil.example:8081": false, "xlocalhost": false,
		"127.1": false, "2130706433": false, "0x7f000001": false, "0177.0.0.1": false, "0.0.0.0": false, "[::]": false, "[::1%25lo]": false, "[::1%lo]": false, "192.0.2.1": false,
		"xshop.example": false, "shop.example.evil.example": false, "[::1]evil.example": false, "[::1": false, "%6cocalhost": false,
	} {
		expect.Equal(t, own.Has(host), want, "%q", host)
	}
	if !(pageserver.Hosts{Numbers: true}).Has("192.0.2.1:80") || (pageserver.Hosts{Numbers: true}).Has("evil.example") {
		t.Error("Numbers adds the addresses, and no name")
	}
}

// TestForeignHostsAreRefused over connections, because the server of net/http has a say in
// what a Host header is.
func TestForeignHostsAreRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(pageserver.Hosts{}.Only(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	defer server.Close()
	for request, want := range map[string]int{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n":                                   200,
		"GET / HTTP/1.1\r\nHost: LOCALHOST.:1\r\n\r\n":                                200,
		"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                421,
		"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n":                421,
		"GET //evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n":                     200,
		"GET / HTTP/1.1\r\nHost:\r\n\r\n":                                             421,
		"GET / HTTP/1.0\r\n\r\n":                                                      421,
		"GET / HTTP/1.1\r\n\r\n":                                                      400,
		"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n":             400,
		"GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Host: evil.example\r\n\r\n": 200,
	} {
		if reply, _ := rawhttp.Send(t, server.URL, request); reply.StatusCode != want {
			t.Errorf("%q: %s, want %d", request, reply.Status, want)
		}
	}
}
