//go:build js && wasm

package main

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/internal/json"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Methods lists what js/src/avatar.ts calls (session-api A.1.3).
func (a *avatarSession) Methods() page.Methods {
	return page.Methods{Now: a.now(), Later: a.later()}
}

// now lists the methods that don't wait.
func (a *avatarSession) now() map[string]page.Now {
	return map[string]page.Now{
		"properties": page.Properties(a.Snapshot),
		"elements":   a.elements,

		"setToken": page.Text("token", a.SetToken),
		"disconnect": page.Disconnect(func(keep bool, reason string) {
			a.Disconnect(avatar.DisconnectOptions{Keep: keep, Reason: reason})
		}),
		"interrupt":             page.Fails(a.Interrupt),
		"startTapToTalk":        page.Fails(a.StartTapToTalk),
		"endTapToTalk":          page.Fails(a.EndTapToTalk),
		"acknowledgeDisclosure": page.Does(a.AcknowledgeDisclosure),
		"pause":                 page.Fails(a.Pause),
		"keepAlive":             page.Does(a.KeepAlive),

		"mute":   page.Does(a.Mute),
		"unmute": page.Does(a.Unmute),
		"wantLevel": func(c page.Call) (any, error) {
			a.plane.Microphone().WantLevel(c.At(0).Truthy())
			return nil, nil
		},
		"setVideoEl":        func(c page.Call) (any, error) { return nil, a.plane.Screen().SetVideoEl(c.At(0)) },
		"setAudioEl":        func(c page.Call) (any, error) { return nil, a.plane.Screen().SetAudioEl(c.At(0)) },
		"muteAudioOutput":   page.Does(a.MuteAudioOutput),
		"unmuteAudioOutput": page.Does(a.UnmuteAudioOutput),
		"setAudioOutputVolume": func(c page.Call) (any, error) {
			var volume float64
			if err := c.Into("volume", 0, &volume); err != nil {
				return nil, err
			}
			return nil, a.SetAudioOutputVolume(volume)
		},

		"sendScreenShot": func(c page.Call) (any, error) {
			var image []byte
			if err := c.Into("image", 0, &image); err != nil {
				return nil, err
			}
			return nil, a.SendScreenShot(image)
		},
		"setDynamicPrompt":         page.Object("data", func(o map[string]any) error { return a.SetDynamicPrompt(o) }),
		"updateRequestVars":        page.Object("requestVars", a.UpdateRequestVars),
		"notifyHtmlElementClick":   page.Object("info", a.NotifyHTMLElementClick),
		"submitStructuredDataForm": page.Object("values", a.SubmitStructuredDataForm),

		"addToolHandler":    page.ToolHandler(a.Handle, a.OnToolCall),
		"addConsentHandler": page.ConsentHandler(a.Handle, a.OnOAuthRequired),
	}
}

// later lists the methods that wait.
func (a *avatarSession) later() map[string]page.Later {
	return map[string]page.Later{
		"connect": a.connect,
		"prepare": func(ctx context.Context, _ page.Call) (any, error) { return nil, a.Prepare(ctx) },
		"resume":  func(ctx context.Context, _ page.Call) (any, error) { return nil, a.Resume(ctx) },
		"speak": func(ctx context.Context, c page.Call) (any, error) {
			var text string
			if err := c.Into("text", 0, &text); err != nil {
				return nil, err
			}
			return a.Speak(ctx, text)
		},
		"completeThread":  func(ctx context.Context, _ page.Call) (any, error) { return a.CompleteThread(ctx) },
		"waitForCapacity": a.waitForCapacity,
		"respondToTool":   page.RespondToTool(a.RespondToTool),

		"startMic": func(ctx context.Context, _ page.Call) (any, error) { return nil, a.StartMic(ctx) },
		"switchMic": func(ctx context.Context, c page.Call) (any, error) {
			var device string
			if err := c.Into("deviceId", 0, &device); err != nil {
				return nil, err
			}
			return nil, a.SwitchMic(ctx, device)
		},
		"setAsrBandwidth": func(ctx context.Context, c page.Call) (any, error) {
			var kbps int
			if err := c.Into("kbps", 0, &kbps); err != nil {
				return nil, err
			}
			return nil, a.SetASRBandwidth(ctx, kbps)
		},
		"listDevices": func(ctx context.Context, _ page.Call) (any, error) { return a.plane.ListDevices(ctx) },
		"setAudioOutput": func(ctx context.Context, c page.Call) (any, error) {
			var device string
			if err := c.Into("deviceId", 0, &device); err != nil {
				return nil, err
			}
			return a.SetAudioOutput(ctx, device), nil
		},
		"startPlayback": func(ctx context.Context, _ page.Call) (any, error) { return a.StartPlayback(ctx), nil },
	}
}

func (a *avatarSession) connect(ctx context.Context, _ page.Call) (any, error) {
	err := a.Connect(ctx)
	if err != nil && ctx.Err() != nil {
		// As with every call that its caller cancels.
		return nil, fault.New(fault.Aborted, "connecting was cancelled").Because(context.Cause(ctx)).WithTimings(a.Snapshot().Timings)
	}
	return nil, err
}

func (a *avatarSession) waitForCapacity(ctx context.Context, c page.Call) (any, error) {
	var options struct {
		Wait time.Duration `json:"maxWaitMs"`
		Poll time.Duration `json:"pollIntervalMs"`
	}
	if err := c.Into("options", 0, &options); err != nil {
		return nil, err
	}
	details, err := a.WaitForCapacity(ctx, options.Wait, options.Poll)
	if err != nil {
		return nil, err
	}
	return struct {
		Available bool            `json:"available"`
		Details   json.RawMessage `json:"details,omitempty"`
	}{true, details}, nil
}
