//go:build js && wasm

package page

import (
	"context"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// appInit is appinit.Init with the options of js/src/appinit.ts.
func appInit(ctx context.Context, c Call) (any, error) {
	var options appinit.Options
	if err := c.Into("options", 0, &options); err != nil {
		return nil, err
	}
	options.Warn = func(w *fault.Error) { jsbridge.Log("warn", "agentruntime: "+w.Message()) }
	return appinit.Init(ctx, options)
}
