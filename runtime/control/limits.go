package control

import "time"

// Limits are the time limits of a live session, all of them overridable
// (wire-protocol §2.2; session-api A.1.2 gives the option names).
type Limits struct {
	// Overall bounds a whole connect, a cold rebuild, or the rebuild after an
	// expired pause. Its deadline is fixed once, when the handshake starts.
	Overall time.Duration `json:"overall"`

	ServerConnect time.Duration `json:"serverConnect"` // socket opened to ServerConnected
	JoinRoom      time.Duration `json:"joinRoom"`      // Join to ClientConfig
	JoinComplete  time.Duration `json:"joinComplete"`  // Join to JoinComplete
	Agent         time.Duration `json:"agent"`         // each of ShowAgent and AskPermissions
	ASR           time.Duration `json:"asr"`           // each of ASRReady and ASRAnswer

	FirstFrame  time.Duration `json:"firstFrame"`  // WHEP answer applied to first painted frame
	PrepareIdle time.Duration `json:"prepareIdle"` // life of an unused prepared socket

	WHEPTry     time.Duration `json:"whepTry"`     // one WHEP POST with its body
	WHEPTries   int           `json:"whepTries"`   // number of tries
	WHEPBackoff time.Duration `json:"whepBackoff"` // wait between tries
	WHEPRelease time.Duration `json:"whepRelease"` // one WHEP DELETE

	Recover    time.Duration `json:"recover"`    // one recovery of the downlink
	HealthTick time.Duration `json:"healthTick"` // period of the peer health check
	VideoStall time.Duration `json:"videoStall"` // no new video bytes for this long is a stall

	ColdAttempts int           `json:"coldAttempts"` // full rebuilds before giving up
	ColdBackoff  time.Duration `json:"coldBackoff"`  // wait between them
}

// DefaultLimits are the values of wire-protocol §2.2.
func DefaultLimits() Limits {
	return Limits{
		Overall:       30 * time.Second,
		ServerConnect: 10 * time.Second,
		JoinRoom:      5 * time.Second,
		JoinComplete:  20 * time.Second,
		Agent:         10 * time.Second,
		ASR:           30 * time.Second,
		FirstFrame:    6 * time.Second,
		PrepareIdle:   60 * time.Second,
		WHEPTry:       5 * time.Second,
		WHEPTries:     3,
		WHEPBackoff:   time.Second,
		WHEPRelease:   3 * time.Second,
		Recover:       15 * time.Second,
		HealthTick:    time.Second,
		VideoStall:    4 * time.Second,
		ColdAttempts:  2,
		ColdBackoff:   500 * time.Millisecond,
	}
}

// WithDefaults returns l with the default in place of every zero.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ have, want *time.Duration }{
		{&l.Overall, &d.Overall},
		{&l.ServerConnect, &d.ServerConnect},
		{&l.JoinRoom, &d.JoinRoom},
		{&l.JoinComplete, &d.JoinComplete},
		{&l.Agent, &d.Agent},
		{&l.ASR, &d.ASR},
		{&l.FirstFrame, &d.FirstFrame},
		{&l.PrepareIdle, &d.PrepareIdle},
		{&l.WHEPTry, &d.WHEPTry},
		{&l.WHEPBackoff, &d.WHEPBackoff},
		{&l.WHEPRelease, &d.WHEPRelease},
		{&l.Recover, &d.Recover},
		{&l.HealthTick, &d.HealthTick},
		{&l.VideoStall, &d.VideoStall},
		{&l.ColdBackoff, &d.ColdBackoff},
	} {
		if *f.have == 0 {
			*f.have = *f.want
		}
	}
	if l.WHEPTries == 0 {
		l.WHEPTries = d.WHEPTries
	}
	if l.ColdAttempts == 0 {
		l.ColdAttempts = d.ColdAttempts
	}
	return l
}
