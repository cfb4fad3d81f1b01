package browsers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/nodetest"
)

// patience bounds each script in a page; only a failing one comes near it.
const patience = time.Minute

// driver opens one page at a time in a browser.
type driver interface {
	// open opens an address.
	open(t *testing.T, url string)
	// run runs the body of an async function in the page and returns what that returns, as JSON.
	run(t *testing.T, body string) json.RawMessage
	// leave leaves the page for an empty one, as a visitor does.
	leave(t *testing.T)
}

// do runs body in the page and stores what it returns in out, unless that is nil.
func do(t *testing.T, d driver, out any, body string) {
	t.Helper()
	value := d.run(t, body)
	if out == nil {
		return
	}
	if err := json.Unmarshal(value, out); err != nil {
		t.Fatalf("%s: %v", value, err)
	}
}

// find returns the first program that exists. Without one the test is skipped; `make
// browsers` installs the programs where it can, and requires Firefox.
func find(t *testing.T, programs ...string) string {
	t.Helper()
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("none of %s is installed", strings.Join(programs, ", "))
	return ""
}

// firefox is driven through a script.
type firefox struct {
	script  *nodetest.Script
	replies chan reply
}

type reply struct {
	Value json.RawMessage `json:"value"`
	Error string          `json:"error"`
}

func startFirefox(t *testing.T) driver {
	t.Helper()
	f := &firefox{replies: make(chan reply, 1)}
	f.script = nodetest.Start(t, "testdata/firefox.mjs", func(line string) {
		var r reply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			r.Error = line
		}
		f.replies <- r
	}, find(t, "firefox-esr", "firefox"))
	go func() {
		f.script.Wait()
		close(f.replies)
	}()
	return f
}

func (f *firefox) command(t *testing.T, name string, argument any) json.RawMessage {
	t.Helper()
	line := must.Get(json.Marshal(map[string]any{name: argument}))(t)
	must.Get(f.script.Write(append(line, '\n')))(t)
	r, ok := <-f.replies
	if !ok {
		t.Fatalf("%s: the browser has ended", name)
	}
	if r.Error != "" {
		t.Fatalf("%s: %s", name, r.Error)
	}
	return r.Value
}

func (f *firefox) open(t *testing.T, url string) {
	t.Helper()
	f.command(t, "open", url)
}

func (f *firefox) run(t *testing.T, body string) json.RawMessage {
	t.Helper()
	return f.command(t, "run", body)
}

func (f *firefox) leave(t *testing.T) {
	t.Helper()
	var said []string
	must.Do(t, json.Unmarshal(f.command(t, "leave", true), &said))
	for _, text := range said {
		t.Errorf("the console has an error: %s", text)
	}
}

// webKit is driven over WebDriver (W3C).
type webKit struct{ session string }

// miniBrowser is WebKitGTK's browser for tests, in Debian's folders.
var miniBrowser = []string{
	"/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
	"/usr/lib/aarch64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
}

func startWebKit(t *testing.T) driver {
	t.Helper()
	driver, screen, browser := find(t, "WebKitWebDriver"), find(t, "Xvfb"), find(t, miniBrowser...)
	display := startScreen(t, screen)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	cmd := exec.Command(driver, fmt.Sprintf("--port=%d", port))
	// WebKit's sandbox needs rights that a container may not give.
	cmd.Env = append(os.Environ(), "DISPLAY="+display, "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS=1")
	start(t, cmd)
	awaitListener(t, listener.Addr().String())
	w := &webKit{fmt.Sprintf("http://127.0.0.1:%d/session", port)}
	var made struct{ SessionID string }
	options := map[string]any{"binary": browser, "args": []string{"--automation"}}
	w.call(t, http.MethodPost, "", map[string]any{
		"capabilities": map[string]any{"alwaysMatch": map[string]any{"webkitgtk:browserOptions": options}},
	}, &made)
	w.session += "/" + made.SessionID
	t.Cleanup(func() { w.call(t, http.MethodDelete, "", nil, nil) })
	w.call(t, http.MethodPost, "/timeouts", map[string]any{"script": patience.Milliseconds()}, nil)
	return w
}

// startScreen starts a virtual display and returns its name, once it accepts windows.
func startScreen(t *testing.T, program string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(program, "-displayfd", "3", "-screen", "0", "1024x768x24")
	cmd.ExtraFiles = []*os.File{w}
	start(t, cmd)
	w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("the display did not start: %v", err)
	}
	return ":" + strings.TrimSpace(line)
}

// start starts a program that ends with the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // reports the kill
	})
}

func (w *webKit) call(t *testing.T, method, path string, body, out any) {
	t.Helper()
	data := must.Get(json.Marshal(body))(t)
	// The context of a test has ended when its cleanup runs.
	r := must.Get(http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, w.session+path, bytes.NewReader(data)))(t)
	answer := must.Get(http.DefaultClient.Do(r))(t)
	defer answer.Body.Close()
	var value reply
	if err := json.NewDecoder(answer.Body).Decode(&value); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s %v", method, path, answer.Status, value.Value, err)
	}
	if out != nil {
		if err := json.Unmarshal(value.Value, out); err != nil {
			t.Fatalf("%s: %v", value.Value, err)
		}
	}
}

func (w *webKit) open(t *testing.T, url string) {
	t.Helper()
	w.call(t, http.MethodPost, "/url", map[string]any{"url": url}, nil)
}

func (w *webKit) run(t *testing.T, body string) json.RawMessage {
	t.Helper()
	// As text, because the driver drops nested objects.
	script := `const done = (reply) => arguments[0](JSON.stringify(reply));
(async () => {` + body + `})().then((value) => done({ value }), (error) => done({ error: String(error) }))`
	var text string
	w.call(t, http.MethodPost, "/execute/async", map[string]any{"script": script, "args": []any{}}, &text)
	var r reply
	must.Do(t, json.Unmarshal([]byte(text), &r))
	if r.Error != "" {
		t.Fatal(r.Error)
	}
	return r.Value
}

func (w *webKit) leave(t *testing.T) {
	t.Helper()
	w.open(t, "about:blank")
}

// awaitListener waits until a program accepts connections; it polls, because the program does not report that.
func awaitListener(t *testing.T, address string) {
	t.Helper()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for limit := time.After(patience); ; {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return
		}
		select {
		case <-retry.C:
		case <-limit:
			t.Fatal(err)
		}
	}
}
