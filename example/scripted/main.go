// Command scripted is a site with a face that says what its server sends: the server's half of
// a scripted video. It makes avatar sessions, turns texts into sound, and keeps the tokens of
// both from the page. It starts its own local service, and uses only the addresses and the
// secret of that service, as it would those of a real one.
//
//	make run-scripted
//
// This example says whatever a visitor types. A real site decides itself what is said, and
// has its sound from a service for speech.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/pageserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scripted:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("scripted", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:8083", "`address` of the site, on loopback; port 0 takes a free one")
	kind := flags.String("voice", voice.Auto, "`kind` of voice: auto, espeak or builtin")
	root := flags.String("root", ".", "`directory` with example/ and js/dist/")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(*root, "js/dist/scripted.js")); err != nil {
		return fmt.Errorf("the npm package is not built, run make build first: %w", err)
	}
	speaker, err := voice.Open(voice.Config{Kind: *kind})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	origin := "http://" + listener.Addr().String()
	service, err := localservice.Start(ctx, localservice.Options{AllowOrigins: []string{origin}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	info := service.Info()
	client, err := management.New(management.Options{PartnerID: info.PartnerID, Secret: info.AdminSecret, Config: management.Config{
		AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL,
	}})
	if err != nil {
		return err
	}
	defer client.Close()

	dir, err := os.OpenRoot(*root)
	if err != nil {
		return err
	}
	defer dir.Close()
	var limits pageserver.Limits // the defaults
	s := &stage{client: client, voice: speaker, sessions: map[string]management.AvatarSession{}}
	fmt.Printf("Open %s/ and type what the face says. Ctrl-C ends it.\n", origin)
	return limits.Serve(ctx, listener, newSite(s, dir.FS(), info.SRSBaseURL))
}
