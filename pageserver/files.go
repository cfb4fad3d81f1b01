package pageserver

import (
	"cmp"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// mediaTypes are the types of files that pages load; a file of another type is not served.
// They are fixed, because the system's tables differ: a browser compiles WebAssembly during
// the download only with exactly this type. Types that also sources and settings have, such
// as .json and .txt, are left out.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".map": "application/json", ".wasm": "application/wasm", ".woff2": "font/woff2",
	".ico": "image/vnd.microsoft.icon", ".jpg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml", ".webp": "image/webp",
	".mp3": "audio/mpeg", ".ogg": "audio/ogg", ".wav": "audio/wav",
}

// encodings are the content encodings of compressed copies beside a file, the smallest
// first.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// index is the file that is served for a directory.
const index = "index.html"

// Files serves the files of pages, to GET and HEAD. It answers 404 to everything else:
// files outside Paths, of other types than pages load (.go, .json, .txt, …), with a name
// that begins with a dot or in such a directory, directories without an index.html, and
// whatever a symbolic link leads to. A path with "..", a backslash or an encoded slash is
// not resolved but answered with 404 too.
//
// If there is a copy with the ending .br or .gz beside a file, it is sent to browsers that
// accept it.
type Files struct {
	// FS has the files. Use [os.Root.FS] for a directory.
	FS fs.FS
	// Paths are the files and directories in FS that may be served, as in "js/dist"; "."
	// is all of FS. Without any, nothing is served.
	Paths []string
	// Policy is the Content-Security-Policy of every file, if not "".
	Policy string
}

// ServeHTTP implements [http.Handler].
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name, ok := fileName(r.URL)
	if !ok {
		http.NotFound(w, r)
		return
	}
	inside := strings.HasSuffix(r.URL.Path, "/") || r.URL.Path == "" // of a directory
	if page := path.Join(name, index); inside {
		name = page
	} else if f.has(page) {
		// Relative, because the handler may be mounted below a prefix.
		w.Header().Set("Location", (&url.URL{Path: "./" + path.Base(name) + "/", RawQuery: r.URL.RawQuery}).String())
		w.WriteHeader(http.StatusMovedPermanently)
		return
	}
	if !f.has(name) {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	if f.Policy != "" {
		h.Set("Content-Security-Policy", f.Policy)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache") // the files change while a page is developed
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Type", mediaTypes[path.Ext(name)])
	for _, e := range encodings {
		if accepts(r, e.name) && r.Header.Get("Range") == "" && f.isFile(name+e.suffix) {
			h.Set("Content-Encoding", e.name)
			f.send(w, r, name+e.suffix)
			return
		}
	}
	f.send(w, r, name)
}

// fileName returns the name in a file system of what a request asks for, if it can be the
// name of a page's file or directory.
func fileName(u *url.URL) (string, bool) {
	// A proxy may have decided by a path in which an encoded slash was part of a name.
	if raw := strings.ToLower(u.RawPath); strings.Contains(raw, "%2f") {
		return "", false
	}
	name := cmp.Or(strings.TrimSuffix(strings.TrimPrefix(u.Path, "/"), "/"), ".")
	odd := func(c rune) bool { return c < ' ' || c == '\\' || c == 0x7f }
	if !fs.ValidPath(name) || strings.ContainsFunc(name, odd) {
		return "", false
	}
	return name, name == "." || !strings.Contains("/"+name, "/.")
}

// has reports whether a file may be served, and exists.
func (f *Files) has(name string) bool {
	listed := slices.ContainsFunc(f.Paths, func(p string) bool {
		return p == "." || name == p || strings.HasPrefix(name, p+"/")
	})
	return listed && mediaTypes[path.Ext(name)] != "" && f.isFile(name)
}

// isFile reports whether name is a regular file that is reached without symbolic links,
// which may lead out of Paths.
func (f *Files) isFile(name string) bool {
	for i, c := range name {
		if c == '/' {
			if info, err := fs.Lstat(f.FS, name[:i]); err != nil || !info.IsDir() {
				return false
			}
		}
	}
	info, err := fs.Lstat(f.FS, name)
	return err == nil && info.Mode().IsRegular()
}

func (f *Files) send(w http.ResponseWriter, r *http.Request, name string) {
	file, err := f.FS.Open(name)
	if err != nil { // deleted since
		http.NotFound(w, r)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	content, ok := file.(io.ReadSeeker)
	if err != nil || !ok {
		http.Error(w, "the file can't be read", http.StatusInternalServerError)
		return
	}
	http.ServeContent(w, r, name, info.ModTime(), content)
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
