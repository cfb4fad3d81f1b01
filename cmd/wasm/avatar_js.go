//go:build js && wasm

package main

import (
	"context"
	"encoding/json"
	"errors"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/completion"
)

// avatarSessions makes the avatar sessions of this program.
type avatarSessions struct {
	// prepare sets what the page has to do with a session; tests replace it.
	prepare func(*avatar.Options)
}

func newAvatarSessions() *avatarSessions {
	return &avatarSessions{prepare: func(o *avatar.Options) { o.Page = completion.BrowserPage() }}
}

// open makes a session from the options that js/src/session/avatar.ts passes.
func (s *avatarSessions) open(h *page.Handle, options js.Value) (page.Session, page.Methods, error) {
	var o avatarOptions
	if err := jsbridge.FromJS("options", options, &o); err != nil {
		return nil, page.Methods{}, err
	}
	given := o.session()
	given.OnEvents = h.Listen
	session, methods, err := s.make(h, given)
	if err != nil {
		return nil, methods, err
	}
	return session, methods, nil
}

// make makes a session from the options given. The error is bad_request for an invalid
// media element.
func (s *avatarSessions) make(h *page.Handle, given avatar.Options) (*avatar.Session, page.Methods, error) {
	if err := given.Platform.Check(); err != nil {
		return nil, page.Methods{}, err
	}
	given.OnPanic = h.Failed
	s.prepare(&given)
	session, err := avatar.New(given)
	if err != nil {
		return nil, page.Methods{}, err
	}
	return session, avatarMethods(session), nil
}

// avatarMethods returns the methods that js/src/session/avatar.ts calls besides those of every
// session (session §A.1.3).
func avatarMethods(a *avatar.Session) page.Methods {
	engine := a.Engine()
	return page.Methods{
		Sync: map[string]page.Sync{
			"properties": page.Properties(a.Snapshot),
			"elements": func(page.Args) (any, error) {
				return map[string]any{
					"avatarStream":     engine.AvatarStream(),
					"microphoneStream": engine.MicrophoneStream(),
					"videoEl":          engine.VideoEl(),
					"audioEl":          engine.AudioEl(),
				}, nil
			},

			"disconnect":               page.Disconnect(a.Disconnect),
			"interrupt":                page.SyncErr(a.Interrupt),
			"startTapToTalk":           page.SyncErr(a.StartTapToTalk),
			"endTapToTalk":             page.SyncErr(a.EndTapToTalk),
			"acknowledgeDisclosure":    page.SyncFunc(a.AcknowledgeDisclosure),
			"pause":                    page.SyncErr(a.Pause),
			"keepAlive":                page.SyncFunc(a.KeepAlive),
			"sendScreenShot":           page.SyncArg("image", a.SendScreenShot),
			"sendCameraShot":           page.SyncArg("image", a.SendCameraShot),
			"notifyHtmlElementClick":   page.SyncObject("info", a.NotifyHTMLElementClick),
			"submitStructuredDataForm": page.SyncObject("values", a.SubmitStructuredDataForm),

			"mute":   page.SyncFunc(a.Mute),
			"unmute": page.SyncFunc(a.Unmute),
			"measureLevel": func(args page.Args) (any, error) {
				engine.MeasureLevel(args.At(0).Truthy())
				return nil, nil
			},
			"measureSpeech": func(args page.Args) (any, error) {
				engine.MeasureSpeech(args.At(0).Truthy())
				return nil, nil
			},
			"setVideoEl":           func(args page.Args) (any, error) { return nil, engine.SetVideoEl(args.At(0)) },
			"setAudioEl":           func(args page.Args) (any, error) { return nil, engine.SetAudioEl(args.At(0)) },
			"muteAudioOutput":      page.SyncFunc(a.MuteAudioOutput),
			"unmuteAudioOutput":    page.SyncFunc(a.UnmuteAudioOutput),
			"setAudioOutputVolume": page.SyncArg("volume", a.SetAudioOutputVolume),
		},
		Async: map[string]page.Async{
			"connect": page.AsyncErr(a.Connect),
			"prepare": page.AsyncErr(a.Prepare),
			"resume":  page.AsyncErr(a.Resume),
			"speak":   page.AsyncArgResult("text", a.Speak),
			"waitForCapacity": page.AsyncArgResult("options", func(ctx context.Context, o struct {
				Wait time.Duration `json:"maxWaitMs"`
				Poll time.Duration `json:"pollIntervalMs"`
			},
			) (any, error) {
				details, err := a.WaitForCapacity(ctx, o.Wait, o.Poll)
				if err != nil {
					return nil, err
				}
				return struct {
					Available bool            `json:"available"`
					Details   json.RawMessage `json:"details,omitempty"`
				}{true, details}, nil
			}),

			"startMic":        page.AsyncErr(a.StartMic),
			"switchMic":       page.AsyncArg("deviceId", a.SwitchMic),
			"setAsrBandwidth": page.AsyncArg("kbps", a.SetASRBandwidth),
			"setAudioOutput": page.AsyncArgResult("deviceId", func(ctx context.Context, device string) (bool, error) {
				return a.SetAudioOutput(ctx, device), nil
			}),
			"getStats":      page.AsyncResult(a.Stats),
			"startPlayback": page.AsyncResult(func(ctx context.Context) (bool, error) { return a.StartPlayback(ctx), nil }),
		},
	}
}

var errRefused = errors.New("the application refused")

// beforeSend is the option onBeforeSend: false or an exception refuses the text, a string replaces it.
func beforeSend(fn js.Value) func(context.Context, string, avatar.SendInfo) (string, error) {
	if jsbridge.Absent(fn) {
		return nil
	}
	return func(ctx context.Context, text string, about avatar.SendInfo) (string, error) {
		verdict, err := page.Consult(ctx, fn, text, about)
		switch {
		case err != nil:
			return "", err
		case verdict.Equal(js.ValueOf(false)):
			return "", errRefused
		}
		changed := text
		if jsbridge.FromJS("onBeforeSend's result", verdict, &changed) != nil {
			return text, nil // neither a string nor false: the text is sent unchanged
		}
		return changed, nil
	}
}

// onAgentAction is the option of that name: false or an exception refuses the action.
func onAgentAction(fn js.Value) func(context.Context, avatar.AgentAction) error {
	if jsbridge.Absent(fn) {
		return nil
	}
	return func(ctx context.Context, action avatar.AgentAction) error {
		verdict, err := page.Consult(ctx, fn, action)
		if err == nil && verdict.Equal(js.ValueOf(false)) {
			return errRefused
		}
		return err
	}
}
