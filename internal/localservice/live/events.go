package live

import (
	"github.com/agentruntime/agentruntime/runtime/control"
)

// arguments are the arguments of an event.
type arguments interface {
	// Decode stores argument i in what v points to.
	Decode(i int, v any) error
	// Size returns the number of bytes of all arguments.
	Size() int
}

// maxEvent bounds the arguments of every event but a still, in bytes of JSON: the largest
// are the variables of a join. Decoded, they may take ten times as much.
const maxEvent = 400_000

// handlers contains the handler of each event (protocol §3). Unknown events are
// ignored.
var handlers = map[string]func(*Session, arguments, reply){
	control.Join:                with((*Session).join),
	control.CheckAvailability:   without((*Session).answerAvailability),
	control.StvNewSession:       without((*Session).newVideoSession),
	control.ApprovedPermissions: without((*Session).approve),
	control.ASRInit:             without((*Session).startMicrophone),
	control.ASROffer:            with((*Session).offerMicrophone),
	control.ASRClientCandidate:  with((*Session).microphoneCandidate),
	control.VoiceAnswer:         with((*Session).voiceAnswer),
	control.VoiceCandidate:      with((*Session).voiceCandidate),
	control.TextEntered:         withReply((*Session).textEntered),
	control.TapToTalkStart:      without((*Session).openTap),
	control.TapToTalkEnd:        without((*Session).endTap),
	control.MuteUser:            without(func(s *Session) { s.mute(true) }),
	control.UnmuteUser:          without(func(s *Session) { s.mute(false) }),
	control.PauseConversation:   without((*Session).pause),
	control.ResumeConversation:  without((*Session).resume),
	control.UpdateGenieContext:  with((*Session).replaceContext),
	control.ScreenShareShot:     with((*Session).screenShare),
	control.CameraShot:          with((*Session).cameraShot),
	control.HTMLElementClick:    with((*Session).clicked),
	control.FormLeadInfo:        with((*Session).formFilled),
}

// handle gives an event to its handler.
func (s *Session) handle(name string, args arguments, r reply) {
	h, ok := handlers[name]
	if !ok {
		s.log.Debug("unknown event", "event", name)
		return
	}
	if args.Size() > maxEvent && name != control.ScreenShareShot && name != control.CameraShot {
		s.log.Info("event dropped: it is too large", "event", name, "bytes", args.Size())
		return
	}
	h(s, args, r)
}

// with returns a handler that decodes the event's first argument. An event that can't
// be decoded is dropped, because no reply could report that.
func with[T any](h func(*Session, T)) func(*Session, arguments, reply) {
	return withReply(func(s *Session, payload T, r reply) {
		h(s, payload)
		s.acknowledge(r)
	})
}

// withReply is like with, for a function that acknowledges the event itself.
func withReply[T any](h func(*Session, T, reply)) func(*Session, arguments, reply) {
	return func(s *Session, args arguments, r reply) {
		var payload T
		if err := args.Decode(0, &payload); err != nil {
			s.log.Debug("event dropped", "err", err)
			return
		}
		h(s, payload, r)
	}
}

// without returns a handler of an event without arguments.
func without(h func(*Session)) func(*Session, arguments, reply) {
	return func(s *Session, _ arguments, r reply) {
		h(s)
		s.acknowledge(r)
	}
}

// acknowledge replies to an event for which the client requested that (choice A22).
func (s *Session) acknowledge(r reply) {
	if r == nil || !s.hub.acknowledges() {
		return
	}
	if err := r(); err != nil { // the client will repeat it
		s.log.Debug("an event is not acknowledged", "err", err)
	}
}
