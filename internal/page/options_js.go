//go:build js && wasm

package page

import (
	"time"

	"github.com/agentruntime/agentruntime/runtime/sessionend"
)

// Off reports whether a switch that is on by default was switched off.
func Off(b *bool) bool { return b != nil && !*b }

// CompletionOptions are the options of every session about the end of its
// conversation (session-api A.1.1, 56 to 67).
type CompletionOptions struct {
	SessionCompleteOnEnd  *bool          `json:"sessionCompleteOnEnd"`
	SessionCompletePath   string         `json:"sessionCompletePath"`
	SessionCompleteLimit  time.Duration  `json:"sessionCompleteTimeoutMs"`
	PageLifecycleAware    *bool          `json:"pageLifecycleAware"`
	HiddenGrace           *time.Duration `json:"hiddenGraceMs"`
	CompleteOnHiddenGrace *bool          `json:"completeOnHiddenGrace"`
	CompleteOnBFCache     *bool          `json:"completeOnBfcache"`
	CrossTabPresence      *bool          `json:"crossTabPresence"`
	PresencePrefix        string         `json:"presenceChannelPrefix"`
	PresenceBeat          time.Duration  `json:"presenceHeartbeatMs"`
	PresenceStale         time.Duration  `json:"presenceStaleMs"`
}

// Settings returns what a session takes of them.
func (o *CompletionOptions) Settings() sessionend.Settings {
	return sessionend.Settings{
		Off:            Off(o.SessionCompleteOnEnd),
		Path:           o.SessionCompletePath,
		Timeout:        o.SessionCompleteLimit,
		IgnorePage:     Off(o.PageLifecycleAware),
		HiddenGrace:    o.HiddenGrace,
		NoHiddenGrace:  Off(o.CompleteOnHiddenGrace),
		NoBFCache:      Off(o.CompleteOnBFCache),
		NoPresence:     Off(o.CrossTabPresence),
		PresencePrefix: o.PresencePrefix,
		PresenceBeat:   o.PresenceBeat,
		PresenceStale:  o.PresenceStale,
	}
}
