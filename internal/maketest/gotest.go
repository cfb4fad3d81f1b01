package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// testEvent is the part that we read of one line of `go test -json`.
type testEvent struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// goTest runs `go test -json args...` and counts.
func goTest(ctx context.Context, env []string, args ...string) (totals, error) {
	return countRun(prepare(ctx, env, append([]string{"go", "test", "-json"}, args...)), os.Stdout)
}

// countRun runs cmd, which writes the events of `go test -json`, writes to w one line
// for each package and the output of what failed, and counts.
func countRun(cmd *exec.Cmd, w io.Writer) (totals, error) {
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return totals{}, err
	}
	if err := cmd.Start(); err != nil {
		return totals{}, err
	}
	sum, readErr := countEvents(out, w)
	waitErr := cmd.Wait()
	return sum, errors.Join(readErr, waitErr)
}

// countEvents reads the events of `go test -json` from r and writes to w what a
// person wants to see.
func countEvents(r io.Reader, w io.Writer) (totals, error) {
	c := counter{w: w, kept: map[string]*strings.Builder{}, broken: map[string]bool{}}
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			var e testEvent
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(w, "%s", line) // not an event: what a child process printed
			} else {
				c.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return c.sum, nil
		}
		if err != nil {
			return c.sum, err
		}
	}
}

// measured begins what a test logs for people to read although it passed.
const measured = "measured: "

type counter struct {
	w      io.Writer
	sum    totals
	kept   map[string]*strings.Builder // output of each test, until it is known to be needed
	broken map[string]bool             // packages in which a test failed
}

func (c *counter) take(e testEvent) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		if _, figure, ok := strings.Cut(e.Output, measured); ok {
			fmt.Fprint(c.w, measured, figure)
		}
		if c.kept[key] == nil {
			c.kept[key] = new(strings.Builder)
		}
		c.kept[key].WriteString(e.Output)
		return
	case "build-output":
		fmt.Fprint(c.w, e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	if b := c.kept[key]; b != nil && e.Action == "fail" {
		fmt.Fprint(c.w, b.String())
	}
	delete(c.kept, key)
	if e.Test == "" {
		c.packageDone(e)
		return
	}
	switch e.Action {
	case "pass":
		c.sum.passed++
	case "skip":
		// A skipped test is said aloud: it is something this run did not prove.
		fmt.Fprintf(c.w, "skip %s %s\n", e.Package, e.Test)
		c.sum.skipped++
	case "fail":
		c.sum.failed++
		c.broken[e.Package] = true
	}
}

func (c *counter) packageDone(e testEvent) {
	if e.Action == "skip" { // a package without tests
		return
	}
	fmt.Fprintf(c.w, "%-4s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
	if e.Action == "fail" && !c.broken[e.Package] { // outside any test: a build, a time-out
		c.sum.failed++
	}
}
