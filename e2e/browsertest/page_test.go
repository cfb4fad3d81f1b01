//go:build !js

package browsertest

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// TestPage runs the tests that can share a browser in one browser.
func TestPage(t *testing.T) {
	b := startBrowser(t, Options{})
	for name, test := range map[string]func(*testing.T, *Browser){
		"EvalReturnsValuesAndAwaitsPromises": testEvalValues,
		"EvalReturnsWhatIsThrown":            testEvalErrors,
		"EvalEndsWithItsContext":             testEvalContext,
		"ConsoleCollectsInOrder":             testConsole,
		"DialogsDoNotBlock":                  testDialogs,
		"PagesAreIsolated":                   testIsolation,
		"AddedScriptRunsFirst":               testAddScript,
		"NavigationIsReported":               testNavigation,
		"CrashEndsThePage":                   testCrash,
		"ClosedTabEndsThePage":               testClosedTab,
		"BusyPageCanBeClosed":                testBusyClose,
		"CPUThrottleSlowsScripts":            testThrottle,
		"DownloadIsLimited":                  testDownload,
		"HeapCountsBuffers":                  testHeap,
		"HiddenPageKnowsIt":                  testHidden,
		"PermissionIsAsSet":                  testPermission,
		"ClickIsAUserGesture":                testClick,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

func testEvalValues(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	if got := eval[int](t, ctx, p, `new Promise(r => setTimeout(r, 5, 42))`); got != 42 {
		t.Errorf("got %d, want 42", got)
	}
	if got := eval[map[string]any](t, ctx, p, `({a: [1, "ü"]})`); got["a"].([]any)[1] != "ü" {
		t.Errorf("got %v", got)
	}
	if got := eval[*int](t, ctx, p, `undefined`); got != nil {
		t.Errorf("undefined: got %v, want nil", *got)
	}
	if got := eval[bool](t, ctx, p, `isSecureContext && !crossOriginIsolated`); !got {
		t.Error("not a plain secure context")
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

func testEvalContext(t *testing.T, b *Browser) {
	p, _ := newPage(t, b, "")
	cause := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 50*time.Millisecond, cause)
	defer cancel()
	if err := p.Eval(ctx, `new Promise(() => {})`, nil); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
	if p.Err() != nil {
		t.Errorf("the page ended as well: %v", p.Err())
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

func testDialogs(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	if !eval[bool](t, ctx, p, `confirm("sure?")`) {
		t.Error("confirm was not accepted")
	}
	want := Message{Type: TypeDialog, Text: "confirm: sure?", URL: eval[string](t, ctx, p, `location.href`)}
	if got := p.Console(); !slices.Equal(got, []Message{want}) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func testIsolation(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	eval[any](t, ctx, p, `localStorage.x = document.cookie = "x=1"`)
	other, err := b.NewPage(ctx, eval[string](t, ctx, p, `location.href`))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if got := eval[string](t, ctx, other, `localStorage.length + document.cookie`); got != "0" {
		t.Errorf("the other page sees %q", got)
	}
}

func testAddScript(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, `<script>seen = early</script>`)
	if err := p.AddScript(ctx, `globalThis.early = 7`); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(ctx, chromedp.Reload()); err != nil {
		t.Fatal(err)
	}
	if got := eval[int](t, ctx, p, `seen`); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
}

func testNavigation(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	urls := make(chan string, 2)
	p.OnNavigate(func(url string) { urls <- url })
	base := eval[string](t, ctx, p, `history.pushState(0, "", "same-document"), location.origin`)
	eval[any](t, ctx, p, `document.body.append(document.createElement("iframe"))`)
	eval[any](t, ctx, p, `void (location.href = "/other")`)
	if got, want := <-urls, base+"/other"; got != want {
		t.Errorf("navigated to %s, want %s", got, want)
	}
}

func testCrash(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	result := make(chan error, 1)
	go func() { result <- p.Eval(ctx, `new Promise(() => {})`, nil) }()
	// The command has no response, because the page's process has ended.
	err := p.call(ctx, func(ctx context.Context, s *chromedp.Target) error {
		_, err := cdp.Call(ctx, s, page.Crash, cdp.Empty{})
		return err
	})
	if !errors.Is(err, ErrCrashed) {
		t.Errorf("crash: got %v, want %v", err, ErrCrashed)
	}
	awaitEnd(t, p, ErrCrashed)
	if err := <-result; !errors.Is(err, ErrCrashed) {
		t.Errorf("pending Eval: got %v, want %v", err, ErrCrashed)
	}
}

func testClosedTab(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	tab := chromedp.FromContext(p.tab)
	if _, err := cdp.Call(ctx, tab.Browser, target.CloseTarget, target.CloseTargetParams{TargetID: tab.Target.TargetID}); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, p, ErrPageClosed)
}

func testBusyClose(t *testing.T, b *Browser) {
	p, _ := newPage(t, b, "")
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := p.Eval(ctx, `for (;;) {}`, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
	begin := time.Now()
	p.Close()
	t.Logf("closed in %v", time.Since(begin))
	if !errors.Is(p.Err(), ErrPageClosed) {
		t.Errorf("got %v, want %v", p.Err(), ErrPageClosed)
	}
	newPage(t, b, "") // the browser itself is well
}

func testThrottle(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	const work = `(() => { const t = performance.now(); let x = 0; for (let i = 0; i < 2e7; i++) x += i % 7; return performance.now() - t })()`
	// A loaded machine distorts all times: the shortest of several shows how fast
	// the page can be, and the margin is wide.
	shortest := func() float64 {
		best := eval[float64](t, ctx, p, work)
		for range 4 {
			best = min(best, eval[float64](t, ctx, p, work))
		}
		return best
	}
	fast := shortest()
	const factor = 20
	if err := p.SetCPUThrottle(ctx, factor); err != nil {
		t.Fatal(err)
	}
	if slow := shortest(); slow < 2*fast {
		t.Errorf("%v ms throttled, %v ms at full speed", slow, fast)
	}
}

func testDownload(t *testing.T, b *Browser) {
	const (
		size      = 100_000   // bytes
		bandwidth = 2_000_000 // bits per second
		latency   = 200 * time.Millisecond
	)
	p, ctx := newPage(t, b, strings.Repeat("x", size))
	if err := p.SetDownload(ctx, latency, bandwidth); err != nil {
		t.Fatal(err)
	}
	got := eval[struct{ Head, Body float64 }](t, ctx, p, `(async () => {
		const began = performance.now()
		const response = await fetch("/")
		const head = performance.now() - began
		await response.text()
		return {head, body: performance.now() - began}
	})()`)
	if got.Head < 200 || got.Body < 1000*8*size/bandwidth {
		t.Errorf("the response took %.0f ms to begin and %.0f ms to end", got.Head, got.Body)
	}
}

func testHeap(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	heap := func() float64 {
		bytes, err := p.Heap(ctx)
		if err != nil {
			t.Fatal(err)
		}
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

func testHidden(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, `<script>seen = []; onvisibilitychange = document.onvisibilitychange =
		() => seen.push(document.visibilityState)</script>`)
	for _, hidden := range []bool{true, false} {
		if err := p.SetHidden(ctx, hidden); err != nil {
			t.Fatal(err)
		}
		eval[any](t, ctx, p, map[bool]string{
			true:  `new Promise(r => { const f = () => document.hidden ? r() : setTimeout(f, 10); f() })`,
			false: `new Promise(r => { const f = () => document.hidden ? setTimeout(f, 10) : r(); f() })`,
		}[hidden])
	}
	if got := eval[[]string](t, ctx, p, `seen`); !slices.Equal(got, []string{"hidden", "visible"}) {
		t.Errorf("got %v", got)
	}
}

func testPermission(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, "")
	for _, setting := range []struct {
		set  func() error
		want string
	}{
		{func() error { return p.SetPermission(ctx, "microphone", Granted) }, "granted"},
		{func() error { return p.SetPermission(ctx, "microphone", Denied) }, "denied"},
	} {
		if err := setting.set(); err != nil {
			t.Fatal(err)
		}
		if got := eval[string](t, ctx, p, `navigator.permissions.query({name: "microphone"}).then(p => p.state)`); got != setting.want {
			t.Errorf("got %s, want %s", got, setting.want)
		}
	}
	if err := p.SetPermission(ctx, "telepathy", Granted); err == nil {
		t.Error("an unknown permission is accepted")
	}
}

func testClick(t *testing.T, b *Browser) {
	p, ctx := newPage(t, b, `<button id=b onclick="gesture = navigator.userActivation.isActive && event.isTrusted">x</button>`)
	if err := p.Click(ctx, "#b"); err != nil {
		t.Fatal(err)
	}
	if !eval[bool](t, ctx, p, `gesture`) {
		t.Error("the click is no user gesture")
	}
}

//go:embed testdata/microphone.js
var microphone string

func TestMicrophonePlaysTheFile(t *testing.T) {
	b := startBrowser(t, Options{Microphone: writeTone(t)})
	p, ctx := newPage(t, b, "")
	loudness := eval[float64](t, ctx, p, microphone)
	if loudness > 0.6 {
		t.Errorf("peak %.2f, the file has 0.5", loudness)
	}
	if err := p.SetPermission(ctx, "microphone", Denied); err != nil {
		t.Fatal(err)
	}
	got := eval[string](t, ctx, p, `navigator.mediaDevices.getUserMedia({audio: true}).then(() => "ok", e => e.name)`)
	if got != "NotAllowedError" {
		t.Errorf("denied microphone: got %s", got)
	}
}

func TestMicrophoneThatIsMissingIsAnError(t *testing.T) {
	if _, err := Start(t.Context(), Options{Microphone: "nothing.wav"}); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v, want %v", err, os.ErrNotExist)
	}
}

// writeTone writes one second of a 440 Hz tone of half the full scale.
func writeTone(t *testing.T) string {
	const rate = 48000
	samples := make([]int16, rate)
	for i := range samples {
		samples[i] = int16(math.MaxInt16 / 2 * math.Sin(2*math.Pi*440*float64(i)/rate))
	}
	var b bytes.Buffer
	b.WriteString("RIFF")
	binary.Write(&b, binary.LittleEndian, uint32(36+2*len(samples)))
	b.WriteString("WAVEfmt ")
	binary.Write(&b, binary.LittleEndian, struct {
		Size              uint32
		Format, Channels  uint16
		Rate, BytesPerSec uint32
		Align, Bits       uint16
	}{16, 1, 1, rate, 2 * rate, 2, 16})
	b.WriteString("data")
	binary.Write(&b, binary.LittleEndian, uint32(2*len(samples)))
	binary.Write(&b, binary.LittleEndian, samples)
	path := filepath.Join(t.TempDir(), "tone.wav")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConsoleTextOfValues(t *testing.T) {
	for _, c := range []struct {
		object runtime.RemoteObject
		want   string
	}{
		{runtime.RemoteObject{Type: runtime.RemoteObjectTypeString, Value: []byte(`"a\"b"`)}, `a"b`},
		{runtime.RemoteObject{Type: runtime.RemoteObjectTypeNumber, UnserializableValue: "-0"}, "-0"},
		{runtime.RemoteObject{Type: runtime.RemoteObjectTypeUndefined}, "undefined"},
		{runtime.RemoteObject{Type: runtime.RemoteObjectTypeFunction, Description: "() => 1"}, "() => 1"},
	} {
		if got := consoleText(&c.object); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
