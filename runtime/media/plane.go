package media

import (
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/control"
)

// Config says how the peers of a session are made. Client and Sender are
// required; the zero value of everything else is its default.
type Config struct {
	Client fetch.Client // posts offers
	Sender fetch.Sender // releases viewers, also from a page that goes away
	Limits control.Limits

	// TURNServer is the relay's host, TURNCredentials its login: the fallback
	// pair of wire-protocol §6.2 when nil.
	TURNServer      string
	TURNCredentials *Credentials
	// ICEServers replace what TURNServer would give.
	ICEServers []ICEServer
	// ICEPolicy is "relay" or "all" for the downlink. Default "relay"; "all" in
	// Firefox, or without ICE servers.
	ICEPolicy string
	// Firefox says that the browser is one. Default: what it says itself.
	Firefox *bool

	// AllowPrivateHosts and AllowInsecureTransport are for development.
	AllowPrivateHosts      bool
	AllowInsecureTransport bool

	// VideoCodec, such as "H264" or "VP8", is the only one offered when set.
	VideoCodec string
	// MicBitrate caps the microphone's sender, in kbit/s. 0 is no cap.
	MicBitrate int

	// Log receives diagnostics; nothing in it is secret.
	Log func(level, message string, data map[string]any)

	// Platform is what the build's own platform needs.
	Platform
}

// Plane makes the peers of one session and owns its microphone and its screen.
type Plane struct {
	cfg         Config
	servers     []ICEServer
	policy      string // of the downlink
	whep        *whep
	mic         *Microphone
	screen      *Screen
	housekeeper // what must end with the plane
}

// NewPlane returns a Plane. Nothing is asked of any device or server yet.
func NewPlane(cfg Config) *Plane {
	cfg.Limits = cfg.Limits.WithDefaults()
	if cfg.Log == nil {
		cfg.Log = func(string, string, map[string]any) {}
	}
	firefox := isFirefox()
	if cfg.Firefox != nil {
		firefox = *cfg.Firefox
	}
	servers, fallback := cfg.iceServers()
	if fallback {
		cfg.Log("warn", "security: the relay is used with the built-in credentials that everybody knows; pass turnCredentials", nil)
	}
	p := &Plane{cfg: cfg, servers: servers, policy: cfg.downlinkPolicy(servers, firefox)}
	p.whep = &whep{
		client: cfg.Client, sender: cfg.Sender, limits: cfg.Limits, log: cfg.Log,
		rules: addressRules{allowPrivate: cfg.AllowPrivateHosts, allowInsecure: cfg.AllowInsecureTransport},
	}
	p.begin()
	return p
}

// Microphone returns the visitor's microphone; it outlives peers.
func (p *Plane) Microphone() *Microphone { return p.mic }

// Screen returns where the avatar is seen and heard; it outlives peers.
func (p *Plane) Screen() *Screen { return p.screen }
