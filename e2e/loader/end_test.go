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

func TestPanicRejectsItsCallAlone(t *testing.T) {
	s := newSite(t, "", "")
	s.probe(t)
	p := s.page(t)
	p.Allow("panic: on purpose")
	var got []rejection
	p.Do(&got, `
		await a.load({wasmUrl: "/probe.wasm"})
		const calls = ["panic", "fine", "panic"].map((widgetId) => failure(a.appInit({widgetId})))
		return Promise.all(calls)`)
	got[0].want(t, fault.InternalError)
	got[2].want(t, fault.InternalError)
	if got[1].Real || len(got[1].Value) == 0 {
		t.Errorf("the other call got %+v", got[1])
	}
}

func TestCrashRejectsEveryCallAndNextCallStartsAfresh(t *testing.T) {
	for _, how := range []string{"crash", "exit", "recurse"} {
		t.Run(how, func(t *testing.T) {
			s := newSite(t, "", "")
			s.probe(t)
			p := s.page(t)
			p.Allow("Maximum call stack")
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
				return {open: await Promise.all(open), late: await failure(a.appInit({widgetId: "fine"})), exits}`)
			for _, r := range got.Open {
				r.want(t, fault.InternalError, "ended unexpectedly")
			}
			if got.Late.Real || len(got.Late.Value) == 0 {
				t.Errorf("the fresh runtime answered %+v", got.Late)
			}
			code := map[string]int{"crash": 2, "exit": 3, "recurse": 2}[how]
			if len(got.Exits) != 1 || got.Exits[0] != code {
				t.Errorf("onExit was called with %v, want %d", got.Exits, code)
			}
		})
	}
}

func TestDeepJSONDoesNotFillTheStack(t *testing.T) {
	s := newSite(t, "", "")
	s.probe(t)
	p := s.page(t)
	var ks string
	p.Do(&ks, `
		await a.load({wasmUrl: "/probe.wasm"})
		return (await a.appInit({widgetId: "deep"})).ks`)
	if ks != "deep" {
		t.Errorf("got %q", ks)
	}
}
