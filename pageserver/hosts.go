package pageserver

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Hosts are the host names of a server. Without a check of them, a page of any site can
// use a server on a private address, by a name of its own that it lets resolve to that
// address (DNS rebinding). The names of loopback, localhost and names below it, are always
// among them.
type Hosts struct {
	// Names are further names or addresses, without a port, as in "shop.example".
	Names []string
	// Numbers adds every IP address, for a server that other machines reach by its number.
	Numbers bool
}

// Has reports whether a Host header names the server. Upper and lower case, a port and the
// dot at the end of a complete name make no difference.
func (h Hosts) Has(host string) bool {
	u, err := url.Parse("http://" + host)
	if err != nil || u.Host != host || host == "" {
		return false
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	same := func(other string) bool { return strings.EqualFold(strings.TrimSuffix(other, "."), name) }
	if slices.ContainsFunc(h.Names, same) {
		return true
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return h.Numbers || ip.Unmap().IsLoopback()
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// Only passes requests under the server's own names to next, and refuses the others with
// 421 (Misdirected Request).
func (h Hosts) Only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !h.Has(r.Host) {
			http.Error(w, "this server has another host name", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
