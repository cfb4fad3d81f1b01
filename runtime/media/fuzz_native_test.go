//go:build !js

package media

import (
	"net/url"
	"strings"
	"testing"
)

// Whatever a server writes, a private host gets no DELETE.
func FuzzReleaseURL(f *testing.F) {
	for _, location := range []string{
		"/whep/session/s/viewer/v", "http://127.0.0.1/x", "?a=b", "//10.0.0.1/", "https://0x7f.1/viewer/", "://", "\x00", "/viewer/../..",
	} {
		f.Add(location)
	}
	w := &whep{Config: &Config{Log: func(string, string, map[string]any) {}}}
	f.Fuzz(func(t *testing.T, location string) {
		v, err := w.viewerAt(sessionURL, location)
		if v == nil || err != nil {
			return
		}
		u, err := url.Parse(v.url)
		if err != nil || u.Scheme != "https" || privateHost(u.Hostname()) {
			t.Errorf("%q leads to %q", location, v.url)
		}
		if strings.HasPrefix(location, "/whep/session/s/viewer/") && u.Host != "edge.example" {
			t.Errorf("%q leads away to %q", location, v.url)
		}
	})
}
