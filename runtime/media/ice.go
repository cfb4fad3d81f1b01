package media

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// ICEServer is one STUN or TURN server, as RTCPeerConnection takes it.
type ICEServer struct {
	URLs       []string `json:"urls"`
	Username   string   `json:"username,omitempty"`
	Credential string   `json:"credential,omitempty"`
}

// UnmarshalJSON takes a single URL too, as RTCPeerConnection does.
func (s *ICEServer) UnmarshalJSON(b []byte) error {
	type plain ICEServer
	var one struct {
		plain
		URLs json.RawMessage `json:"urls"`
	}
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*s = ICEServer(one.plain)
	var url string
	if json.Unmarshal(one.URLs, &url) == nil && url != "" {
		s.URLs = []string{url}
		return nil
	}
	return json.Unmarshal(one.URLs, &s.URLs)
}

// Credentials log in to the relay (wire-protocol §1.4).
type Credentials struct {
	Username   string `json:"username"`
	Credential string `json:"credential"`
	Expiry     int64  `json:"expiry,omitempty"` // seconds since 1970
}

// String and GoString keep the login out of logs.
func (Credentials) String() string { return fault.Redacted }

// GoString returns what String does.
func (Credentials) GoString() string { return fault.Redacted }

// String and GoString leave the login out.
func (s ICEServer) String() string { return strings.Join(s.URLs, " ") }

// GoString returns what String does.
func (s ICEServer) GoString() string { return s.String() }

// fallbackCredentials are known to everybody (wire-protocol §6.2).
var fallbackCredentials = Credentials{Username: "kaltura", Credential: "avatar"}

// The ICE transport policies.
const (
	policyRelay = "relay"
	policyAll   = "all"
)

// iceServers returns the ICE servers of both peers, and whether the fallback
// credentials are in them.
func (c *Config) iceServers() (servers []ICEServer, fallback bool) {
	if len(c.ICEServers) > 0 {
		return c.ICEServers, false
	}
	urls := turnURLs(c.TURNServer)
	if urls == nil {
		return nil, false
	}
	login := fallbackCredentials
	if c.TURNCredentials != nil {
		login = *c.TURNCredentials
	}
	return []ICEServer{{URLs: urls, Username: login.Username, Credential: login.Credential}}, c.TURNCredentials == nil
}

// turnURLs expands a relay's host to its four URLs (wire-protocol §6.2). A host
// that names a port or a transport is one URL as it stands: the expansion would
// be wrong for it.
func turnURLs(server string) []string {
	host := strings.TrimSuffix(strings.TrimSpace(server), "/")
	scheme := "turn:"
	for _, prefix := range []string{"turn:", "turns:"} {
		if len(host) >= len(prefix) && strings.EqualFold(host[:len(prefix)], prefix) {
			scheme, host = prefix, host[len(prefix):]
			break
		}
	}
	host = strings.TrimPrefix(host, "//")
	if host == "" {
		return nil
	}
	if strings.Contains(host, "?") || hasPort(host) {
		return []string{scheme + host}
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]" // IPv6
	}
	return []string{
		"turn:" + host + ":80?transport=udp",
		"turn:" + host + ":443?transport=udp",
		"turn:" + host + ":80?transport=tcp",
		"turns:" + host + ":443?transport=tcp",
	}
}

// hasPort tells a port from the colons of an IPv6 address.
func hasPort(host string) bool {
	_, port, found := strings.Cut(host[strings.LastIndex(host, "]")+1:], ":")
	return found && !strings.Contains(port, ":")
}

// withoutQueries is what WebKit accepts when it refuses "?transport="
// (wire-protocol §6.2).
func withoutQueries(servers []ICEServer) []ICEServer {
	plain := make([]ICEServer, len(servers))
	for i, s := range servers {
		plain[i] = s
		plain[i].URLs = make([]string, len(s.URLs))
		for k, u := range s.URLs {
			plain[i].URLs[k], _, _ = strings.Cut(u, "?")
		}
	}
	return plain
}

// refusesQueries recognises the exception of a browser that wants no query in
// TURN URLs.
func refusesQueries(message string) bool {
	return strings.Contains(strings.ToLower(message), "turn url query string")
}

// downlinkPolicy is the ICE transport policy of what we receive
// (wire-protocol §6.3). Without any server "relay" would find no candidate at
// all, so that nothing could ever connect.
func (c *Config) downlinkPolicy(servers []ICEServer, firefox bool) string {
	switch {
	case c.ICEPolicy != "":
		return c.ICEPolicy
	case firefox || len(servers) == 0:
		return policyAll
	}
	return policyRelay
}
