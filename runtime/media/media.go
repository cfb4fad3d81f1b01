// Package media carries picture and voice: the WHEP subscription that receives
// the avatar, the peer that sends the microphone, the ICE servers of both, the
// playable gate, and statistics (wire-protocol §5 and §6).
//
// In a page it works with the browser's own RTCPeerConnection, elements and
// devices; natively pion does the same work, a microphone is a source of Opus
// samples, and what arrives is handed on as tracks. It must not know turns,
// the control socket, or the state of a session; it tells its owner what
// happens through [Event]s and does what it is told.
package media

import "fmt"

// Channel names a peer in events (wire-protocol §8.5).
type Channel string

// The channels.
const (
	ChannelASR Channel = "asr" // the microphone's uplink
	ChannelSTV Channel = "stv" // the avatar's downlink
)

// Event is one thing that happened to a peer, a device or an element. Events of
// one peer come in order; the owner's notify function must not block.
type Event struct {
	Kind    EventKind
	Channel Channel

	State     string          // ICEState, PeerState: as the browser spells it
	Candidate *LocalCandidate // Candidate
	Track     Track           // TrackAdded
	Picture   Picture         // VideoSize
	Mark      string          // Milestone: a phase name of session-api A.1.4
	Media     string          // PlaybackBlocked, AttachFailed: "video" or "audio"
	Muted     bool            // HardwareMute
	Level     float64         // Level: 0 to 1
	Err       error           // AttachFailed
}

// EventKind tells which fields of an [Event] count.
type EventKind int

// The kinds of events.
const (
	ICEState        EventKind = iota // the ICE connection state changed
	PeerState                        // the connection state changed, or signalling closed ("closed")
	NoCandidates                     // gathering ended and found nothing (wire-protocol §8.5)
	Candidate                        // a local candidate to send on (uplink)
	TrackAdded                       // a remote track arrived
	VideoSize                        // the picture's size is known
	Milestone                        // a phase of the connect timings was reached
	PlaybackBlocked                  // the browser refused to play without a gesture
	AttachFailed                     // a track could not be bound to its element
	MicStarted                       // the microphone is attached
	HardwareMute                     // the system or the device muted the microphone, or unmuted it
	Level                            // the level of the microphone
)

// LocalCandidate is a candidate in the form the control plane sends it
// (wire-protocol §5.2).
type LocalCandidate struct {
	Candidate        string
	SDPMid           *string
	SDPMLineIndex    *uint16
	UsernameFragment *string
}

// Track is a remote track: in a page the browser's MediaStreamTrack and its
// streams, natively pion's TrackRemote.
type Track struct {
	Kind string // "video" or "audio"
	ID   string
	// Native is *webrtc.TrackRemote natively, and the js.Value of the track in
	// a page.
	Native any
	// Streams is the js.Value of the track event's streams in a page.
	Streams any
}

// Picture is the size of the decoded picture in pixels.
type Picture struct {
	Width  int `json:"videoWidth"`
	Height int `json:"videoHeight"`
}

// Stats is what one peer has carried (session-api A.1.5, connectionQuality).
type Stats struct {
	// Known is false while the peer reports nothing to judge by.
	Known bool
	// VideoBytes and AudioBytes count what came in, or went out on the uplink.
	VideoBytes, AudioBytes uint64
	FramesDecoded          uint64
	RTTMs                  float64 // round trip of the selected pair, milliseconds
	PacketsLost            int64
	Packets                uint64
	JitterMs               float64 // milliseconds
	// Path is the kind of the selected local candidate: host, srflx, relay.
	Path string
}

// Gone reports that the service no longer has the avatar's session, or has
// another viewer on it (wire-protocol §6.6).
type Gone struct {
	Status int // 404 or 409
}

func (g *Gone) Error() string { return fmt.Sprintf("the avatar's session is gone (%d)", g.Status) }

// ICEServer is one STUN or TURN server, as RTCPeerConnection takes it.
type ICEServer struct {
	URLs       []string `json:"urls"`
	Username   string   `json:"username,omitempty"`
	Credential string   `json:"credential,omitempty"`
}

// Credentials log in to the relay (wire-protocol §1.4).
type Credentials struct {
	Username   string `json:"username"`
	Credential string `json:"credential"`
	Expiry     int64  `json:"expiry,omitempty"` // seconds since 1970
}
