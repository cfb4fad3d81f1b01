//go:build js && wasm

// Command probe replaces cmd/wasm where a test needs a runtime that misbehaves on
// demand: the widgetId selects what its appInit does.
package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"syscall/js"
	"time"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

var version string // set by the linker

func main() {
	loader := js.Global().Get(os.Getenv("AGENTRUNTIME_LOADER"))
	jsbridge.SetLoader(loader)
	ctx, stop := context.WithCancel(context.Background())
	scope := jsbridge.NewScope(nil)
	exports, err := jsbridge.ToJS(map[string]any{
		"version": version,
		"dispose": scope.Func(func(js.Value, []js.Value) any { stop(); return nil }),
		"appInit": scope.Func(func(_ js.Value, args []js.Value) any {
			what := args[1].Get("widgetId").String()
			if what == "exit" {
				os.Exit(3) // inside the call
			}
			return jsbridge.Promise(func() (any, error) { return appInit(what) })
		}),
		// The loader recognizes a program by these exports.
		"avatarSession": true, "chatSession": true,
	})
	if err != nil {
		panic(err)
	}
	// A timer and a listener, which must have no effect after the program has ended.
	time.AfterFunc(time.Hour, stop)
	go func() {
		for range time.Tick(10 * time.Millisecond) {
			js.Global().Set("ticks", js.Global().Get("ticks").Int()+1)
		}
	}()
	js.Global().Set("ticks", 0)
	js.Global().Call("addEventListener", "poke", jsbridge.FuncOf(func(js.Value, []js.Value) any {
		js.Global().Set("poked", true)
		return nil
	}).Value)
	loader.Call("ready", exports)
	<-ctx.Done()
}

// recurse fills the stack, which no Go code can recover from.
func recurse(n int) int {
	if n > 1<<24 {
		return n
	}
	return recurse(n+1) + n
}

func appInit(what string) (any, error) {
	switch what {
	case "panic":
		panic("on purpose")
	case "crash": // on a goroutine without a recover
		go func() { panic("unguarded, on purpose") }()
		select {}
	case "never":
		select {}
	case "deep": // nearly as deep as encoding/json allows
		var v any
		if err := json.Unmarshal([]byte(strings.Repeat("[", 9999)+strings.Repeat("]", 9999)), &v); err != nil {
			return nil, err
		}
	case "recurse":
		return recurse(1), nil
	case "callback": // calls JavaScript, which calls back into Go
		js.Global().Call("dispatchEvent", js.Global().Get("Event").New("poke"))
	}
	return map[string]any{"ks": what, "funcs": jsbridge.LiveFuncs()}, nil
}
