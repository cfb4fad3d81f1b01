//go:build js && wasm

package main

import (
	"context"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// appInit is appinit.Init with the options of js/src/appinit.ts.
func appInit(ctx context.Context, args []js.Value) (any, error) {
	var options struct {
		appinit.Options
		Signal js.Value `json:"signal"`
	}
	if len(args) > 0 {
		if err := jsbridge.FromJS("options", args[0], &options); err != nil {
			return nil, err
		}
	}
	ctx, cancel, err := jsbridge.ContextFromSignal(ctx, options.Signal)
	if err != nil {
		return nil, err
	}
	defer cancel()
	options.Warn = func(w *fault.Error) { jsbridge.Log("warn", "agentruntime: "+w.Message()) }
	return appinit.Init(ctx, options.Options)
}
