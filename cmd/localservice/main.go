// Command localservice is the whole remote side of a live agent in one process:
// no account, no network, nothing to set up. See docs/local-service.md.
//
// It reads flags and runs [localservice.Start]; everything else is there.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/agentruntime/agentruntime/internal/localservice"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "localservice:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	if c.stdin {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // returns when the parent process has ended
			cancel()
		}()
	}
	c.options.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: c.logLevel}))
	service, err := localservice.Start(ctx, c.options)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; port 0 takes a free one, as in -addr 127.0.0.1:0", err)
	}
	if err != nil {
		return err
	}
	info := service.Info()
	if c.json {
		err = json.NewEncoder(stdout).Encode(info)
	} else {
		err = greet(stdout, info)
	}
	if err == nil {
		<-ctx.Done()
	}
	return errors.Join(err, service.Close())
}

// greet prints the addresses and how to start.
func greet(w io.Writer, info localservice.Info) error {
	pages := "(no pages found; -pages names their directory)"
	if info.Page != "" {
		origin := strings.TrimSuffix(info.Page, examplePages[0].path)
		var lines []string
		for _, p := range examplePages {
			lines = append(lines, fmt.Sprintf("%s%-22s %s", origin, p.path, p.about))
		}
		pages = strings.Join(lines, "\n            ")
	}
	names := ""
	for _, a := range info.Agents {
		names += " " + a.Name
	}
	accepted := ""
	if info.CertificateHash != "" {
		accepted = "\n  Chromium  accepts the certificate with --ignore-certificate-errors-spki-list=" + info.CertificateHash +
			"\n            and a profile of its own (--user-data-dir)"
	}
	_, err := fmt.Fprintf(w, `The local service is ready.

  Open      %s
  Agents   %s
  Service   %s%s
  Relay     %s
  Control   %s

Ctrl-C ends it. -json prints everything a program needs, -help lists the flags.
`, pages, names, info.GenieURL, accepted, info.TURNServerURL, info.ControlURL)
	return err
}
