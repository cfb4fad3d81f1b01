//go:build js && wasm

package suite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"syscall/js"
	"testing"
	"time"
)

func TestPass(t *testing.T) {
	if Double(2) != 4 {
		t.Error("wrong")
	}
}

func TestFail(t *testing.T) { t.Error("failed as asked") }

func TestPanic(*testing.T) { panic("panicked as asked") }

func TestBusy(*testing.T) {
	fmt.Println("busy now")
	for {
	}
}

func TestSpin(*testing.T) {
	for begin := time.Now(); time.Since(begin) < 300*time.Millisecond; {
		spin(1e5)
	}
}

//go:noinline
func spin(rounds int) (sum int) {
	for i := range rounds {
		sum += i % 7
	}
	return sum
}

func TestBlocked(*testing.T) { <-make(chan int) }

func TestOutOfMemory(*testing.T) {
	js.Global().Get("Function").New(`const a = []; for (;;) a.push(new Array(1e5).fill(a.length))`).Invoke()
}

func TestLeave(*testing.T) {
	js.Global().Get("location").Call("reload")
	time.Sleep(time.Hour)
}

func TestStays(*testing.T) {
	js.Global().Get("history").Call("pushState", nil, "", "?elsewhere")
	js.Global().Get("location").Set("hash", "fragment")
	time.Sleep(50 * time.Millisecond)
}

func TestException(*testing.T) {
	js.Global().Call("setTimeout", js.Global().Get("Function").New(`throw new Error("thrown as asked")`))
	js.Global().Get("console").Call("warn", "warned", 1)
	time.Sleep(50 * time.Millisecond)
}

func TestEnvironment(*testing.T) {
	env := os.Environ()
	slices.Sort(env)
	fmt.Println(strings.Join(env, "\n"))
}

func TestPage(t *testing.T) {
	global := js.Global()
	for _, name := range []string{"Go", "fs", "process", "path", "goJSWasmExecReport"} {
		if !global.Get(name).IsUndefined() {
			t.Errorf("%s is on the page", name)
		}
	}
	for _, name := range []string{"RTCPeerConnection", "WebSocket", "fetch", "document", "window", "AudioContext"} {
		if global.Get(name).IsUndefined() {
			t.Errorf("%s is not on the page", name)
		}
	}
	document := global.Get("document")
	if n := document.Call("querySelectorAll", "body").Length(); n != 1 {
		t.Errorf("%d bodies", n)
	}
	if n := document.Get("body").Get("children").Length(); n != 0 {
		t.Errorf("%d elements in the body", n)
	}
	if !global.Get("isSecureContext").Bool() || !strings.HasPrefix(global.Get("origin").String(), "http://127.0.0.1:") {
		t.Errorf("origin %s", global.Get("origin"))
	}
}

// await waits for a promise and returns what it resolves to.
func await(t *testing.T, promise js.Value) js.Value {
	t.Helper()
	results := make(chan js.Value, 1)
	settled := js.FuncOf(func(_ js.Value, args []js.Value) any {
		results <- args[0]
		return nil
	})
	defer settled.Release()
	promise.Call("then", settled, settled)
	return <-results
}

func TestOtherOrigin(t *testing.T) {
	url := os.Getenv("AGENTRUNTIME_TEST_URL")
	got := await(t, js.Global().Get("Function").New("url", `return fetch(url).then(r => r.text())`).Invoke(url))
	if got.String() != "fetched" {
		t.Errorf("fetch: %s", got)
	}
	got = await(t, js.Global().Get("Function").New("url", `return new Promise((resolve, reject) => {
		const socket = new WebSocket(url.replace("http", "ws") + "/socket");
		socket.onmessage = event => resolve(event.data);
		socket.onerror = () => reject(Error("socket failed"));
	})`).Invoke(url))
	if got.String() != "received" {
		t.Errorf("socket: %s", got)
	}
}

func TestMicrophone(t *testing.T) {
	got := await(t, js.Global().Get("Function").New(`return navigator.mediaDevices.getUserMedia({audio: true})
		.then(stream => stream.getAudioTracks()[0].readyState, e => e.name)`).Invoke())
	if got.String() != "live" {
		t.Errorf("microphone is %s", got)
	}
}

func TestLanguage(*testing.T) { fmt.Println(js.Global().Get("navigator").Get("language")) }

func TestReadsTestdata(t *testing.T) {
	data, err := os.ReadFile("testdata/note.txt")
	if err != nil || string(data) != "read me from the page\n" {
		t.Errorf("got %q, %v", data, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.MkdirAll("a/b", 0o750))
	content := make([]byte, 1<<20)
	for i := range content {
		content[i] = byte(i * 7)
	}
	must(t, os.WriteFile("a/data", content, 0o640))
	got, err := os.ReadFile("a/data")
	must(t, err)
	if !slices.Equal(got, content) {
		t.Error("a megabyte of bytes comes back changed")
	}

	f, err := os.OpenFile("a/log", os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	must(t, err)
	_, err = f.WriteString("one,")
	must(t, err)
	_, err = f.WriteString("two")
	must(t, err)
	_, err = f.Seek(-3, io.SeekEnd)
	must(t, err)
	tail, err := io.ReadAll(f)
	must(t, err)
	if string(tail) != "two" {
		t.Errorf("tail %q", tail)
	}
	must(t, f.Truncate(3))
	must(t, f.Sync())
	must(t, f.Close())
	if _, err := f.Write(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}

	must(t, os.Rename("a/log", "a/b/log"))
	must(t, os.Symlink("b/log", "a/link"))
	if data, err := os.ReadFile("a/link"); err != nil || string(data) != "one" {
		t.Errorf("through the link: %q, %v", data, err)
	}
	if to, err := os.Readlink("a/link"); err != nil || to != "b/log" {
		t.Errorf("link to %q, %v", to, err)
	}
	must(t, os.Link("a/data", "a/hard"))
	one, err := os.Stat("a/data")
	must(t, err)
	two, err := os.Stat("a/hard")
	must(t, err)
	if !os.SameFile(one, two) || one.Size() != 1<<20 || one.Mode() != 0o640 {
		t.Errorf("stat: %v %v", one, two)
	}
	when := time.Unix(1_700_000_000, 0)
	must(t, os.Chtimes("a/data", when, when))
	must(t, os.Chmod("a/data", 0o400))
	one, err = os.Stat("a/data")
	must(t, err)
	if !one.ModTime().Equal(when) || one.Mode() != 0o400 {
		t.Errorf("after chtimes and chmod: %v %v", one.ModTime(), one.Mode())
	}
	must(t, os.Truncate("a/b/log", 1))

	var names []string
	must(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	if want := []string{".", "a", "a/b", "a/b/log", "a/data", "a/hard", "a/link"}; !slices.Equal(names, want) {
		t.Errorf("walked %v, want %v", names, want)
	}

	for _, c := range []struct {
		err, want error
	}{
		{os.Mkdir("a", 0o700), fs.ErrExist},
		{os.Remove("missing"), fs.ErrNotExist},
		{os.Chdir("a/data"), syscall.ENOTDIR},
		{os.Remove("a"), syscall.ENOTEMPTY},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("got %v, want %v", c.err, c.want)
		}
	}
	must(t, os.RemoveAll("a"))
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// Files must work where nothing may wait: in a function that the page calls.
func TestFilesInCallback(t *testing.T) {
	var data []byte
	var err error
	read := js.FuncOf(func(js.Value, []js.Value) any {
		data, err = os.ReadFile("testdata/note.txt")
		return nil
	})
	defer read.Release()
	js.Global().Get("Function").New("f", "f()").Invoke(read)
	if err != nil || len(data) == 0 {
		t.Errorf("got %q, %v", data, err)
	}
}
