//go:build unix

// Command go_js_wasm_exec runs a Go program for GOOS=js GOARCH=wasm, usually a
// test binary, in a page of headless Chromium:
//
//	go install ./internal/browsertest/cmd/go_js_wasm_exec
//	GOOS=js GOARCH=wasm go test ./internal/jsbridge
//
// go test and go run find it on PATH by its name, or are given its path with
// -exec. It takes the command line of wasmbrowsertest,
//
//	go_js_wasm_exec [flags] program.wasm [arguments]
//
// so that either program can be used, and adds flags before the program, each
// of which an environment variable sets as well:
//
//	-env A,B_*   AGENTRUNTIME_BROWSER_ENV    further environment variables to pass
//	-flags "…"   AGENTRUNTIME_BROWSER_FLAGS  further browser flags, space-separated
//	-mic x.wav   AGENTRUNTIME_FAKE_MIC       what the page hears as its microphone
//	             WASM_HEADLESS=off           show the browser
//	             AGENTRUNTIME_CHROME, CHROME the browser program
//	             AGENTRUNTIME_NO_SANDBOX=1   run without the sandbox, as for root
//
// The program sees a page on http://127.0.0.1 with an empty body, the native
// file system (working directory and testdata included, so coverage and
// profiles come back), and a few environment variables, because Go for js has
// less than 8 KiB for arguments and environment together: see defaultEnv. Of
// the names that wasm_exec.js and Node would leave in the page (Go, fs,
// process, path) none remains when main runs.
//
// Output streams through as it is written, console messages and uncaught
// exceptions of the page go to standard error, and the exit code is the
// program's own. A page that crashes, closes, is navigated away, cannot
// instantiate the program, or is busy for longer than -test.timeout allows ends
// the run with exit code 1 and the reason. -test.cpuprofile gets the browser's
// profile of the program, because Go has no CPU profiler for js.
//
// It must not know what the program tests: nothing of this project but
// internal/browsertest is imported.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const (
	// exitTrouble reports that the program could not be run to its end.
	exitTrouble = 1
	// exitUsage is what Go programs return for a wrong command line.
	exitUsage = 2
	// exitInterrupted is what shells report for an interrupted program.
	exitInterrupted = 128 + int(syscall.SIGINT)
)

func main() {
	// go test sends SIGQUIT to a test that overstays; it must not leave a
	// browser behind either. With SIGPIPE ignored, a reader of the output that
	// leaves is a write error.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	code := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// command runs the command line args and returns the exit code.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("go_js_wasm_exec", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: go_js_wasm_exec [flags] program.wasm [arguments]")
		flags.PrintDefaults()
	}
	env := flags.String("env", os.Getenv("AGENTRUNTIME_BROWSER_ENV"), "`names` of further environment variables to pass, comma-separated, * at the end for a prefix")
	browserFlags := flags.String("flags", os.Getenv("AGENTRUNTIME_BROWSER_FLAGS"), "further browser `flags`, space-separated")
	mic := flags.String("mic", os.Getenv("AGENTRUNTIME_FAKE_MIC"), "WAV `file` for the fake microphone")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return exitUsage
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return exitUsage
	}
	code, err := run(ctx, settings{
		program: flags.Arg(0),
		args:    flags.Args(),
		env:     strings.Split(*env, ","),
		flags:   strings.Fields(*browserFlags),
		mic:     *mic,
		visible: os.Getenv("WASM_HEADLESS") == "off",
		stdout:  stdout,
		stderr:  stderr,
	})
	if err != nil && ctx.Err() != nil {
		fmt.Fprintln(stderr, "go_js_wasm_exec: interrupted")
		return exitInterrupted
	}
	if err != nil {
		fmt.Fprintf(stderr, "go_js_wasm_exec: %v\n", err)
		return exitTrouble
	}
	return code
}
