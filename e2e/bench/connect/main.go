// Command connect measures how long a page takes until the visitor sees and hears an agent:
// it compares the runtime with a plain JavaScript client (plain.js), which run alternately in
// the same Chromium with the same local service. It prints a table of medians.
//
// Usage, in e2e/, after `make build`:
//
//	go run ./bench/connect -rows loaded -runs 5
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

func main() { figures.Main(run) }

func run(ctx context.Context) error {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	only := flag.String("rows", strings.Join(names, ","), "`scenarios` to run, separated by commas; may be empty with -steady")
	runs := flag.Int("runs", 0, "`number` of runs of each client; 0 is each scenario's own")
	encrypted := flag.Bool("tls", false, "measure every scenario over TLS")
	steady := flag.Duration("steady", 0, "also `how long` a session talks, to see whether it grows and what it takes")
	file := flag.String("json", "", "`file` for the rows")
	flag.Parse()
	selected, err := figures.Select(*only, names)
	if err != nil {
		return err
	}

	if _, err := os.Stat("../js/dist/agentruntime.wasm"); err != nil {
		return errors.New("js/dist is not built; `make build` does that")
	}
	bundle := exec.CommandContext(ctx, "node", "bench/connect/build.mjs")
	bundle.Stderr = os.Stderr
	if err := bundle.Run(); err != nil {
		return fmt.Errorf("bundle the plain client: %w", err)
	}
	certificate, err := localservice.NewCertificate()
	if err != nil {
		return err
	}
	browser, err := browsertest.Start(ctx, browsertest.Options{Flags: []string{
		"--autoplay-policy=no-user-gesture-required",
		"--ignore-certificate-errors-spki-list=" + localservice.CertificateHash(certificate),
	}})
	if err != nil {
		return err
	}
	defer browser.Close()

	// The first visit in a browser starts processes that later visits use.
	warmUp := scenario{name: "warm-up", runs: 1, page: visit}
	if _, err := warmUp.measure(ctx, browser, certificate); err != nil {
		return err
	}
	var rows []figures.Row
	fmt.Print(figures.Head)
	add := func(more []figures.Row) {
		for _, row := range more {
			fmt.Print(row)
		}
		rows = append(rows, more...)
	}
	for _, s := range scenarios {
		if !slices.Contains(selected, s.name) {
			continue
		}
		s.tls = s.tls || *encrypted
		if *runs > 0 {
			s.runs = *runs
		}
		results, err := s.measure(ctx, browser, certificate)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		add(s.rows(results))
	}
	if *steady > 0 {
		more, err := measureSteady(ctx, browser, *steady)
		if err != nil {
			return fmt.Errorf("steady: %w", err)
		}
		add(more)
	}
	return figures.Save(*file, rows)
}
