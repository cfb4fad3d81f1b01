package live

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Bounds of a still of a shared screen (choice F10) or of the camera.
const (
	maxStill   = 500_000 // bytes
	stillEvery = time.Second
)

// stills are the pictures that a client sends. Only the newest of the shared screen and
// of the camera is kept, for the next turn: a client can't fill the memory with them.
type stills struct {
	accepted, refused int
	screen, camera    stillSource
}

type stillSource struct {
	last   time.Time // zero before the first still
	newest []byte
}

// take returns the newest still, once. Without a new one it returns before, the still that the
// question has already.
func (s *stillSource) take(before []byte) []byte {
	picture := s.newest
	s.newest = nil
	if picture == nil {
		return before
	}
	return picture
}

// still is a binary payload.
type still struct {
	Data []byte `json:"data"`
}

// screenShare takes a still of the user's screen (protocol §3.10).
func (s *Session) screenShare(p still) {
	s.takeStill(&s.stills.screen, s.joined && s.profile.ScreenShare, p)
}

// cameraShot takes a still of the user's camera (protocol §3.12).
func (s *Session) cameraShot(p still) {
	s.takeStill(&s.stills.camera, s.joined && s.profile.CameraAnalysis, p)
}

func (s *Session) takeStill(from *stillSource, enabled bool, p still) {
	ok := enabled && len(p.Data) <= maxStill && isPicture(p.Data) && time.Since(from.last) >= stillEvery
	if !ok {
		s.stills.refused++
		return
	}
	s.stills.accepted++
	from.last, from.newest = time.Now(), p.Data
}

// isPicture reports whether data begins like a JPEG or a PNG.
func isPicture(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xd8\xff")) || bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n"))
}

// replaceContext replaces the page's context for the brain; missing fields are
// cleared. It applies from the next turn on (protocol §3.9, choice A20).
func (s *Session) replaceContext(c signaling.GenieContext) {
	if !s.joined {
		return
	}
	if err := dialogue.CheckVars(c.RequestVars); err != nil {
		s.log.Info("context dropped", "err", err)
		return
	}
	s.context = c
}

// dialogueContext is the context of the next turn.
func (s *Session) dialogueContext() dialogue.Context {
	return dialogue.Context{
		Vars: s.context.RequestVars, ContextID: s.context.ContextID, ContextType: s.context.ContextType,
		From: s.use.Addr, Avatar: true, ScreenShare: !s.stills.screen.last.IsZero(),
	}
}

// clicked starts a turn about an element that the user clicked
// (protocol §3.11, choice A21).
func (s *Session) clicked(c signaling.HTMLClick) {
	text := truncate(c.HTMLText)
	p := s.active
	if text == "" || !s.attentive() || p != nil && (p.by.uninterruptible() || !s.profile.InterruptionsEnabled) {
		return
	}
	s.userActive()
	if p != nil {
		s.interrupt(p)
	}
	s.begin(byClick, uuid.NewString(), text, "")
}

// maxForm bounds the values of a form, in bytes of JSON.
const maxForm = 16_000

// formFilled stores with the thread the values that a user put into a form
// (protocol §3.11, choice A21).
func (s *Session) formFilled(values map[string]any) {
	if !s.joined || len(values) == 0 {
		return
	}
	data, err := json.Marshal(values)
	if err != nil || len(data) > maxForm {
		s.log.Debug("form dropped", "bytes", len(data))
		return
	}
	_, err = s.cfg.Threads.UpdateThread(s.ctx, s.who.Scope(), s.thread.ID, func(t *store.Thread) error {
		t.Analysis[dialogue.FormKey] = values
		return nil
	})
	if err != nil {
		s.log.Warn("form not stored", "err", err)
		return
	}
	s.log.Info("form stored", "fields", len(values))
}
