package avatar

import (
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// mergeVars changes the variables and sends all of them.
func (s *Session) mergeVars(vars map[string]any) {
	s.core.MergeVars(vars)
	s.outbox.command(signaling.UpdateGenieContext, signaling.GenieContext{
		Capabilities: s.core.Caps, RequestVars: s.core.Vars,
		ContextID: s.opts.ContextID, ContextType: s.opts.ContextType,
	})
}

// NotifyHTMLElementClick reports a click on an HTML element that the brain generated.
func (s *Session) NotifyHTMLElementClick(info map[string]any) error {
	return s.emitLive(signaling.HTMLElementClick, converse.Scrub(info))
}

// SubmitStructuredDataForm sends the values of a form; there is no reply.
func (s *Session) SubmitStructuredDataForm(values map[string]any) error {
	return s.emitLive(signaling.FormLeadInfo, converse.Scrub(values))
}

// SendScreenShot sends one still of a shared screen, a JPEG or PNG. Errors:
// invalid_state, capability_disabled.
func (s *Session) SendScreenShot(image []byte) error {
	if err := s.Live(); err != nil {
		return err
	}
	if !s.Snapshot().Capabilities.ScreenShare {
		return fault.New(fault.CapabilityDisabled, "screen sharing is not enabled for this agent; enable it in the agent's settings")
	}
	return s.sendStill(signaling.ScreenShareShot, image)
}

// SendCameraShot sends one still of the user's camera, a JPEG or PNG (protocol
// §3.12). Errors: invalid_state, capability_disabled.
func (s *Session) SendCameraShot(image []byte) error {
	if err := s.Live(); err != nil {
		return err
	}
	if !s.Snapshot().Capabilities.CameraAnalysis {
		return fault.New(fault.CapabilityDisabled, "camera analysis is not enabled for this agent; enable it in the agent's settings")
	}
	return s.sendStill(signaling.CameraShot, image)
}

func (s *Session) sendStill(name string, image []byte) error {
	return s.emitLive(name, map[string]any{"data": socketio.Binary(image)})
}

// KeepAlive asks for capacity, as a cheap keep-alive message. Without a socket it does
// nothing.
func (s *Session) KeepAlive() {
	s.core.Work.Do(func() { s.emit(signaling.CheckAvailability, signaling.Empty{}) })
}

func (s *Session) emitLive(name string, payload any) error {
	if err := s.Live(); err != nil {
		return err
	}
	s.core.Work.Do(func() {
		if s.phase == live {
			s.noteActivity()
			s.emit(name, payload)
		}
	})
	return nil
}
