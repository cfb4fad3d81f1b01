package localservice

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/api"
)

// Info describes a running service: its addresses, credentials and agents. It is what
// -json prints; the bases have the form of the region table (protocol §1.1).
type Info struct {
	Page string `json:"page"` // "" when no pages are served

	Bases
	MessagingURL string `json:"messagingUrl"`
	api.Hosts           // without credentials

	PartnerID   int64  `json:"partnerId"`
	AdminSecret string `json:"adminSecret"` // mints tokens; must not reach a page

	// CertificateHash is that of Options.Certificate, as the function of this name returns it; "" without TLS.
	CertificateHash string `json:"certificateHash,omitempty"`

	ControlURL   string `json:"controlUrl"`
	ControlToken string `json:"controlToken"` // for Authorization: Bearer

	pageControl string // path of the control API for the service's own pages; "" when they may not use it

	Agents []AgentInfo `json:"agents"` // as of the start
}

// Bases are the base addresses of the service, options for the runtime's appInit.
type Bases struct {
	AgenticURL string `json:"agenticUrl"`
	GenieURL   string `json:"genieUrl"`
	OVPURL     string `json:"ovpUrl"`
}

// AgentInfo contains the names and every id by which clients refer to an agent.
type AgentInfo struct {
	Name        string `json:"name"`        // of a built-in agent, as in "receptionist", else the display name
	DisplayName string `json:"displayName"` // what people call it
	AgentID     string `json:"agentId"`
	ConfigID    int64  `json:"configId"`
	WidgetID    string `json:"widgetId"`
}

// Agent returns the agent with that name.
func (i *Info) Agent(name string) (AgentInfo, bool) {
	for _, a := range i.Agents {
		if a.Name == name {
			return a, true
		}
	}
	return AgentInfo{}, false
}

// PageInfo is the information for a page that the service serves: the agents, and
// the options of sessions with them.
type PageInfo struct {
	Addresses Bases `json:"addresses"`
	// Session are options for every session.
	Session struct {
		AllowPrivateHosts bool `json:"allowPrivateHosts"` // the media are on loopback
	} `json:"session"`
	PartnerID int64       `json:"partnerId"`
	Agents    []AgentInfo `json:"agents"`
	// Control is the path of the control API, when pages may use it.
	Control string `json:"control,omitempty"`
}

// pageInfo is the part of i without secrets and without agents.
func (i *Info) pageInfo() PageInfo {
	p := PageInfo{Addresses: i.Bases, PartnerID: i.PartnerID, Control: i.pageControl}
	p.Session.AllowPrivateHosts = true
	return p
}

// setBases fills in the addresses that are derived from the origin.
func (i *Info) setBases(origin string) {
	i.AgenticURL = origin + "/v1"
	i.GenieURL = origin
	i.OVPURL = origin + api.SessionPrefix
	i.MessagingURL = origin + "/v1"
	i.ConversationManagerURL = origin
	i.SRSBaseURL = origin
}

// setAccounts fills in the partner and its agents.
func (s *Service) setAccounts(ctx context.Context) error {
	partners, err := s.store.Partners(ctx)
	if err != nil {
		return err
	}
	if len(partners) == 0 {
		return errors.New("the store has no partner")
	}
	s.info.PartnerID, s.info.AdminSecret = partners[0].ID, partners[0].Secret
	s.info.Agents, err = s.agents(ctx)
	return err
}

// agents returns the partner's current agents.
func (s *Service) agents(ctx context.Context) ([]AgentInfo, error) {
	stored, err := s.store.Agents(ctx, s.info.PartnerID)
	agents := make([]AgentInfo, len(stored))
	for i, a := range stored {
		agents[i] = AgentInfo{Name: a.Name, DisplayName: a.Profile.DisplayName, AgentID: a.ID, ConfigID: a.ConfigID, WidgetID: a.WidgetID}
	}
	return agents, err
}

// Ports of the four-URL expansion (protocol §6.2).
const (
	turnPort    = 80
	turnTLSPort = 443
)

// turnServer is the address of the relay for clients of base: its host alone when it listens
// on the ports of the four-URL expansion, otherwise with its port.
func (s *Service) turnServer(base string) string {
	var host string
	found := map[int]bool{}
	for _, addr := range slices.Backward(s.relay.Addrs()) {
		host = addr.Addr().String()
		if u, err := url.Parse(base); err == nil && addr.Addr().IsUnspecified() { // every interface has the relay
			host = u.Hostname()
		}
		found[int(addr.Port())] = true
	}
	if found[turnPort] && found[turnTLSPort] {
		return "turn:" + host
	}
	return "turn:" + net.JoinHostPort(host, strconv.Itoa(int(s.relay.Addrs()[0].Port())))
}

// origin returns the URL of a listener, with 127.0.0.1 for one that listens on all
// interfaces. The scheme is http, or https.
func origin(scheme string, l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return scheme + "://" + l.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	standard := map[string]string{"http": ":80", "https": ":443"}[scheme]
	return strings.TrimSuffix(scheme+"://"+net.JoinHostPort(host, port), standard)
}
