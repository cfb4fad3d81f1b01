package localservice

import (
	"errors"
	"log/slog"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
)

type ears struct{}

func newEars(*brain.Script, *Options, *slog.Logger) *ears { return &ears{} }

// OpenMicrophone implements [live.Media].
func (f *mediaFactory) OpenMicrophone(ear live.Ear) (live.Microphone, error) {
	m := f.peers.NewMicrophone(func([]int16) {})
	return &microphone{m}, nil
}
func (m *microphone) OpenTap()   {}
func (m *microphone) CloseTap()  {}
func (m *microphone) Mute(bool)  {}
func (m *microphone) Stats() any { return m.Microphone.Stats() }
func (f *mediaFactory) OpenVoice() (live.VoicePeer, error) {
	return nil, errors.New("none")
}
