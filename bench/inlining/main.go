// Command inlining measures what the small program gains and loses by being built
// without inlining, as the package is: how large it is, how soon it is ready in
// Chromium, and how fast an answer goes through it, each beside the same program
// built in the ordinary way.
//
// Usage, from the root of the module, after make build:
//
//	go run ./bench/inlining -rounds 9
//
// docs/architecture.md holds the recorded results.
package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/internal/browsertest"
)

const (
	segments = 20_000
	line     = `{"type":"text","content":"A word, and another. "}` + "\n"
	batch    = 100 // lines in one write
	patience = 2 * time.Minute
)

// builds are what is compared; the first is the one that is shipped.
var builds = []struct {
	name  string
	flags []string
}{
	{"without inlining", []string{"-gcflags=all=-l"}},
	{"with inlining", nil},
}

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Print(err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	rounds := flag.Int("rounds", 9, "`number` of pages of each build")
	flag.Parse()
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var results [2]result
	for i, b := range builds {
		if results[i], err = build(ctx, dir, i, b.flags); err != nil {
			return err
		}
	}
	server := httptest.NewServer(service(dir))
	defer server.Close()
	browser, err := browsertest.Start(ctx, browsertest.Options{})
	if err != nil {
		return err
	}
	defer browser.Close()
	// In turn, so that whatever else the machine does meets both.
	for range *rounds {
		for i := range builds {
			if err := results[i].measure(ctx, browser, server.URL, i); err != nil {
				return err
			}
		}
	}
	report(results[0], results[1])
	return nil
}

// result is what was measured of one build.
type result struct {
	raw, gzip  float64   // bytes
	ready, run []float64 // milliseconds, one each round
}

// build makes the program and weighs it. What the packaging drops afterwards it
// drops of both.
func build(ctx context.Context, dir string, i int, flags []string) (r result, err error) {
	file := filepath.Join(dir, fileName(i))
	version, err := packageVersion()
	if err != nil {
		return r, err
	}
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w -X main.version=" + version, "-o", file}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/chatwasm")...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return r, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	var size counter
	w, err := gzip.NewWriterLevel(&size, gzip.BestCompression)
	if err != nil {
		return r, err
	}
	if _, err := w.Write(data); err != nil {
		return r, err
	}
	if err := w.Close(); err != nil {
		return r, err
	}
	r.raw, r.gzip = float64(len(data)), float64(size)
	return r, nil
}

// packageVersion is what the package wants its program to be.
func packageVersion() (string, error) {
	data, err := os.ReadFile("js/package.json")
	if err != nil {
		return "", err
	}
	var p struct{ Version string }
	err = json.Unmarshal(data, &p)
	return p.Version, err
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func fileName(i int) string { return fmt.Sprintf("%d.wasm", i) }

// service has the package, the programs, and a brain with a long answer.
func service(dir string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/js/", http.FileServer(http.Dir(".")))
	mux.Handle("/wasm/", http.StripPrefix("/wasm/", http.FileServer(http.Dir(dir))))
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>bench</title>")
	})
	lines := []byte{}
	for range batch {
		lines = append(lines, line...)
	}
	mux.HandleFunc("POST /assistant/converse", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		for range segments / batch {
			if _, err := w.Write(lines); err != nil {
				return // the page has gone
			}
		}
	})
	return mux
}

// measure opens a page that nothing is cached for.
func (r *result) measure(ctx context.Context, browser *browsertest.Browser, url string, i int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	page, err := browser.NewPage(ctx, "")
	if err != nil {
		return err
	}
	defer page.Close()
	if err := page.Navigate(ctx, url); err != nil {
		return err
	}
	var took struct {
		Ready, Run float64
		Count      int
	}
	err = page.Eval(ctx, `(async () => {
		const {load, converse} = await import("/js/dist/chat.js")
		const start = performance.now()
		await load({wasmUrl: "/wasm/`+fileName(i)+`"})
		const ready = performance.now()
		let count = 0
		for await (const {content} of converse({token: "bench", genieUrl: location.origin, userMessage: "Talk"})) count += content !== ""
		return {ready: ready - start, run: performance.now() - ready, count}
	})()`, &took)
	if err != nil {
		return err
	}
	if took.Count != segments {
		return fmt.Errorf("%d segments of %d", took.Count, segments)
	}
	r.ready = append(r.ready, took.Ready)
	r.run = append(r.run, took.Run)
	return nil
}

func report(shipped, ordinary result) {
	row := func(what, unit string, a, b float64) {
		fmt.Printf("%-28s %12.0f %12.0f %s %8.2f\n", what, a, b, unit, a/b)
	}
	fmt.Printf("%-28s %12s %12s %11s\n", "", "shipped", "inlined", "ratio")
	row("size", "B ", shipped.raw, ordinary.raw)
	row("size, gzip", "B ", shipped.gzip, ordinary.gzip)
	row("ready, median", "ms", median(shipped.ready), median(ordinary.ready))
	row(fmt.Sprintf("%d segments, median", segments), "ms", median(shipped.run), median(ordinary.run))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
