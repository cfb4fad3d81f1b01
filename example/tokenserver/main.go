// Command tokenserver is a site whose visitors sign in and talk to an agent, each in
// conversations of their own: it shows package tokenserver on a real page. It starts its
// own local service, and uses only the addresses and the secret of that service, as it
// would those of a real one.
//
//	make run-tokenserver
//
// This example accepts any name without a password. A real site replaces its sign-in and keeps
// the rest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/management/tokenserver"
	"github.com/agentruntime/agentruntime/pageserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "tokenserver:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("tokenserver", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:8081", "`address` of the site; port 0 takes a free one")
	origin := flags.String("origin", "", "`origin` under which browsers open the site, as in https://shop.example; empty is -addr")
	name := flags.String("agent", "receptionist", "`name` of an agent of the local service")
	root := flags.String("root", ".", "`directory` with example/ and js/dist/")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not an option: pass -addr, -origin, -agent or -root", flags.Arg(0))
	}
	if _, err := os.Stat(filepath.Join(*root, "js/dist/chat.js")); err != nil {
		return fmt.Errorf("the npm package is not built, run make build first: %w", err)
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	if *origin == "" {
		*origin = "http://" + listener.Addr().String()
	}
	own, err := url.Parse(*origin)
	if err != nil {
		return err
	}
	service, err := localservice.Start(ctx, localservice.Options{AllowOrigins: []string{*origin}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	info := service.Info()
	agent, ok := info.Agent(*name)
	if !ok {
		return fmt.Errorf("there is no agent %q", *name)
	}

	client, err := management.New(management.Options{PartnerID: info.PartnerID, Secret: info.AdminSecret, Config: management.Config{
		AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL,
	}})
	if err != nil {
		return err
	}
	defer client.Close()
	accounts := newAccounts()
	conversations, err := tokenserver.New(tokenserver.Options{
		Client: client, AgentID: agent.AgentID, Origins: []string{*origin}, Visitor: accounts.visitor,
		OnError: func(r *http.Request, err error) { fmt.Fprintln(os.Stderr, r.URL.Path, err) },
	})
	if err != nil {
		return err
	}

	dir, err := os.OpenRoot(*root)
	if err != nil {
		return err
	}
	defer dir.Close()
	hosts := pageserver.Hosts{Names: []string{own.Hostname()}}
	var limits pageserver.Limits // the defaults; behind a proxy, whose address all clients have, set PerAddress
	fmt.Fprintf(stdout, "Open %s and sign in under any name; another name has other conversations. Ctrl-C ends it.\n", *origin)
	return limits.Serve(ctx, listener, newSite(accounts, agent.DisplayName, conversations, dir.FS(), hosts, info.GenieURL))
}
