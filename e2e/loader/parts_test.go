package loader

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// restOf returns the path of the second part of a program.
func restOf(t *testing.T, program string) string {
	t.Helper()
	files := must.Get(os.ReadDir(dist))(t)
	for _, f := range files {
		if strings.HasPrefix(f.Name(), program+".rest-") && strings.HasSuffix(f.Name(), ".wasm") {
			return "/a/" + f.Name()
		}
	}
	t.Skipf("%s has no second part; make split builds programs that have one", program)
	return ""
}

// rare calls functions that no conversation needs, and so are in the second part.
const rare = `const rare = () => failure(a.visitor({ks: "conversation", genieUrl: location.origin}).threads.setAnalysis("thread", {mood: "good"}))
`

// Without the second part a call that needs it fails with a typed error that a page may retry, and the next call
// starts the program again.
func TestWithoutTheSecondPartACallFails(t *testing.T) {
	s := newSite(t, "", "")
	s.file("POST /v1/thread/update", "application/json", []byte(`{"id":"thread","title":"A thread"}`))
	rest := restOf(t, "chat")
	var deployed atomic.Bool
	files := http.StripPrefix("/a/", http.FileServer(http.Dir(dist)))
	s.mux.HandleFunc(rest, func(w http.ResponseWriter, r *http.Request) {
		if !deployed.Load() {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		files.ServeHTTP(w, r)
	})
	s.mux.HandleFunc("/deploy", func(http.ResponseWriter, *http.Request) { deployed.Store(true) })
	p := s.page(t)
	p.Prelude += rare
	p.Allow("local or private host")
	p.Allow("Failed to load resource")
	p.Allow("cannot be fetched: HTTP 503")
	var got struct {
		Failed rejection
		Again  struct{ Value struct{ ID string } }
	}
	p.Do(&got, `
		await a.load({program: "chat"})
		const failed = await rare()
		await fetch("/deploy")
		return {failed, again: await rare()}`)
	got.Failed.want(t, fault.LoadFailed, rest, "HTTP 503")
	if !got.Failed.Retryable {
		t.Error("the error says that it can't be retried")
	}
	expect.Equal(t, got.Again.Value.ID, "thread", "the next call: %+v", got.Again)
}

// A page in which something of the language was replaced, so that the table of values can't be made again, starts the
// program from the beginning.
func TestAPageOfAnotherKindStartsTheProgramFromTheBeginning(t *testing.T) {
	s := newSite(t, "", "")
	s.serve()
	p := s.page(t)
	p.Prelude = `Reflect.construct.bind = () => Reflect.construct // not a new function
		` + p.Prelude + initWith
	p.Allow("local or private host")
	p.Allow("the program starts from the beginning")
	var ks string
	p.Do(&ks, `return init(a)`)
	expect.Equal(t, ks, "conversation", "token")
	warned := 0
	for _, m := range p.Console() {
		if strings.Contains(m.Text, "the program starts from the beginning") {
			warned++
		}
	}
	if warned != 1 {
		t.Errorf("warned %d times: %v", warned, p.Console())
	}
}
