//go:build js && wasm

// Package page is the interface of a Go program to the loader in js/: its start and
// end, the sessions of the page, and the exports common to both programs.
//
// It defines how calls, options, events and streams are passed between Go and TypeScript;
// the methods of each kind of session are in tables ([Methods]). It must not contain the
// logic of a session, nor import packages that only agentruntime.wasm contains: the avatar
// session, media and the control socket.
package page

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"sync"
	"syscall"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
)

// exitNoLoader is the exit code when the loader is missing or invalid.
const exitNoLoader = 2

// Main passes the program's exports to the loader and returns when the page disposes
// the program. sessions are the kinds of sessions that the program has besides the
// chat session, by the name of their export. The loader refuses a program of another
// version than its own, as from a cache or a deployment that mixes two releases.
func Main(version string, sessions map[string]Open) {
	if err := run(version, sessions); err != nil {
		jsbridge.Log("error", "agentruntime: "+err.Error())
		syscall.Exit(exitNoLoader)
	}
}

func run(version string, sessions map[string]Open) error {
	loader, err := findLoader()
	if err != nil {
		return err
	}
	jsbridge.SetLoader(loader)

	p := New(context.Background())
	defer p.Close()
	object := p.exports(sessions)
	object["version"] = version
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

// loaderVariable is the environment variable that contains the name of the global variable
// with the loader. A program argument would need package os, which would link files and
// their system calls.
const loaderVariable = "AGENTRUNTIME_LOADER"

// findLoader returns the loader's object, which js/src/core/program.ts stores in a global
// variable while this instance starts.
func findLoader() (js.Value, error) {
	name, ok := syscall.Getenv(loaderVariable)
	if !ok {
		return js.Undefined(), errors.New("the program must be started by the loader in js/, which sets " + loaderVariable + "")
	}
	loader, err := jsbridge.Get(js.Global(), name)
	if err == nil && loader.Type() != js.TypeObject {
		err = errors.New("the global variable that " + loaderVariable + " names must be the loader")
	}
	return loader, err
}

// Program is a running program with the sessions of its page.
type Program struct {
	owner
	live map[*Handle]struct{}
}

// New returns a program that ends with ctx. The caller must close it.
func New(ctx context.Context) *Program {
	return &Program{newOwner(ctx, nil), map[*Handle]struct{}{}}
}

// Close ends the program's sessions, calls and streams.
func (p *Program) Close() {
	p.cancel()
	var all sync.WaitGroup
	for h := range p.live {
		all.Go(h.dispose)
	}
	all.Wait()
	p.end()
}

// Sessions returns the number of sessions that are not disposed.
func (p *Program) Sessions() int { return len(p.live) }

// exports returns the functions that a page can call, by the names in
// js/src/core/program.ts.
func (p *Program) exports(sessions map[string]Open) map[string]any {
	object := p.object(visitorMethods())
	object["dispose"] = p.sync(SyncFunc(p.cancel))
	object["holds"] = p.sync(func(Args) (any, error) { return p.holds(), nil })
	kinds := map[string]Open{"chatSession": OpenChat}
	maps.Copy(kinds, sessions)
	for name, open := range kinds {
		object[name] = p.sync(func(a Args) (any, error) { return p.Open(open, a.At(0), a.At(1)) })
	}
	return object
}

// holdings are counts with which tests and pages detect leaks.
type holdings struct {
	Sessions   int `json:"sessions"`
	Callbacks  int `json:"callbacks"`
	Goroutines int `json:"goroutines"`
}

func (p *Program) holds() holdings {
	return holdings{p.Sessions(), jsbridge.LiveFuncs(), runtime.NumGoroutine()}
}
