//go:build js && wasm

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// version is set by the linker. The loader refuses a runtime whose version is not
// its own, which happens when a cache or a deployment mixes two releases.
var version = "dev"

// exitTrouble is the exit code when the loader is missing or not as expected.
const exitTrouble = 2

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "agentruntime: %v\n", err)
		os.Exit(exitTrouble)
	}
}

// run hands the exports to the loader and returns when the page disposes the
// runtime: exit code 0.
func run() error {
	loader, err := findLoader()
	if err != nil {
		return err
	}
	constructor, err := jsbridge.Get(loader, "AgentError")
	if err != nil {
		return fmt.Errorf("loader: %w", err)
	}
	jsbridge.SetErrorConstructor(constructor)

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	scope := jsbridge.NewScope(nil)
	defer scope.End()
	sessions := newAvatarSessions(ctx)
	exports, err := jsbridge.ToJS(exportTable(ctx, stop, scope, sessions))
	if err != nil {
		return err
	}
	if _, err := jsbridge.Call(loader, "ready", exports); err != nil {
		return fmt.Errorf("loader: %w", err)
	}
	<-ctx.Done()
	sessions.close()
	return nil
}

// findLoader returns the object through which the loader and this instance know
// each other. Its name in the global object is the first argument, different for
// each instance, and is gone when the loader's start call returns.
func findLoader() (js.Value, error) {
	if len(os.Args) < 2 {
		return js.Undefined(), errors.New("start me with the loader in js/, which names itself in the arguments")
	}
	loader, err := jsbridge.Get(js.Global(), os.Args[1])
	if err == nil && loader.Type() != js.TypeObject {
		err = errors.New("the loader is not where the arguments say")
	}
	return loader, err
}

// exportTable lists what the page can call. ctx ends with the program.
func exportTable(ctx context.Context, stop func(), scope *jsbridge.Scope, sessions *avatarSessions) map[string]any {
	return map[string]any{
		"version": version,
		"dispose": scope.Func(func(js.Value, []js.Value) any {
			stop()
			return nil
		}),
		"appInit": async(ctx, scope, appInit),
		"avatarSession": scope.Func(func(_ js.Value, args []js.Value) any {
			return jsbridge.Result(func() (any, error) { return sessions.open(args) })
		}),
		"holds": scope.Func(func(js.Value, []js.Value) any {
			return jsbridge.Result(func() (any, error) { return sessions.holds(), nil })
		}),
	}
}

// async makes an export that returns a promise of what fn returns.
func async(ctx context.Context, scope *jsbridge.Scope, fn func(context.Context, []js.Value) (any, error)) js.Value {
	return scope.Func(func(_ js.Value, args []js.Value) any {
		return jsbridge.Promise(func() (any, error) { return fn(ctx, args) })
	})
}
