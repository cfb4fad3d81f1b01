// Package media carries picture and voice: the WHEP subscription that receives
// the avatar, the peer that sends the microphone, the ICE servers of both, the
// readiness of the picture, and statistics (protocol §5 and §6).
//
// pion/webrtc negotiates in both builds. In a page it drives the browser's
// RTCPeerConnection, and tracks go to elements; natively a microphone is a
// source of Opus samples, and tracks go to [Platform].OnTrack. The package must
// not import anything about turns, the control socket or sessions; what happens
// is reported as [Event]s.
//
// Files without a suffix are the same in both builds. The files _js.go and
// _native.go define the microphone, the renderer, [Platform] and the rest of a
// peer, with the same methods.
package media

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Event is one change of a peer, a device or an element. Events of one peer are
// reported in order; a notify function must not block. A peer that was closed or
// restarted reports nothing more.
type Event struct {
	Kind    EventKind
	Channel event.Channel

	State     string               // ICEState, PeerState: as the browser spells it
	Candidate *signaling.Candidate // Candidate
	Track     Track                // TrackAdded, HardwareMute
	Picture   Picture              // VideoSize
	Phase     Phase                // Milestone: a name of session §A.1.4
	Media     string               // PlaybackBlocked, AttachFailed: "video" or "audio"
	Muted     bool                 // HardwareMute
	Level     float64              // Level: 0 to 1
	Err       error                // AttachFailed, MicEnded
	At        time.Time            // FirstSound, FirstFrame, SourceEnded; Level: the visitor's last sound, zero if none since the level before
	Estimated bool                 // FirstSound, FirstFrame: it was not seen itself

	painted bool // VideoSize: a frame of that size was shown
}

// EventKind determines which fields of an [Event] are set.
type EventKind int

// The kinds of events.
const (
	ICEState        EventKind = iota // the ICE connection state changed
	PeerState                        // the connection state changed, or signalling closed ("closed")
	NoCandidates                     // gathering ended and found nothing (protocol §8.5)
	Candidate                        // a local candidate, to be sent to the service (uplink, voice)
	TrackAdded                       // a remote track arrived
	VideoSize                        // the picture's size is known, once per subscription
	Milestone                        // a phase of the connect timings was reached
	PlaybackBlocked                  // the browser refused to play without a gesture
	AttachFailed                     // a track could not be bound to its element
	MicStarted                       // the microphone is attached
	MicEnded                         // the device is gone or can't be attached; Err is the reason, nil while the page is frozen
	HardwareMute                     // the system or the device muted the microphone, or unmuted it
	Level                            // the level of the microphone
	SourceEnded                      // the source of a native microphone has no more speech
	FirstSound                       // of an utterance is played; natively, it arrived
	FirstFrame                       // of the picture that moves with that sound
)

// Phase is a milestone that this package reports (session §A.1.4).
type Phase string

// The milestones.
const (
	phaseWHEPSent   Phase = "whepSent"
	phaseWHEPAnswer Phase = "whepAnswer"
	phaseFirstTrack Phase = "firstTrack"
	phaseFirstFrame Phase = "firstFrame"
)

// Track is a remote track, or the track of a device that was muted: in a page the
// browser's MediaStreamTrack and its streams, natively pion's TrackRemote.
type Track struct {
	Kind string // "video" or "audio"
	ID   string
	// Native is *webrtc.TrackRemote natively, and the js.Value of the track in
	// a page.
	Native any
	// Streams is the js.Value of the track event's streams in a page.
	Streams any
}

// Picture is the size of the decoded picture in pixels, 0×0 when it is not
// known.
type Picture struct {
	Width  int
	Height int
	// Missing is set when no frame came in time (protocol §6.9).
	Missing bool
}

// Gone reports that the service no longer has the avatar's session, or has
// another viewer on it (protocol §6.6).
type Gone struct {
	Status int // 404 or 409
}

func (g *Gone) Error() string { return fmt.Sprintf("the avatar's session is gone (%d)", g.Status) }

var errMicStopped = fault.New(fault.InvalidState, "the microphone was stopped before it had started; start it again")

// Config has the settings for the peers of a session. The zero value of every field means
// its default.
type Config struct {
	// HTTPClient posts offers and releases viewers. Default: connections that Close closes.
	HTTPClient httpclient.Client
	Limits     signaling.Limits

	// TURNServer is the relay's host, TURNCredentials its login; nil means the fallback
	// login of protocol §6.2.
	TURNServer      string
	TURNCredentials *appinit.TURNCredentials
	// ICEServers replace the servers that are derived from TURNServer.
	ICEServers []ICEServer
	// ICEPolicy is the ICE transport policy of receiving peers, "relay" or "all". Default
	// "relay"; "all" in Firefox, or without ICE servers.
	ICEPolicy string
	// Firefox is whether the browser is Firefox. Default: read from its user agent.
	Firefox *bool

	// AllowPrivateHosts and AllowInsecureTransport are for development.
	AllowPrivateHosts      bool
	AllowInsecureTransport bool

	// VideoCodec, such as "H264" or "VP8", is the only one offered when set.
	VideoCodec string
	// AudioCodec, such as "opus", "G722" or "PCMU", is the only one offered for the voice when set.
	AudioCodec string
	// OnMicrophone receives the events of the microphone, some of which need no peer:
	// MicStarted, MicEnded, HardwareMute, Level. It must not block.
	OnMicrophone func(Event)
	// OnSpeech receives FirstSound and FirstFrame, while [Engine.WatchSpeech] is on. It must not
	// block.
	OnSpeech func(Event)
	// MicBitrate caps the microphone's sender, in kbit/s. 0 is no cap.
	MicBitrate int

	// Log receives diagnostics; nothing in it is secret.
	Log func(level, message string, data map[string]any)

	Platform
}

// Engine makes the peers of one session. Its microphone and its renderer outlive
// peers.
type Engine struct {
	cfg     Config
	mu      sync.Mutex  // guards servers
	servers []ICEServer // replaced, never changed
	policy  string      // of receiving peers
	whep    *whep
	free    func() // closes the connections of whep
	totals  totals
	*microphone
	*renderer
	platformEngine
}

// New returns an Engine. It uses no device and no server yet.
func New(cfg Config) *Engine {
	cfg.Limits = cfg.Limits.WithDefaults()
	if cfg.Log == nil {
		cfg.Log = func(string, string, map[string]any) {}
	}
	if cfg.OnMicrophone == nil {
		cfg.OnMicrophone = func(Event) {}
	}
	if cfg.OnSpeech == nil {
		cfg.OnSpeech = func(Event) {}
	}
	firefox := isFirefox()
	if cfg.Firefox != nil {
		firefox = *cfg.Firefox
	}
	servers, fallback := cfg.iceServers()
	if fallback {
		cfg.Log("warn", "security: the relay is used with the built-in credentials, which are public; pass turnCredentials", nil)
	}
	e := &Engine{cfg: cfg, servers: servers, policy: cfg.subscriberPolicy(servers, firefox)}
	network, free := fetch.Open(cfg.HTTPClient)
	e.whep, e.free = &whep{&e.cfg, network, rand.Float64}, free
	e.begin()
	return e
}

// SetRelayLogin replaces the login to the relay for later peers.
func (e *Engine) SetRelayLogin(c appinit.TURNCredentials) {
	e.mu.Lock()
	defer e.mu.Unlock()
	servers := slices.Clone(e.servers)
	for i, s := range servers {
		if slices.ContainsFunc(s.URLs, func(u string) bool { return strings.HasPrefix(strings.ToLower(u), "turn") }) {
			servers[i].Username, servers[i].Credential = c.Username, c.Credential
		}
	}
	e.servers = servers
}

func (e *Engine) iceServers() []ICEServer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.servers
}

// ICEServer is one STUN or TURN server, as RTCPeerConnection takes it.
type ICEServer struct {
	URLs       []string `json:"urls"`
	Username   string   `json:"username,omitempty"`
	Credential string   `json:"credential,omitempty"`
}

// UnmarshalJSON accepts a single URL too, as RTCPeerConnection does.
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

// String and GoString leave the login out.
func (s ICEServer) String() string { return strings.Join(s.URLs, " ") }

// GoString returns what String does.
func (s ICEServer) GoString() string { return s.String() }

// fallbackCredentials are public (protocol §6.2).
var fallbackCredentials = appinit.TURNCredentials{Username: "kaltura", Credential: "avatar"}

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

// turnURLs expands a relay's host to its four URLs (protocol §6.2). A host
// with a port or a transport becomes one URL, because the expansion would be wrong
// for it.
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

// hasPort reports whether host ends in a port; an IPv6 address has colons too.
func hasPort(host string) bool {
	_, port, found := strings.Cut(host[strings.LastIndex(host, "]")+1:], ":")
	return found && !strings.Contains(port, ":")
}

// withoutQueries returns servers without "?transport=" in their URLs, for WebKit, which may
// refuse it (protocol §6.2).
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

// refusesQueries recognises the exception of a browser that accepts no query in
// TURN URLs.
func refusesQueries(message string) bool {
	return strings.Contains(strings.ToLower(message), "turn url query string")
}

// subscriberPolicy returns the ICE transport policy of receiving peers
// (protocol §6.3). Without any server "relay" would find no candidate.
func (c *Config) subscriberPolicy(servers []ICEServer, firefox bool) string {
	switch {
	case c.ICEPolicy != "":
		return c.ICEPolicy
	case firefox || len(servers) == 0:
		return policyAll
	}
	return policyRelay
}
