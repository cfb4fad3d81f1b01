// Command studio serves a page on which a person builds agents and reads what was said
// to them. It calls the service itself, so that the admin secret stays in this process.
//
//	go run ./cmd/localservice -json | go run ./example/studio
//
// A client that can connect has full control of the account; it listens on loopback only.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/pageserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	addr := flag.String("addr", "127.0.0.1:8082", "`address` of the page, on loopback; port 0 takes a free one")
	flag.Parse()
	if err := run(ctx, *addr, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "studio:", err)
		os.Exit(1)
	}
}

// service is the line that localservice -json prints.
type service struct {
	management.Config
	Page        string `json:"page"` // the address of an example page
	PartnerID   int64  `json:"partnerId"`
	AdminSecret string `json:"adminSecret"`
}

// pages are the example pages on which a visitor can talk to an agent, with their paths
// relative to the page that the service prints.
var pages = []struct{ name, about, path string }{
	{"Face", "Talk face to face", "../avatar/"},
	{"Text", "Talk in text", "../chat/"},
	{"Both", "Talk in either way", "../agent/"},
	{"Tag", "Talk to an element", "../element/"},
	{"Widgets", "Talk with widgets", "../experience/"},
	{"Deck", "See a deck presented", "../deck/"},
	{"Playground", "Try every option", "../playground/"},
	{"Quickstart", "The newest agent", "../quickstart/"},
}

// address is the address of an example page, "" if the service serves none.
func (s *service) address(path string) string {
	u, err := url.Parse(s.Page)
	if err != nil || s.Page == "" {
		return ""
	}
	return u.JoinPath(path).String()
}

// run serves the page for the service that in describes, until ctx ends.
func run(ctx context.Context, addr string, in io.Reader, out io.Writer) error {
	line, err := bufio.NewReader(in).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("want the line of localservice -json on standard input: %w", err)
	}
	var s service
	if err := json.Unmarshal(line, &s); err != nil {
		return fmt.Errorf("the line of localservice -json: %w", err)
	}
	client, err := management.New(management.Options{PartnerID: s.PartnerID, Secret: s.AdminSecret, UserID: "studio", Config: s.Config})
	if err != nil {
		return err
	}
	defer client.Close()
	listener, err := listen(addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Build an agent:       http://%s/\n", listener.Addr())
	for _, p := range pages {
		fmt.Fprintf(out, "%-21s %s\n", p.about+":", s.address(p.path))
	}
	fmt.Fprintln(out, "Ctrl-C ends it.")
	var limits pageserver.Limits // the defaults
	return limits.Serve(ctx, listener, newHandler(client, s.address))
}

// listen listens on loopback.
func listen(addr string) (net.Listener, error) {
	tcp, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	if !tcp.IP.IsLoopback() {
		return nil, errors.New("the address must be on loopback: the page has the rights of the account's administrator")
	}
	return net.ListenTCP("tcp", tcp)
}
