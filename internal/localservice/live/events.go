package live

import (
	"github.com/agentruntime/agentruntime/runtime/signaling"
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
	signaling.Join:                with((*Session).join),
	signaling.CheckAvailability:   without((*Session).answerAvailability),
	signaling.StvNewSession:       without((*Session).newVideoSession),
	signaling.ApprovedPermissions: without((*Session).approve),
	signaling.ASRInit:             without((*Session).startMicrophone),
	signaling.ASROffer:            with((*Session).offerMicrophone),
	signaling.ASRClientCandidate:  without(unused),
	signaling.VoiceAnswer:         with((*Session).voiceAnswer),
	signaling.VoiceCandidate:      without(unused),
	signaling.TextEntered:         withReply((*Session).textEntered),
	signaling.TapToTalkStart:      without((*Session).openTap),
	signaling.TapToTalkEnd:        without((*Session).endTap),
	signaling.MuteUser:            without(func(s *Session) { s.mute(true) }),
	signaling.UnmuteUser:          without(func(s *Session) { s.mute(false) }),
	signaling.PauseConversation:   without((*Session).pause),
	signaling.ResumeConversation:  without((*Session).resume),
	signaling.UpdateGenieContext:  with((*Session).replaceContext),
	signaling.ScreenShareShot:     with((*Session).screenShare),
	signaling.CameraShot:          with((*Session).cameraShot),
	signaling.HTMLElementClick:    with((*Session).clicked),
	signaling.FormLeadInfo:        with((*Session).formFilled),
}

// unused is for the candidates of clients, whose connectivity checks reveal their addresses.
func unused(*Session) {}

// handle gives an event to its handler.
func (s *Session) handle(name string, args arguments, r reply) {
	h, ok := handlers[name]
	if !ok {
		s.log.Debug("unknown event", "event", name)
		return
	}
	if args.Size() > maxEvent && name != signaling.ScreenShareShot && name != signaling.CameraShot {
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
	if r == nil || s.hub.silent.Load() {
		return
	}
	if err := r(); err != nil { // the client will repeat it
		s.log.Debug("an event is not acknowledged", "err", err)
	}
}
