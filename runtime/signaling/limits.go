package signaling

import (
	"time"

	"github.com/agentruntime/agentruntime/internal/options"
)

// Limits are the time limits of a live session, each of which can be replaced
// (protocol §2.2; session §A.1.2).
type Limits struct {
	// Overall bounds a whole connect, a cold rebuild, or the rebuild after an
	// expired pause. Its deadline is fixed once, when the handshake starts.
	Overall time.Duration `json:"overall" default:"30s"`

	// ServerConnect bounds the time from opening the socket to the event onServerConnected.
	ServerConnect time.Duration `json:"serverConnect" default:"10s"`
	// JoinRoom bounds the time from the event join to clientConfiguration.
	JoinRoom time.Duration `json:"joinRoom" default:"5s"`
	// JoinComplete bounds the time from the event join to joinComplete.
	JoinComplete time.Duration `json:"joinComplete" default:"20s"`
	// Agent bounds the wait for each of the events showAgent and askPermissions.
	Agent time.Duration `json:"agent" default:"10s"`
	// ASR bounds the wait for each of the events asr-webrtc-ready and asr-webrtc-answer, also for
	// the latter after an ICE restart, and the answer to an offer of the voice in audio mode.
	ASR time.Duration `json:"asr" default:"30s"`

	// FirstFrame bounds the time from the media answer to the first painted frame.
	FirstFrame time.Duration `json:"firstFrame" default:"6s"`
	// PrepareIdle is the life of a prepared socket that is not used.
	PrepareIdle time.Duration `json:"prepareIdle" default:"60s"`

	// WHEPTry bounds one WHEP POST with its body.
	WHEPTry time.Duration `json:"whepTry" default:"5s"`
	// WHEPTries is the number of WHEP POSTs before a subscription fails.
	WHEPTries int `json:"whepTries" default:"3"`
	// WHEPBackoff is the average wait between them.
	WHEPBackoff time.Duration `json:"whepBackoff" default:"1s"`
	// WHEPRelease bounds one WHEP DELETE.
	WHEPRelease time.Duration `json:"whepRelease" default:"3s"`

	// Recover bounds one recovery of the avatar's peer, and the wait for the confirmation of a
	// resume that the service has announced.
	Recover time.Duration `json:"recover" default:"15s"`
	// MediaLost bounds the time without a picture despite repairs and a rebuild; the session
	// then ends with media_recover_failed.
	MediaLost time.Duration `json:"mediaLost" default:"2m"`
	// HealthTick is the interval between checks of the peers.
	HealthTick time.Duration `json:"healthTick" default:"1s"`
	// VideoStall is how long no new video bytes may arrive before the picture is repaired.
	VideoStall time.Duration `json:"videoStall" default:"4s"`

	// ColdAttempts is the number of full rebuilds before the session gives up.
	ColdAttempts int `json:"coldAttempts" default:"2"`
	// ColdBackoff is the average wait between full rebuilds.
	ColdBackoff time.Duration `json:"coldBackoff" default:"500ms"`
}

// WithDefaults returns l with the default of protocol §2.2 in place of every
// zero. It reports no error, because a session checks its limits earlier.
func (l Limits) WithDefaults() Limits {
	_ = options.Complete(&l)
	return l
}
