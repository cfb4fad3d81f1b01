// Command maketest runs targets of the Makefile in parallel, counts the tests in their
// output, and finally prints the time and one line of totals:
//
//	go run ./internal/maketest build then native page
//
// The targets after "then" start when all targets before it have ended.
//
// It reads the events of `go test -json` and the totals of node's test runner; a
// target that prints neither counts as one test. A target that fails does not stop
// the others. The targets are defined in the Makefile.
//
// Tests of the module e2e have media and browsers in real time. One that fails is run once more
// when all targets have ended; if it passes then, it counts as unsteady, and is named at the end.
// A data race, a crash or a build that fails is final, and so is a failure in any other module.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// waitDelay bounds how long an interrupted target may keep its pipes open.
const waitDelay = 10 * time.Second

// totals counts tests. The unsteady ones failed, and passed when they ran again.
type totals struct{ passed, failed, skipped, unsteady int }

func (t totals) String() string {
	s := fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
	if t.unsteady > 0 {
		s += fmt.Sprintf(", %d unsteady", t.unsteady)
	}
	return s
}

func main() {
	jobs := flag.Int("j", 2, "`targets` to run beside each other")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	start := time.Now()
	sum := runAll(ctx, flag.Args(), max(1, *jobs), os.Stdout)
	fmt.Printf("\n%s\n%v\n", time.Since(start).Round(time.Second), sum)
	if sum.failed > 0 || sum.passed == 0 || ctx.Err() != nil {
		stop()
		os.Exit(1)
	}
}

// runAll runs the targets, n at a time, and adds up their test counts; then it runs again, one
// after another, what may run again.
func runAll(ctx context.Context, targets []string, n int, w io.Writer) (sum totals) {
	var running sync.WaitGroup
	var mu sync.Mutex // guards sum, again and w
	again := map[string][]string{}
	slots := make(chan struct{}, n)
	show := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprint(w, line)
	}
	for _, target := range targets {
		if target == "then" {
			running.Wait()
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			c := runTarget(ctx, target, nil, show)
			mu.Lock()
			defer mu.Unlock()
			sum.passed += c.passed
			sum.failed += c.failed
			sum.skipped += c.skipped
			if len(c.again) == c.failed { // else the target fails anyway
				again[target] = c.again
			}
		})
	}
	running.Wait()
	for _, target := range slices.Sorted(maps.Keys(again)) {
		names := topLevel(again[target])
		if len(names) == 0 || ctx.Err() != nil {
			continue
		}
		only := fmt.Sprintf("ONLY=-count 1 -run '^(%s)$$'", strings.Join(names, "|"))
		if c := runTarget(ctx, target, []string{only}, show); c.failed == 0 && c.passed > 0 {
			n := len(again[target])
			sum.failed, sum.unsteady = sum.failed-n, sum.unsteady+n
			show(fmt.Sprintf("unsteady: %s failed beside other tests, and passed when they ran again\n", strings.Join(names, ", ")))
		}
	}
	return sum
}

// runTarget makes one target, with these variables of make.
func runTarget(ctx context.Context, target string, variables []string, show func(string)) *counter {
	start := time.Now()
	// COUNT makes the targets print events instead of text.
	cmd := exec.CommandContext(ctx, "make", append([]string{"--no-print-directory", "COUNT=1", target}, variables...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // make has child processes to end
	cmd.WaitDelay = waitDelay
	c := newCounter(show)
	if err := c.run(cmd); err != nil {
		show(fmt.Sprintf("%s: %v\n", target, err))
	}
	show(fmt.Sprintf("== %s: %v in %s, %s of processor\n", target, c.totals, time.Since(start).Round(100*time.Millisecond), processor(cmd).Round(time.Second)))
	return c
}

// topLevel returns the names of the tests that have these tests, each once.
func topLevel(tests []string) (names []string) {
	for _, test := range tests {
		name, _, _ := strings.Cut(test, "/")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// processor returns the time that cmd and the processes that it waited for have computed.
func processor(cmd *exec.Cmd) time.Duration {
	if cmd.ProcessState == nil { // not started
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// counter counts the tests in the output of one target, and shows the lines that are of
// interest to a person.
type counter struct {
	totals
	show   func(line string)
	kept   map[string]string // output of each test, until the test has ended
	broken map[string]bool   // packages in which a test failed
	again  []string          // tests that failed and may run again
}

func newCounter(show func(string)) *counter {
	return &counter{show: show, kept: map[string]string{}, broken: map[string]bool{}}
}

func (c *counter) run(cmd *exec.Cmd) error {
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	ended := make(chan error, 1)
	go func() {
		err := cmd.Run()
		in.Close()
		ended <- err
	}()
	readErr := c.read(out)
	out.CloseWithError(readErr)
	err := errors.Join(<-ended, readErr)
	switch {
	case err != nil && c.failed == 0:
		c.failed = 1
	case err == nil && c.totals == totals{}:
		c.passed = 1
	}
	return err
}

func (c *counter) read(r io.Reader) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			c.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// event has the fields that are read of an event of `go test -json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func (c *counter) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
		c.event(e)
		return
	}
	for prefix, n := range map[string]*int{"# pass ": &c.passed, "# fail ": &c.failed, "# skipped ": &c.skipped} {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			fmt.Sscan(rest, n)
			return
		}
	}
	c.show(line)
}

// final is in the output of a test that failed for a reason that never depends on the time that a
// machine takes.
var final = regexp.MustCompile(`race detected during execution of test|(?m)^(panic|fatal error): `)

// measured is the prefix of log lines that are shown even if the test passes.
const measured = "measured: "

func (c *counter) event(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		if _, figure, ok := strings.Cut(e.Output, measured); ok {
			c.show(measured + figure)
		}
		c.kept[key] += e.Output
		return
	case "build-output":
		c.show(e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	out := c.kept[key]
	if e.Action == "fail" {
		c.show(out)
	}
	delete(c.kept, key)
	if e.Test == "" {
		c.unfinished(e)
	}
	switch {
	case e.Test == "" && e.Action == "skip": // a package without tests
	case e.Test == "":
		c.show(fmt.Sprintf("%-4s %s %.1fs\n", e.Action, e.Package, e.Elapsed))
		if e.Action == "fail" && !c.broken[e.Package] { // outside any test: a build, a time-out
			c.failed++
		}
	case e.Action == "pass":
		c.passed++
	case e.Action == "skip":
		// Shown, because a skipped test proves nothing.
		c.show(fmt.Sprintf("skip %s %s\n", e.Package, e.Test))
		c.skipped++
	default:
		c.failed++
		c.broken[e.Package] = true
		if strings.Contains(e.Package, "/e2e/") && !final.MatchString(out) {
			c.again = append(c.again, e.Test)
		}
	}
}

// unfinished shows what the tests printed that had not ended when the process of their package did:
// it may be why the process ended.
func (c *counter) unfinished(e event) {
	for key, out := range c.kept {
		if !strings.HasPrefix(key, e.Package+" ") {
			continue
		}
		if e.Action == "fail" {
			c.show(out)
		}
		delete(c.kept, key)
	}
}
