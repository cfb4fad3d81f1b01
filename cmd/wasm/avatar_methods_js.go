//go:build js && wasm

package main

import (
	"context"
	"encoding/json"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// call is the arguments of a call of a method.
type call []js.Value

func (c call) at(i int) js.Value { return arg(c, i) }

// into converts argument i, which messages call name.
func (c call) into(name string, i int, out any) error { return jsbridge.FromJS(name, c.at(i), out) }

// methods is the object that js/src/avatar.ts calls (session-api A.1.3). A
// method of now returns at once, with an AgentError in place of a result when it
// failed; one of later takes an AbortSignal or undefined in front of its
// arguments and returns a promise.
func (a *avatarSession) methods() map[string]any {
	m := map[string]any{}
	for name, f := range a.now() {
		m[name] = a.scope.Func(func(_ js.Value, args []js.Value) any {
			return jsbridge.Result(func() (any, error) { return f(args) })
		})
	}
	for name, f := range a.later() {
		m[name] = a.scope.Func(func(_ js.Value, args []js.Value) any {
			return jsbridge.Promise(func() (any, error) {
				c := call(args)
				ctx, cancel, err := jsbridge.ContextFromSignal(a.ctx, c.at(0))
				if err != nil {
					return nil, err
				}
				defer cancel()
				return f(ctx, c[min(1, len(c)):])
			})
		})
	}
	m["dispose"] = a.scope.Func(func(js.Value, []js.Value) any {
		return jsbridge.Promise(func() (any, error) {
			a.dispose()
			return nil, nil
		})
	})
	return m
}

// now lists the methods that don't wait.
func (a *avatarSession) now() map[string]func(call) (any, error) {
	return map[string]func(call) (any, error){
		"properties": func(call) (any, error) { return a.values() },
		"elements":   func(call) (any, error) { return a.elements() },

		"setToken":              text("token", a.SetToken),
		"disconnect":            a.disconnect,
		"interrupt":             fails(a.Interrupt),
		"startTapToTalk":        fails(a.StartTapToTalk),
		"endTapToTalk":          fails(a.EndTapToTalk),
		"acknowledgeDisclosure": does(a.AcknowledgeDisclosure),
		"pause":                 fails(a.Pause),
		"keepAlive":             does(a.KeepAlive),

		"mute":   does(a.Mute),
		"unmute": does(a.Unmute),
		"wantLevel": func(c call) (any, error) {
			a.plane.Microphone().WantLevel(c.at(0).Truthy())
			return nil, nil
		},
		"setVideoEl":        func(c call) (any, error) { return nil, a.plane.Screen().SetVideoEl(c.at(0)) },
		"setAudioEl":        func(c call) (any, error) { return nil, a.plane.Screen().SetAudioEl(c.at(0)) },
		"muteAudioOutput":   does(a.MuteAudioOutput),
		"unmuteAudioOutput": does(a.UnmuteAudioOutput),
		"setAudioOutputVolume": func(c call) (any, error) {
			var volume float64
			if err := c.into("volume", 0, &volume); err != nil {
				return nil, err
			}
			return nil, a.SetAudioOutputVolume(volume)
		},

		"sendScreenShot": func(c call) (any, error) {
			var image []byte
			if err := c.into("image", 0, &image); err != nil {
				return nil, err
			}
			return nil, a.SendScreenShot(image)
		},
		"setDynamicPrompt":         object("data", func(o map[string]any) error { return a.SetDynamicPrompt(o) }),
		"updateRequestVars":        object("requestVars", a.UpdateRequestVars),
		"notifyHtmlElementClick":   object("info", a.NotifyHTMLElementClick),
		"submitStructuredDataForm": object("values", a.SubmitStructuredDataForm),

		"addToolHandler":    a.addToolHandler,
		"addConsentHandler": a.addConsentHandler,
		"removeHandler":     a.removeHandler,
	}
}

// later lists the methods that wait.
func (a *avatarSession) later() map[string]func(context.Context, call) (any, error) {
	return map[string]func(context.Context, call) (any, error){
		"connect": a.connect,
		"prepare": func(ctx context.Context, _ call) (any, error) { return nil, a.Prepare(ctx) },
		"resume":  func(ctx context.Context, _ call) (any, error) { return nil, a.Resume(ctx) },
		"speak": func(ctx context.Context, c call) (any, error) {
			var text string
			if err := c.into("text", 0, &text); err != nil {
				return nil, err
			}
			return a.Speak(ctx, text)
		},
		"completeThread":  func(ctx context.Context, _ call) (any, error) { return a.CompleteThread(ctx) },
		"waitForCapacity": a.waitForCapacity,
		"respondToTool":   a.respondToTool,

		"startMic": func(ctx context.Context, _ call) (any, error) { return nil, a.StartMic(ctx) },
		"switchMic": func(ctx context.Context, c call) (any, error) {
			var device string
			if err := c.into("deviceId", 0, &device); err != nil {
				return nil, err
			}
			return nil, a.SwitchMic(ctx, device)
		},
		"setAsrBandwidth": func(ctx context.Context, c call) (any, error) {
			var kbps int
			if err := c.into("kbps", 0, &kbps); err != nil {
				return nil, err
			}
			return nil, a.SetASRBandwidth(ctx, kbps)
		},
		"listDevices": func(ctx context.Context, _ call) (any, error) { return a.plane.ListDevices(ctx) },
		"setAudioOutput": func(ctx context.Context, c call) (any, error) {
			var device string
			if err := c.into("deviceId", 0, &device); err != nil {
				return nil, err
			}
			return a.SetAudioOutput(ctx, device), nil
		},
		"startPlayback": func(ctx context.Context, _ call) (any, error) { return a.StartPlayback(ctx), nil },
	}
}

func (a *avatarSession) connect(ctx context.Context, _ call) (any, error) {
	err := a.Connect(ctx)
	if err != nil && ctx.Err() != nil {
		// As with every call that its caller cancels.
		return nil, fault.New(fault.Aborted, "connecting was cancelled").Because(context.Cause(ctx)).WithTimings(a.Snapshot().Timings)
	}
	return nil, err
}

func (a *avatarSession) disconnect(c call) (any, error) {
	options := struct {
		Final  *bool  `json:"final"`
		Reason string `json:"reason"`
	}{}
	if err := c.into("options", 0, &options); err != nil {
		return nil, err
	}
	a.Disconnect(avatar.DisconnectOptions{Keep: off(options.Final), Reason: options.Reason})
	return nil, nil
}

func (a *avatarSession) waitForCapacity(ctx context.Context, c call) (any, error) {
	var options struct {
		Wait time.Duration `json:"maxWaitMs"`
		Poll time.Duration `json:"pollIntervalMs"`
	}
	if err := c.into("options", 0, &options); err != nil {
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

func (a *avatarSession) respondToTool(ctx context.Context, c call) (any, error) {
	var (
		id       string
		response map[string]any
	)
	if err := c.into("id", 0, &id); err != nil {
		return nil, err
	}
	if err := c.into("response", 1, &response); err != nil {
		return nil, err
	}
	return a.RespondToTool(ctx, id, response)
}

// does makes a method of a function without arguments.
func does(f func()) func(call) (any, error) {
	return func(call) (any, error) {
		f()
		return nil, nil
	}
}

// fails makes one of a function that may fail.
func fails(f func() error) func(call) (any, error) {
	return func(call) (any, error) { return nil, f() }
}

// text makes one of a function that takes a string.
func text(name string, f func(string) error) func(call) (any, error) {
	return func(c call) (any, error) {
		var s string
		if err := c.into(name, 0, &s); err != nil {
			return nil, err
		}
		return nil, f(s)
	}
}

// object makes one of a function that takes an object.
func object(name string, f func(map[string]any) error) func(call) (any, error) {
	return func(c call) (any, error) {
		var o map[string]any
		if err := c.into(name, 0, &o); err != nil {
			return nil, err
		}
		if o == nil {
			return nil, fault.New(fault.BadRequest, name+" is missing")
		}
		return nil, f(o)
	}
}
