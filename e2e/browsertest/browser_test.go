//go:build !js

package browsertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/internal/leaktest"
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
	b, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
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
	p, err := b.NewPage(ctx, srv.URL)
	if err != nil {
		t.Fatal(err)
	}
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

func awaitEnd(t *testing.T, p *Page, want error) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatal("page did not end")
	}
	if !errors.Is(p.Err(), want) {
		t.Fatalf("page ended with %v, want %v", p.Err(), want)
	}
}

func TestStartStopsWaitingWithItsContext(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	script := filepath.Join(t.TempDir(), "never-ready")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Run("that never answers", func(t *testing.T) {
		t.Setenv("AGENTRUNTIME_CHROME", script)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := Start(ctx, Options{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want %v", err, context.DeadlineExceeded)
		}
	})
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left in TMPDIR: %v, %v", entries, err)
	}
	for _, limit := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		if b, err := Start(ctx, Options{}); err == nil {
			b.Close()
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("limit %v left in TMPDIR: %v, %v", limit, entries, err)
		}
	}
}

func TestFlagsReachTheBrowser(t *testing.T) {
	// The command line of the browser's process shows whether the flags were passed.
	b := startBrowser(t, Options{Flags: []string{"--lang=fr", "--disable-notifications"}})
	pid := chromedp.FromContext(b.ctx).Browser.Process().Pid
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Skip(err)
	}
	args := strings.Split(string(cmdline), "\x00")
	for _, want := range []string{"--lang=fr", "--disable-notifications"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in %q", want, args)
		}
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

func TestDeathOfTheBrowserEndsPagesAndCalls(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // a killed browser cannot clean up
	b := startBrowser(t, Options{})
	p, ctx := newPage(t, b, "")
	result := make(chan error, 1)
	go func() { result <- p.Eval(ctx, `new Promise(() => {})`, nil) }()
	if err := chromedp.FromContext(b.ctx).Browser.Process().Kill(); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, p, ErrBrowserEnded)
	if err := <-result; !errors.Is(err, ErrBrowserEnded) {
		t.Errorf("pending Eval: got %v, want %v", err, ErrBrowserEnded)
	}
	select {
	case <-b.Done():
	case <-time.After(patience):
		t.Error("Done of the browser is not closed")
	}
}
