//go:build js && wasm

package page

import (
	"context"
	"errors"
	"runtime"
	"syscall"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// exitTrouble is the exit code when the loader is missing or not as expected.
const exitTrouble = 2

// Main hands exports to the loader and returns when the page disposes the
// program. The loader refuses a program whose version is not its own, which
// happens when a cache or a deployment mixes two releases.
func Main(version string, exports Exports) {
	if err := run(version, exports); err != nil {
		jsbridge.Log("error", "agentruntime: "+err.Error())
		syscall.Exit(exitTrouble)
	}
}

func run(version string, exports Exports) error {
	loader, err := findLoader()
	if err != nil {
		return err
	}
	constructor, err := jsbridge.Get(loader, "AgentError")
	if err != nil {
		return errors.New("loader: " + err.Error())
	}
	jsbridge.SetErrorConstructor(constructor)

	p := New(context.Background())
	defer p.Close()
	object := p.exports(exports)
	object["version"] = version
	object["dispose"] = p.now(Does(p.cancel))
	object["holds"] = p.now(func(Call) (any, error) { return p.holds(), nil })
	ready, err := jsbridge.ToJS(object)
	if err != nil {
		return err
	}
	if _, err := jsbridge.Call(loader, "ready", ready); err != nil {
		return errors.New("loader: " + err.Error())
	}
	<-p.ctx.Done()
	return nil
}

// loaderVariable is the environment variable with the name of the loader.
// Arguments would be the plainer way, but package os, which has them, brings files
// along that no page has.
const loaderVariable = "AGENTRUNTIME_LOADER"

// findLoader returns the object through which the loader and this instance know
// each other. Its name in the global object is in the environment, different for
// each instance, and is gone when the loader's start call returns.
func findLoader() (js.Value, error) {
	name, ok := syscall.Getenv(loaderVariable)
	if !ok {
		return js.Undefined(), errors.New("start me with the loader in js/, which names itself in the environment")
	}
	loader, err := jsbridge.Get(js.Global(), name)
	if err == nil && loader.Type() != js.TypeObject {
		err = errors.New("the loader is not where the environment says")
	}
	return loader, err
}

// holdings is what the program holds, so that a test or a page can see that
// nothing stays behind.
type holdings struct {
	Sessions   int `json:"sessions"`
	Callbacks  int `json:"callbacks"`
	Goroutines int `json:"goroutines"`
}

func (p *Program) holds() holdings {
	return holdings{len(p.live), jsbridge.LiveFuncs(), runtime.NumGoroutine()}
}
