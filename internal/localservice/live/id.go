package live

import (
	"crypto/rand"
	"strings"
	"unicode"
)

// trigger is what made the agent speak; it is the middle of a speechId (protocol
// §7.2).
type trigger string

const (
	byTranscript trigger = "transcript"
	byTap        trigger = "tap-to-talk"
	byClick      trigger = "html-element-click"
	byApproval   trigger = "approved-permissions"
	byReplay     trigger = "resume-replay"
	byWakeUp     trigger = "wake-up"
	byGoodbye    trigger = "hangup-message"
	byPush       trigger = "begin-agent-conversation"
)

// uninterruptible reports whether the user can't cut speech of this kind, and
// what the user says during it is dropped (protocol §7.7).
func (t trigger) uninterruptible() bool {
	switch t {
	case byApproval, byReplay, byWakeUp, byGoodbye:
		return true
	default:
		return false
	}
}

// brain returns the trigger for the brain, which is "" for the user's own words.
func (t trigger) brain() string {
	if t == byTranscript || t == byTap {
		return ""
	}
	return string(t)
}

// payloadRunes is how much of the user's text a speechId carries.
const payloadRunes = 11

// newSpeechID mints an id like "4nkM-transcript-Hey"; only the id of a turn
// carries the start of the text (protocol §7.2).
func newSpeechID(t trigger, text string) string {
	id := rand.Text()[:4] + "-" + string(t)
	if t != byTranscript {
		return id
	}
	payload := []rune(strings.TrimSpace(text))
	if len(payload) > payloadRunes {
		payload = payload[:payloadRunes]
	}
	for i, r := range payload {
		// A hyphen could form one of the suffixes that have a meaning: a user who
		// types "-wake-up" must not make an uninterruptible turn.
		if r == '-' || unicode.IsControl(r) {
			payload[i] = ' '
		}
	}
	if len(payload) == 0 {
		return id
	}
	return id + "-" + string(payload)
}
