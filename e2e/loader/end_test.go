package loader

import (
	"testing"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Callbacks of an ended program do nothing; those of a running program are called.
func TestDisposeRejectsOpenCallsAndIsQuiet(t *testing.T) {
	s := newSite(t, "", "")
	s.probe(t)
	p := s.page(t)
	var got struct {
		Open   rejection `json:"open"`
		Exits  []int     `json:"exits"`
		Ticked bool      `json:"ticked"`
		Poked  bool      `json:"poked"`
		Called bool      `json:"called"`
		Again  struct {
			Value struct {
				KS    string `json:"ks"`
				Funcs int    `json:"funcs"`
			} `json:"value"`
		} `json:"again"`
	}
	p.Call(&got, "/testdata/programs.js", "disposedTwice")
	got.Open.want(t, fault.Aborted, "disposed")
	if len(got.Exits) != 1 || got.Exits[0] != 0 {
		t.Errorf("onExit was called with %v", got.Exits)
	}
	if got.Ticked || got.Poked {
		t.Errorf("the disposed program still runs: timers %v, listeners %v", got.Ticked, got.Poked)
	}
	if got.Again.Value.KS != "fine" || !got.Called {
		t.Errorf("the second runtime answered %+v, its listener was called: %v", got.Again, got.Called)
	}
}

// Neither does a reply that is nearly as deep as a decoder allows fill the stack.
func TestPanicRejectsItsCallAlone(t *testing.T) {
	s := newSite(t, "", "")
	s.probe(t)
	p := s.page(t)
	p.Allow("panic: on purpose")
	var got []rejection
	p.Do(&got, `
		await a.load({wasmUrl: "/probe.wasm"})
		const calls = ["panic", "fine", "panic", "deep"].map((widgetId) => failure(a.appInit({widgetId})))
		return Promise.all(calls)`)
	for i, r := range got {
		if i%2 == 0 {
			r.want(t, fault.InternalError)
		} else if r.Real || len(r.Value) == 0 {
			t.Errorf("call %d got %+v", i, r)
		}
	}
}

func TestCrashRejectsEveryCallAndNextCallStartsAfresh(t *testing.T) {
	s := newSite(t, "", "")
	s.probe(t)
	p := s.page(t)
	p.Allow("Maximum call stack")
	for how, code := range map[string]int{"crash": 2, "exit": 3, "recurse": 2} {
		var got struct {
			Open  []rejection `json:"open"`
			Late  rejection   `json:"late"`
			Exits []int       `json:"exits"`
		}
		p.Do(&got, `
			const exits = []
			const exited = new Promise((done) => a.load({wasmUrl: "/probe.wasm", onExit: (code) => { exits.push(code); done() }}))
			await a.load()
			const open = [failure(a.appInit({widgetId: "never"})), failure(a.appInit({widgetId: "`+how+`"}))]
			await exited
			dispatchEvent(new Event("poke"))
			await tick(50)
			await a.load({wasmUrl: "/probe.wasm"})
			const late = await failure(a.appInit({widgetId: "fine"}))
			await a.dispose()
			return {open: await Promise.all(open), late, exits}`)
		for _, r := range got.Open {
			r.want(t, fault.InternalError, "ended unexpectedly")
		}
		if got.Late.Real || len(got.Late.Value) == 0 {
			t.Errorf("%s: the fresh runtime answered %+v", how, got.Late)
		}
		if len(got.Exits) != 1 || got.Exits[0] != code {
			t.Errorf("%s: onExit was called with %v, want %d", how, got.Exits, code)
		}
	}
}
