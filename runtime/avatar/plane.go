package avatar

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/control"
	"github.com/agentruntime/agentruntime/runtime/media"
)

// Plane makes the peers of a session. [media.Plane] is the real one; tests put
// their own in its place.
type Plane interface {
	// NewDownlink starts a peer for the avatar's picture and voice: its offer
	// and its TURN allocation are under way when NewDownlink returns.
	NewDownlink(notify func(media.Event)) Downlink
	// NewUplink starts a peer for the microphone, with or without a track.
	NewUplink(notify func(media.Event)) Uplink
	// NewVoice answers the service's offer of the agent's voice in audio mode
	// (wire-protocol §4.11).
	NewVoice(notify func(media.Event)) Voice

	// Microphone is the visitor's; it outlives peers.
	Microphone() Microphone
	// Screen is where the avatar is seen and heard; it outlives peers.
	Screen() Screen

	// Close releases the microphone and the screen.
	Close()
}

// Downlink is one WHEP subscription (wire-protocol §6).
type Downlink interface {
	// Subscribe posts the offer to url and applies the answer. A 404 or 409
	// comes back as [media.Gone].
	Subscribe(ctx context.Context, url string) error
	// Playable waits for the gate of wire-protocol §6.9 and returns the size of
	// the picture, if it is known. Missing is set when it gave up waiting for one.
	Playable(ctx context.Context, recovering bool) (media.Picture, error)
	// Renew closes the peer, releases the viewer, and starts a new peer that
	// can be subscribed again. The tracks will appear in the same streams.
	Renew(ctx context.Context)
	// Stats reports what came in so far.
	Stats(ctx context.Context) (media.Stats, error)
	// Close ends the peer and releases the viewer with a request that outlives
	// the page. It does not wait.
	Close()
}

// Uplink is the peer that carries the microphone (wire-protocol §5).
type Uplink interface {
	// Offer makes an offer; restart asks for new ICE credentials on the same
	// peer (wire-protocol §5.6).
	Offer(ctx context.Context, restart bool) (control.Description, error)
	Answer(ctx context.Context, d control.Description) error
	// AddCandidate may be called before the answer: it is kept until then.
	AddCandidate(c control.ServerCandidate)
	Stats(ctx context.Context) (media.Stats, error)
	// SetBandwidth caps the sender, in kbit/s; 0 removes the cap.
	SetBandwidth(ctx context.Context, kbps int) error
	Close()
}

// Voice is the peer of the audio-mode downlink.
type Voice interface {
	Accept(ctx context.Context, offer control.Description) (control.Description, error)
	AddCandidate(c control.Candidate)
	Close()
}

// Microphone is a capture device behind the track of the uplinks.
type Microphone interface {
	// Start asks for the device and attaches it to the present and later
	// uplinks. A second call while the first waits joins it: one prompt.
	Start(ctx context.Context) error
	// Switch takes another device in place of the present one.
	Switch(ctx context.Context, deviceID string) error
	Started() bool
	// SetEnabled mutes and unmutes; it works before there is a track.
	SetEnabled(on bool)
	// Stop releases the device; a prompt still open is answered in vain.
	Stop()
}

// Screen shows the picture and plays the voice (wire-protocol §6.9,
// session-api D.2).
type Screen interface {
	SetMuted(muted bool)
	SetVolume(v float64)
	// SetOutput chooses the speaker; false if that is refused or unsupported.
	SetOutput(ctx context.Context, deviceID string) bool
	// Resume starts playback again, from a click.
	Resume(ctx context.Context) bool
	// Clear takes the tracks off the elements and keeps the bindings.
	Clear()
}
