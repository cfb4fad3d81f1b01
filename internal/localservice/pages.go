package localservice

import (
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
)

// encodings are those in which a file may lie beside itself, the smallest first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// mediaTypes are fixed, because the system's tables differ: a browser compiles
// WebAssembly while it loads only with exactly this type.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".map": "application/json", ".mjs": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".wasm": "application/wasm",
}

// pages serves the files of a page, under a content policy as strict as a page
// with WebAssembly can have it, so that whatever breaks under one breaks here
// first.
type pages struct {
	files fs.FS
	csp   string
}

// contentPolicy lets a page load code from where it lies and talk to origin, the
// service's own, under whatever name the page itself was opened.
func contentPolicy(origin string) string {
	socket := "ws" + strings.TrimPrefix(origin, "http")
	return strings.Join([]string{
		"default-src 'self'",
		"script-src 'self' 'wasm-unsafe-eval'",
		"style-src 'self' 'unsafe-inline'",
		"img-src 'self' data: blob: " + origin,
		"media-src 'self' blob:",
		"connect-src 'self' " + origin + " " + socket,
		"object-src 'none'",
		"base-uri 'none'",
	}, "; ")
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if name == "" {
		name = "."
	}
	if info, err := fs.Stat(p.files, name); err == nil && info.IsDir() {
		if !strings.HasSuffix(r.URL.Path, "/") {
			http.Redirect(w, r, path.Clean("/"+name)+"/", http.StatusMovedPermanently)
			return
		}
		name = path.Join(name, "index.html")
	}
	h := w.Header()
	h.Set("Content-Security-Policy", p.csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache") // ask each time: what is served here is being worked on
	h.Set("Vary", "Accept-Encoding")
	if kind := mediaType(name); kind != "" {
		h.Set("Content-Type", kind)
	}
	accepted := acceptedEncodings(r)
	for _, e := range encodings {
		if slices.Contains(accepted, e.name) && r.Header.Get("Range") == "" && p.serve(w, r, name+e.suffix, e.name) {
			return
		}
	}
	if !p.serve(w, r, name, "") {
		h.Del("Content-Type")
		http.NotFound(w, r)
	}
}

// serve writes a file, and reports whether there is one.
func (p *pages) serve(w http.ResponseWriter, r *http.Request, name, encoding string) bool {
	f, err := p.files.Open(name)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrInvalid) {
			http.Error(w, "the file can't be read", http.StatusInternalServerError)
			return true
		}
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	content, seekable := f.(io.ReadSeeker)
	if err != nil || info.IsDir() || !seekable {
		return false
	}
	if encoding != "" {
		w.Header().Set("Content-Encoding", encoding)
	}
	http.ServeContent(w, r, name, info.ModTime(), content)
	return true
}

func mediaType(name string) string {
	extension := path.Ext(name)
	if kind, ok := mediaTypes[extension]; ok {
		return kind
	}
	return mime.TypeByExtension(extension)
}

// acceptedEncodings are the names in Accept-Encoding that are not refused by a
// weight of zero.
func acceptedEncodings(r *http.Request) []string {
	var names []string
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		weight = strings.ReplaceAll(weight, " ", "")
		if weight != "q=0" && weight != "q=0.0" && weight != "q=0.00" && weight != "q=0.000" {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}
