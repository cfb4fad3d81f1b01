//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/browsertest"
)

const (
	// startLimit bounds the time until the program runs: starting a browser
	// and compiling wasm take about a second, or many on a loaded machine.
	startLimit = 2 * time.Minute
	// timeoutGrace is what a test gets beyond its own -test.timeout, to
	// report the time-out itself with the stacks of its goroutines.
	timeoutGrace = 5 * time.Second
)

// settings are one run.
type settings struct {
	program string   // path of the wasm file
	args    []string // command line of the program, its name included
	env     []string // patterns of further environment variables
	flags   []string // further browser flags
	mic     string   // WAV file, or empty
	visible bool
	stdout  io.Writer
	stderr  io.Writer
}

//go:embed page.js
var pageScript string

// bindingName is the global through which page.js reports. The script takes it
// off the page before the program starts.
const bindingName = "goJSWasmExecReport"

// report is what page.js reports: output, the start and end of the program, or
// why it cannot run.
type report struct {
	Kind string `json:"kind"` // "write", "run", "exit", "fail"
	FD   int    `json:"fd"`
	Data []byte `json:"data"` // base64 in JSON
	Code int    `json:"code"`
	Text string `json:"text"`
}

// run runs the program and returns its exit code.
func run(ctx context.Context, s settings) (int, error) {
	glue, err := loadGlue()
	if err != nil {
		return 0, err
	}
	cfg, err := newPageConfig(s)
	if err != nil {
		return 0, err
	}
	expression, err := startExpression(cfg, glue)
	if err != nil {
		return 0, err
	}

	files := newFileServer(cfg.Secret)
	defer files.close()
	origin, stopServer, err := serve(s.program, files)
	if err != nil {
		return 0, err
	}
	defer stopServer()

	startCtx, cancel := context.WithTimeoutCause(ctx, startLimit,
		fmt.Errorf("the program did not start within %v", startLimit))
	defer cancel()
	r := newReceiver(s.stdout, s.stderr)
	browser, err := browsertest.Start(startCtx, browsertest.Options{
		Visible:    s.visible,
		Flags:      s.flags,
		Microphone: s.mic,
		Console:    r.console,
	})
	if err != nil {
		return 0, err
	}
	defer browser.Close()
	page, err := browser.NewPage(startCtx, "")
	if err != nil {
		return 0, err
	}
	if err := page.Expose(startCtx, bindingName, r.receive); err != nil {
		return 0, err
	}
	if err := page.Navigate(startCtx, origin); err != nil {
		return 0, err
	}
	profile := cpuProfilePath(s.args)
	if profile != "" {
		if err := startProfile(startCtx, page); err != nil {
			return 0, err
		}
	}
	page.OnNavigate(func(string) {
		r.pass(report{Kind: "fail", Text: "the page was left or reloaded before the program ended"})
	})
	if err := page.Eval(startCtx, expression, nil); err != nil {
		return 0, err
	}
	code, err := wait(ctx, startCtx, page, r.reports, testTimeout(s.args))
	if err != nil || profile == "" {
		return code, err
	}
	return code, stopProfile(ctx, page, profile)
}

// wait waits for the program to start and end. timeout is what the program
// allows itself, 0 for no limit.
func wait(ctx, startCtx context.Context, page *browsertest.Page, reports <-chan report, timeout time.Duration) (int, error) {
	start := startCtx.Done()
	var overdue <-chan time.Time
	for {
		select {
		case r := <-reports:
			switch r.Kind {
			case "run":
				start = nil
				if timeout > 0 {
					overdue = time.After(timeout + timeoutGrace)
				}
			case "exit":
				return r.Code, nil
			case "fail":
				return 0, errors.New(r.Text)
			}
		case <-page.Done():
			return 0, fmt.Errorf("the program did not end: %w", page.Err())
		case <-start:
			return 0, context.Cause(startCtx)
		case <-overdue:
			return 0, fmt.Errorf("the program is still busy %v after its -test.timeout of %v: "+
				"it never yields to the page, which is killed", timeoutGrace, timeout)
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// receiver takes in what the page says, on the goroutine that reads the
// DevTools connection.
type receiver struct {
	stdout, stderr io.Writer
	reports        chan report
	ended          bool // only that goroutine uses it
}

func newReceiver(stdout, stderr io.Writer) *receiver {
	const startAndEnd = 2
	return &receiver{stdout: stdout, stderr: stderr, reports: make(chan report, startAndEnd)}
}

// receive handles one report: output is written at once, the rest passed on.
func (r *receiver) receive(payload string) {
	var rep report
	if err := json.Unmarshal([]byte(payload), &rep); err != nil {
		rep = report{Kind: "fail", Text: fmt.Sprintf("unreadable report from the page: %v", err)}
	}
	if rep.Kind != "write" {
		r.pass(rep)
		return
	}
	out := r.stdout
	if rep.FD == 2 {
		out = r.stderr
	}
	if _, err := out.Write(rep.Data); err != nil {
		r.pass(report{Kind: "fail", Text: fmt.Sprintf("output of the program: %v", err)})
	}
}

func (r *receiver) pass(rep report) {
	if r.ended {
		return
	}
	r.ended = rep.Kind != "run"
	r.reports <- rep
}

// console prints what scripts say and exceptions. The browser's own entries,
// such as a refused connection, are left out, because tests provoke those on
// purpose; so is what comes after the end, when each timer and listener that
// the program left finds that it has exited.
func (r *receiver) console(m browsertest.Message) {
	if m.Source == "" && !r.ended {
		fmt.Fprintln(r.stderr, m)
	}
}

// testTimeout returns the value of -test.timeout in args, 0 if there is none.
func testTimeout(args []string) time.Duration {
	d, err := time.ParseDuration(testFlag(args, "timeout"))
	if err != nil { // the program itself complains of a wrong value
		return 0
	}
	return d
}

// testFlag returns the last value of the test flag name in args, in any form
// that package flag accepts.
func testFlag(args []string, name string) (value string) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		key, v, ok := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if key != "-test."+name && key != "test."+name {
			continue
		}
		if !ok && i+1 < len(args) {
			v = args[i+1]
		}
		value = v
	}
	return value
}

const pageHTML = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>go_js_wasm_exec</title><link rel="icon" href="data:,"></head>
<body></body>
</html>
`

// serve serves an empty page, the program and the file system on a loopback
// port of its own. It returns the page's URL.
func serve(program string, files http.Handler) (origin string, stop func(), err error) {
	if _, err := os.Stat(program); err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, pageHTML)
	})
	mux.HandleFunc("GET "+programPath, func(w http.ResponseWriter, r *http.Request) {
		// Streaming compilation needs exactly this type, without parameters.
		w.Header().Set("Content-Type", "application/wasm")
		http.ServeFile(w, r, program)
	})
	mux.Handle("POST "+filesPath+"{op}", files)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: mux}
	go server.Serve(listener)
	return "http://" + listener.Addr().String() + "/", func() { server.Close() }, nil
}
