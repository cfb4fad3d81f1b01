// Package media carries picture and voice: the WHEP subscription that receives
// the avatar, the peer that sends the microphone, the ICE servers of both, the
// playable gate, and statistics (wire-protocol §5 and §6).
//
// In a page it works with the browser's own RTCPeerConnection, elements and
// devices; natively pion does the same work, a microphone is a source of Opus
// samples, and what arrives is handed on as tracks. It must not know turns,
// the control socket, or the state of a session; it tells its owner what
// happens through [Event]s and does what it is told.
//
// Files without a suffix are the same in both builds: what is posted, when, and
// what an answer means. The halves, _js.go and _native.go, define the types
// peer, [Microphone], [Screen] and [Platform] with the same methods.
package media

import (
	"fmt"

	"github.com/agentruntime/agentruntime/runtime/control"
)

// Channel names a peer in events (wire-protocol §8.5).
type Channel string

// The channels.
const (
	ChannelASR   Channel = "asr"   // the microphone's uplink
	ChannelSTV   Channel = "stv"   // the avatar's downlink
	ChannelVoice Channel = "voice" // the agent's voice in audio mode
)

// Event is one thing that happened to a peer, a device or an element. Events of
// one peer come in order; the owner's notify function must not block. What a
// peer says after it was closed or renewed is not passed on.
type Event struct {
	Kind    EventKind
	Channel Channel

	State     string             // ICEState, PeerState: as the browser spells it
	Candidate *control.Candidate // Candidate
	Track     Track              // TrackAdded, HardwareMute
	Picture   Picture            // VideoSize
	Mark      string             // Milestone: a phase name of session-api A.1.4
	Media     string             // PlaybackBlocked, AttachFailed: "video" or "audio"
	Muted     bool               // HardwareMute
	Level     float64            // Level: 0 to 1
	Err       error              // AttachFailed, MicEnded

	painted bool // VideoSize: a frame of that size was really shown
}

// EventKind tells which fields of an [Event] count.
type EventKind int

// The kinds of events.
const (
	ICEState        EventKind = iota // the ICE connection state changed
	PeerState                        // the connection state changed, or signalling closed ("closed")
	NoCandidates                     // gathering ended and found nothing (wire-protocol §8.5)
	Candidate                        // a local candidate to send on (uplink, voice)
	TrackAdded                       // a remote track arrived
	VideoSize                        // the picture's size is known, once per subscription
	Milestone                        // a phase of the connect timings was reached
	PlaybackBlocked                  // the browser refused to play without a gesture
	AttachFailed                     // a track could not be bound to its element
	MicStarted                       // the microphone is attached
	MicEnded                         // the device went away by itself; Err says why
	HardwareMute                     // the system or the device muted the microphone, or unmuted it
	Level                            // the level of the microphone
)

// The milestones that this package reports (session-api A.1.4).
const (
	markWHEPSent   = "whepSent"
	markWHEPAnswer = "whepAnswer"
	markFirstTrack = "firstTrack"
	markFirstFrame = "firstFrame"
)

// Track is a remote track, or the device's that was muted: in a page the
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
	Width  int `json:"videoWidth"`
	Height int `json:"videoHeight"`
	// Missing is set when the first frame was waited for in vain
	// (wire-protocol §6.9).
	Missing bool `json:"-"`
}

// Gone reports that the service no longer has the avatar's session, or has
// another viewer on it (wire-protocol §6.6).
type Gone struct {
	Status int // 404 or 409
}

func (g *Gone) Error() string { return fmt.Sprintf("the avatar's session is gone (%d)", g.Status) }

// Devices are the microphones and speakers that can be chosen
// (session-api A.1.3, listDevices).
type Devices struct {
	Mics     []Device `json:"mics"`
	Speakers []Device `json:"speakers"`
}

// Device is one of them. A browser hides the label until the microphone is
// permitted.
type Device struct {
	ID      string `json:"deviceId"`
	Label   string `json:"label"`
	GroupID string `json:"groupId"`
}
