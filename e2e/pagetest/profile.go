package pagetest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
)

// profileVariable is the environment variable for the profile of the programs: a directory
// into which the indexes of the functions that pages call are written (make profile), or
// "check", and then a test fails when the first part of a program calls a function of its
// second part before that is there (make profile-check).
const profileVariable = "AGENTRUNTIME_PROFILE"

// lastReport bounds the wait for the last calls of a page.
const lastReport = 10 * time.Second

//go:embed page/profile.js
var profileScript string

// calls are those of all pages of this test binary, by the name of the program's file.
var calls struct {
	sync.Mutex
	entered map[string]map[int]bool
}

// watchCalls reports what the programs of a page call, if that is wanted.
func watchCalls(ctx context.Context, t *testing.T, p *browsertest.Page) {
	t.Helper()
	mode := os.Getenv(profileVariable)
	if mode == "" {
		return
	}
	err := p.Expose(ctx, "called", func(text string) {
		var report struct {
			Program string
			Entered []int
			Missed  int
		}
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			t.Error(err)
			return
		}
		if report.Missed != 0 && mode == "check" {
			t.Errorf("%s calls the function %#x before the second part is there; make profile adds it", report.Program, report.Missed)
		}
		calls.Lock()
		defer calls.Unlock()
		if calls.entered == nil {
			calls.entered = map[string]map[int]bool{}
		}
		of := calls.entered[report.Program]
		if of == nil {
			of = map[int]bool{}
			calls.entered[report.Program] = of
		}
		for _, index := range report.Entered {
			of[index] = true
		}
	})
	if err == nil {
		err = p.AddScript(ctx, profileScript)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// reportCalls waits until a page that is about to be closed has reported its last calls.
func reportCalls(ctx context.Context, p *browsertest.Page) {
	if os.Getenv(profileVariable) == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastReport)
	defer cancel()
	_ = p.Eval(ctx, "globalThis.reportCalls?.()", nil) // the page may have crashed
}

// writeCalls writes what all pages have called.
func writeCalls() error {
	dir := os.Getenv(profileVariable)
	if dir == "" || dir == "check" {
		return nil
	}
	calls.Lock()
	defer calls.Unlock()
	for program, entered := range calls.entered {
		var indexes []int
		for index := range entered {
			indexes = append(indexes, index)
		}
		slices.Sort(indexes)
		data, err := json.Marshal(indexes)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.json", program, os.Getpid())), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
