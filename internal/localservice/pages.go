package localservice

import (
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// encodings are the content encodings of compressed copies beside a file, the
// smallest first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// mediaTypes are fixed, because the system's tables differ: a browser compiles
// WebAssembly during the download only with exactly this type.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".map": "application/json", ".mjs": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".wasm": "application/wasm",
}

// pages serves the files of a page, under a strict Content-Security-Policy that
// permits WebAssembly.
type pages struct {
	files fs.FS
	csp   string
}

// contentPolicy lets a page load code from its own origin and connect to origin, the
// service's, even if the page was opened under another host name.
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
	h.Set("Cache-Control", "no-cache") // the files change while a page is developed
	h.Set("Vary", "Accept-Encoding")
	if kind := mediaType(name); kind != "" {
		h.Set("Content-Type", kind)
	}
	for _, e := range encodings {
		if accepts(r, e.name) && r.Header.Get("Range") == "" && p.has(name+e.suffix) {
			h.Set("Content-Encoding", e.name)
			http.ServeFileFS(w, r, p.files, name+e.suffix)
			return
		}
	}
	if !p.has(name) {
		h.Del("Content-Type")
		http.NotFound(w, r)
		return
	}
	http.ServeFileFS(w, r, p.files, name)
}

// has reports whether name exists and is not a directory.
func (p *pages) has(name string) bool {
	info, err := fs.Stat(p.files, name)
	return err == nil && !info.IsDir()
}

func mediaType(name string) string {
	extension := path.Ext(name)
	if kind, ok := mediaTypes[extension]; ok {
		return kind
	}
	return mime.TypeByExtension(extension)
}

// accepts reports whether Accept-Encoding lists the encoding, and not with a weight
// of zero.
func accepts(r *http.Request, encoding string) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == encoding {
			return weight == "" || strings.Trim(weight, "q=0. ") != ""
		}
	}
	return false
}
