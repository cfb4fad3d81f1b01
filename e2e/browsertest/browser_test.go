//go:build !js

package browsertest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
)

// patience is far more than any step here takes.
const patience = time.Minute

func TestMain(m *testing.M) { leaktest.Main(m) }

func startBrowser(t *testing.T, o Options) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b := must.Get(Start(ctx, o))(t)
	t.Cleanup(b.Close)
	return b
}

// newPage opens a page on a server that answers every request with body.
func newPage(t *testing.T, b *Browser, body string) (*Page, context.Context) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	p := must.Get(b.NewPage(ctx, srv.URL))(t)
	t.Cleanup(p.Close)
	return p, ctx
}

func eval[T any](t *testing.T, ctx context.Context, p *Page, js string) T {
	t.Helper()
	var out T
	if err := p.Eval(ctx, js, &out); err != nil {
		t.Fatalf("%s: %v", js, err)
	}
	return out
}

// TestPage has what would hide failures of pages if it were broken; the rest fails in the tests of pages.
func TestPage(t *testing.T) {
	b := startBrowser(t, Options{})
	for name, test := range map[string]func(*testing.T, *Browser){
		"EvalReturnsWhatIsThrown": testEvalErrors,
		"ConsoleCollectsInOrder":  testConsole,
		"HeapCountsBuffers":       testHeap,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

func testEvalErrors(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	for js, want := range map[string]string{
		`(() => { throw "bare" })()`:                     "eval: Uncaught bare",
		`Promise.reject(Object.assign(Error(), {a: 1}))`: "eval: Uncaught (in promise) Error",
		`nothing.here`:   "eval: Uncaught ReferenceError: nothing is not defined",
		`"not a number"`: "eval: json: cannot unmarshal string into Go value of type int",
	} {
		var out int
		err := p.Eval(ctx, js, &out)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s…", js, err, want)
		}
	}
}

func testConsole(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, `<script>
		console.log("a", 1, {b: true}, [2], null, undefined, NaN);
		console.error(new TypeError("broken"));
		Promise.reject(new Error("nobody caught me"));
	</script><img src="http://127.0.0.1:1/nothing">`)
	eval[any](t, ctx, p, `new Promise(r => setTimeout(r))`)
	messages := p.Console()
	find := func(typ, source, text string) int {
		return slices.IndexFunc(messages, func(m Message) bool {
			return m.Type == typ && m.Source == source && strings.HasPrefix(m.Text, text)
		})
	}
	logged := find("log", "", "a 1 Object {b: true} Array(1) {0: 2} null undefined NaN")
	failed := find("error", "", "TypeError: broken")
	thrown := find(TypeException, "", "Uncaught (in promise) Error: nobody caught me")
	refused := find("error", "network", "Failed to load resource")
	if logged < 0 || failed < logged || thrown < failed || refused < 0 {
		t.Errorf("%d %d %d %d in %v", logged, failed, thrown, refused, messages)
	}
}

func testHeap(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	heap := func() float64 {
		bytes := must.Get(p.Heap(ctx))(t)
		return bytes
	}
	const size = 50_000_000
	before := heap()
	eval[any](t, ctx, p, fmt.Sprintf(`(globalThis.kept = new Uint8Array(%d).fill(1), null)`, size))
	held := heap()
	eval[any](t, ctx, p, `(globalThis.kept = null)`)
	if after := heap(); held-before < size || after-before > size/2 {
		t.Errorf("%.0f bytes before, %.0f with %d more, %.0f without them", before, held, size, after)
	}
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	b := startBrowser(t, Options{})
	newPage(t, b, "")
	if entries, _ := os.ReadDir(tmp); len(entries) == 0 {
		t.Fatal("the profile is not in TMPDIR")
	}
	b.Close()
	entries, err := os.ReadDir(tmp)
	if err != nil || len(entries) != 0 {
		t.Errorf("left in TMPDIR: %v, %v", entries, err)
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, process := range processes {
		if cmdline, _ := os.ReadFile(process); bytes.Contains(cmdline, []byte(tmp)) {
			t.Errorf("still running: %s %q", process, cmdline)
		}
	}
}
