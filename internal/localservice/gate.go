package localservice

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/pageserver"
)

// gate refuses requests that a browser sends for pages of other sites: those with a
// host name that is not the service's, such as one that another site has pointed at
// this machine (DNS rebinding), and those from an origin that is not allowed.
type gate struct {
	hosts   pageserver.Hosts
	origins []string // beside those of the hosts, as "https://page.example"; "*" is every page
}

// loopback accepts only requests to loopback hosts, from programs or pages on them.
var loopback = &gate{}

func newGate(o *Options) *gate {
	g := &gate{hosts: pageserver.Hosts{Names: slices.Clone(o.AllowHosts), Numbers: o.AllowPublic}}
	for _, origin := range o.AllowOrigins {
		g.origins = append(g.origins, strings.ToLower(strings.TrimSuffix(origin, "/")))
	}
	if u, err := url.Parse(o.PublicURL); err == nil && u.Host != "" {
		g.hosts.Names = append(g.hosts.Names, u.Hostname())
	}
	return g
}

func (g *gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.hosts.Has(r.Host):
			http.Error(w, "this service has another host name; -allow-host adds one", http.StatusMisdirectedRequest)
		case !g.isOrigin(r.Header.Get("Origin")):
			http.Error(w, "pages of this origin may not use the service; -allow-origin adds one", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isOrigin reports whether pages of an origin may call; programs send none. "null" is
// no origin of the service, because any site can make its pages send it.
func (g *gate) isOrigin(origin string) bool {
	if origin == "" || slices.Contains(g.origins, "*") || slices.Contains(g.origins, strings.ToLower(origin)) {
		return true
	}
	u, err := url.Parse(origin) // that of a page under one of the hosts
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && g.hosts.Has(u.Host)
}
