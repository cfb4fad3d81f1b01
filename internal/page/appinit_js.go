//go:build js && wasm

package page

import (
	"context"

	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// appInit is appinit.Init with the options of js/src/appinit.ts.
func appInit(ctx context.Context, c Call) (any, error) {
	var options appinit.Options
	if err := c.Into("options", 0, &options); err != nil {
		return nil, err
	}
	options.Warn = warn
	return appinit.Init(ctx, options)
}
