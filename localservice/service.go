// Package localservice runs the local service inside a program: the whole remote side of
// an agent, with real tokens, sockets, media and a database, on loopback and without an
// account (docs/local-service.md). Tests use package agenttest, which ends it by itself.
//
// It is a small front of internal/localservice, whose other options are flags of
// cmd/localservice. It must not contain anything that the service does.
package localservice

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Options are the options of [Start]. The zero value is a service on free ports of
// loopback, with the demo agents, and a database that Close deletes.
type Options struct {
	// Addr is the TCP address of HTTP and of the sockets, on loopback. Default 127.0.0.1:0.
	Addr string
	// Data is the directory of the database. Default a temporary one, which Close deletes.
	Data string
	// Script has the rules of the answers, which are tried before the demo brain, and the
	// words of spoken turns: YAML, as docs/local-service.md describes it under "Scripts".
	Script string
	// Voice is how the agents speak: builtin, espeak, or auto for the best one that is
	// installed. Default builtin, which sounds the same on every machine.
	Voice string
	// Logger receives the log of the service. Default none.
	Logger *slog.Logger
}

// Service is a running local service. Its methods may be called from any goroutine.
type Service struct{ inner *localservice.Service }

// Start starts a service; it listens when Start returns. ctx applies to the start only. The
// error is about an address that can't be used or that is not on loopback, the script, or
// the database.
func Start(ctx context.Context, o Options) (*Service, error) {
	o.Voice = cmp.Or(o.Voice, "builtin")
	inner, err := localservice.Start(ctx, localservice.Options{
		Addr: o.Addr, Data: o.Data, Script: []byte(o.Script), Voice: o.Voice, Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &Service{inner}, nil
}

// Close ends the service and returns when all of its goroutines have ended.
func (s *Service) Close() error { return s.inner.Close() }

// Info has the addresses, the account and the agents of a service.
type Info struct {
	// Config has the addresses, for appInit and for package management.
	appinit.Config
	// PartnerID and AdminSecret are the account. The secret mints tokens, and must not reach
	// a page.
	PartnerID   int64
	AdminSecret string
	// Agents are the agents at the start.
	Agents []Agent
}

// Agent has the names of an agent, and every id by which a client refers to it.
type Agent struct {
	Name        string // of a built-in agent, as in "receptionist", else the display name
	DisplayName string // what people call it
	AgentID     string
	ConfigID    int64
	WidgetID    string
}

// Format keeps the secret out of logs, whatever the verb is.
func (i Info) Format(w fmt.State, _ rune) {
	_, _ = io.WriteString(w, "local service at "+*i.GenieURL+" "+fault.Redacted)
}

// Info returns the addresses, the account and the agents.
func (s *Service) Info() Info {
	from := s.inner.Info()
	info := Info{
		PartnerID: from.PartnerID, AdminSecret: from.AdminSecret,
		Config: appinit.Config{AgenticURL: &from.AgenticURL, GenieURL: &from.GenieURL, OVPURL: &from.OVPURL, MessagingURL: &from.MessagingURL},
	}
	for _, a := range from.Agents {
		info.Agents = append(info.Agents, Agent(a))
	}
	return info
}

// AppInit returns what a session with an agent needs, for a new visitor, as appInit does in
// a page. The agents have the names of docs/local-service.md, such as receptionist, silent
// and tools. The error is not_found for another name, or that of [appinit.Init].
//
// The media of the service are on this machine, so that a live session also needs the option
// AllowPrivateHosts.
func (s *Service) AppInit(ctx context.Context, agent string) (*appinit.Result, error) {
	info := s.Info()
	for _, a := range info.Agents {
		if a.Name == agent {
			return appinit.Init(ctx, appinit.Options{WidgetID: a.WidgetID, Config: info.Config})
		}
	}
	return nil, fault.New(fault.NotFound, fmt.Sprintf("the local service has no agent %q", agent))
}

// SetScript replaces the rules of Options.Script, for later turns; "" removes them. The
// error names the line that is not allowed.
func (s *Service) SetScript(script string) error { return s.inner.SetScript([]byte(script)) }

// Hear sets the words of what is said into microphones from now on, one text for each spoken
// turn, before those of the script. The sound decides when a turn begins and ends, its words
// are not recognised.
func (s *Service) Hear(texts ...string) { s.inner.Hear(texts...) }

// Cut breaks the sockets of live sessions, and stops all traffic to and from the service until
// mend is called: streams stand still and packets are lost. Afterwards the sessions reconnect.
func (s *Service) Cut() (mend func()) { return s.inner.Cut() }

// Turn is a question that an agent was asked.
type Turn struct {
	Text     string
	ThreadID string
	// Spoken means that the answer has a voice: the session is a live one.
	Spoken bool
}

// Turns returns the latest 1,000 turns, oldest first.
func (s *Service) Turns() []Turn {
	var turns []Turn
	for _, t := range s.inner.Turns() {
		turns = append(turns, Turn{Text: t.Text, ThreadID: t.ThreadID, Spoken: t.Spoken})
	}
	return turns
}

// Completed returns the ids of the threads whose end was reported, the latest 1,000, oldest
// first. The error is that of ctx, or of a service that is closed.
func (s *Service) Completed(ctx context.Context) ([]string, error) { return s.inner.Completed(ctx) }
