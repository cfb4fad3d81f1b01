package control

import "time"

// Limits are the time limits of a live session, all of them overridable
// (wire-protocol §2.2; session-api A.1.2 gives the option names).
type Limits struct {
	// Overall bounds a whole connect, a cold rebuild, or the rebuild after an
	// expired pause. Its deadline is fixed once, when the handshake starts.
	Overall time.Duration

	ServerConnect time.Duration // socket opened to ServerConnected
	JoinRoom      time.Duration // Join to ClientConfig
	JoinComplete  time.Duration // Join to JoinComplete
	Agent         time.Duration // each of ShowAgent and AskPermissions
	ASR           time.Duration // each of ASRReady and ASRAnswer

	FirstFrame  time.Duration // WHEP answer applied to first painted frame
	PrepareIdle time.Duration // life of an unused prepared socket

	WHEPTry     time.Duration // one WHEP POST with its body
	WHEPTries   int           // number of tries
	WHEPBackoff time.Duration // wait between tries
	WHEPRelease time.Duration // one WHEP DELETE

	Recover    time.Duration // one recovery of the downlink
	HealthTick time.Duration // period of the peer health check
	VideoStall time.Duration // no new video bytes for this long is a stall

	ColdAttempts int           // full rebuilds before giving up
	ColdBackoff  time.Duration // wait between them
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
