package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/directory"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/pageserver"
)

// keyVariable is the environment variable with the API key of the endpoints. It is
// not a flag, because every user of a machine can read flags; and not OPENAI_API_KEY,
// which belongs to one server and must not be sent to another by accident.
const keyVariable = "LOCALSERVICE_API_KEY"

// config is the parsed command line.
type config struct {
	options  localservice.Options
	stdin    bool
	json     bool
	logLevel slog.Level
}

const usage = `Usage: localservice [flags]

The whole remote side of a live agent in one process: HTTP API, control sockets,
pictures and voices through a TURN relay, a demo brain, a database.

Flags:
`

const notes = `
-link takes conditions for all traffic, or for sockets, http and relay alone:
  -link delay=80ms,jitter=20ms
  -link 'sockets:cut;relay:loss=2%,bandwidth=1mbit'

Endpoints are OpenAI-compatible; their key is read from ` + keyVariable + `.
docs/local-service.md says more: agents, scripts, the control address.
`

// appendTo is the function of a flag that may be repeated: it appends each value to list.
func appendTo(list *[]string) func(string) error {
	return func(value string) error {
		*list = append(*list, value)
		return nil
	}
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (*config, error) {
	c := &config{logLevel: slog.LevelInfo}
	o := &c.options
	f := flag.NewFlagSet("localservice", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
		fmt.Fprint(stderr, notes)
	}
	var script, knowledge, users, pagesDir, turn, links string
	f.StringVar(&o.Addr, "addr", "127.0.0.1:8080", "TCP `address` of HTTP and sockets; port 0 takes a free one")
	f.StringVar(&turn, "turn-listen", "127.0.0.1:0", "`addresses` of the TURN relay, UDP and TCP, separated by commas")
	f.StringVar(&o.MediaAddr, "media-addr", "127.0.0.1:0", "UDP `address` of pictures and voices; the relay has to reach it")
	encrypted := f.Bool("tls", false, "serve https and wss, with a certificate made at the start; prints how Chromium accepts it")
	f.BoolVar(&o.AllowPublic, "allow-public", false, "permit addresses that other machines can reach")
	f.Func("allow-host", "further host `name` that the service is called by; may be repeated", appendTo(&o.AllowHosts))
	f.Func("allow-tool-host", "`name` of a host that api tools and MCP servers may be at, beside loopback; may be repeated", appendTo(&o.ToolHosts))
	f.Func("allow-origin", "`origin` whose pages may use the service, * is every page; may be repeated", appendTo(&o.AllowOrigins))
	f.BoolVar(&o.AllowPrivateNetwork, "allow-private-network", false, "let pages from the public network ask for the service")
	f.StringVar(&o.PublicURL, "public-url", "", "`origin` that clients get instead of -addr")
	f.StringVar(&o.Data, "data", "", "`directory` of the database; empty keeps nothing")
	f.StringVar(&o.Brain, "brain", "", "`kind` of brain: demo or openai; empty is openai with -chat-url, otherwise demo")
	f.StringVar(&script, "script", "", "YAML `file` that answers before the brain")
	f.StringVar(&knowledge, "knowledge", "", "`directory` of Markdown files that the demo brain answers from")
	f.StringVar(&users, "users", "", "JSON, YAML or CSV `file` with the attributes of users, for sys__user_obj")
	f.BoolVar(&o.SharedWidgetTokens, "shared-widget-tokens", false, "give all visitors of a widget the same token, as the real service does; by default each has one")
	f.StringVar(&o.Chat.BaseURL, "chat-url", "", "chat endpoint `URL`, with its version")
	f.StringVar(&o.Chat.Model, "chat-model", "", "`model` of the chat endpoint")
	f.StringVar(&o.Voice, "voice", "auto", "`kind` of voice: auto, espeak, builtin or openai")
	f.StringVar(&o.Speech.BaseURL, "speech-url", "", "speech endpoint `URL` for -voice openai")
	f.StringVar(&o.Speech.Model, "speech-model", "", "`model` of the speech endpoint")
	f.StringVar(&o.Transcription.BaseURL, "transcription-url", "", "transcription endpoint `URL`; without it speech is detected but not transcribed")
	f.StringVar(&o.Transcription.Model, "transcription-model", "", "`model` of the transcription endpoint")
	f.StringVar(&links, "link", "", "network `conditions`, see below")
	f.DurationVar(&o.Recovery, "recovery", 0, "how long a session outlives its socket; 0 is 20s, negative is off")
	f.DurationVar(&o.RelayLogin, "relay-login", 0, "how long a login to the relay is accepted; 0 is 24h")
	f.DurationVar(&o.IdleThread, "idle-thread", 0, "silence after which a conversation without a live session is completed; 0 is 10m, negative is never")
	f.DurationVar(&o.Timing.PauseWindow, "pause-window", live.DefaultPauseWindow, "how long a pause keeps its media")
	f.DurationVar(&o.Timing.Conversation, "conversation-limit", 0, "longest conversation; 0 is no limit")
	f.DurationVar(&o.Timing.Warning, "conversation-warning", live.DefaultWarning, "how long before its end the client is warned")
	f.DurationVar(&o.Timing.WakeUp, "wake-up", 0, "a user's silence before the agent asks; 0 is off")
	f.DurationVar(&o.Timing.Goodbye, "goodbye", 0, "a user's silence after that before the agent hangs up; 0 is off")
	f.Int64Var(&o.MaxData, "max-data", localservice.DefaultMaxData, "largest size of the database, in `bytes`")
	f.IntVar(&o.MaxCalls, "max-calls", 0, "pictures and voices at once; 0 is 64")
	f.Func("quota", "`name=token/address/total`: what one token, one address and all clients may take; may be repeated", o.Quotas.Set)
	f.StringVar(&pagesDir, "pages", "", "`directory` with example/ and js/dist/; empty looks here and above")
	f.BoolVar(&o.PageControl, "page-control", false, "let the service's own pages give the commands of the control address")
	f.BoolVar(&c.stdin, "stdin", false, "end when standard input ends, as it does with the program that started the service")
	f.BoolVar(&c.json, "json", false, "print one line of JSON when everything listens")
	f.TextVar(&c.logLevel, "log-level", slog.LevelInfo, "debug, info, warn or error; debug shows what users say")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	key := os.Getenv(keyVariable)
	o.Chat.Key, o.Speech.Key, o.Transcription.Key = key, key, key
	if *encrypted {
		if err := c.makeCertificate(); err != nil {
			return nil, err
		}
	}
	for address := range strings.SplitSeq(turn, ",") {
		o.TURNListen = append(o.TURNListen, strings.TrimSpace(address))
	}
	return c, errors.Join(c.readLinks(links), c.readScript(script), c.findPages(pagesDir), c.openKnowledge(knowledge), c.readUsers(users))
}

// makeCertificate makes the certificate for every host name of the service that is known before it listens.
func (c *config) makeCertificate() (err error) {
	o := &c.options
	hosts := slices.Clone(o.AllowHosts)
	if u, err := url.Parse(o.PublicURL); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	if host, _, err := net.SplitHostPort(o.Addr); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	o.Certificate, err = localservice.NewCertificate(hosts...)
	return err
}

// readLinks reads "conditions" or "name:conditions;name:conditions".
func (c *config) readLinks(text string) error {
	for part := range strings.SplitSeq(text, ";") {
		name, conditions, named := strings.Cut(part, ":")
		if !named {
			name, conditions = "", part
		}
		parsed, err := netem.Parse(conditions)
		if err != nil {
			return fmt.Errorf("-link: %w", err)
		}
		o := &c.options
		switch strings.TrimSpace(name) {
		case "":
			o.Sockets, o.HTTP, o.Relay = parsed, parsed, parsed
		case "sockets":
			o.Sockets = parsed
		case "http":
			o.HTTP = parsed
		case "relay":
			o.Relay = parsed
		default:
			return fmt.Errorf("-link: there is no link %q, want sockets, http or relay", name)
		}
	}
	return nil
}

func (c *config) readScript(file string) (err error) {
	if file == "" {
		return nil
	}
	if c.options.Script, err = os.ReadFile(file); err != nil {
		return fmt.Errorf("-script: %w", err)
	}
	return nil
}

func (c *config) readUsers(file string) error {
	if file == "" {
		return nil
	}
	data, err := os.ReadFile(file)
	if err == nil {
		c.options.Users, err = directory.Read(file, data)
	}
	if err != nil {
		return fmt.Errorf("-users: %w", err)
	}
	return nil
}

func (c *config) openKnowledge(dir string) error {
	if dir == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("-knowledge: %w", err)
	}
	c.options.Knowledge = root.FS()
	return nil
}

// examplePages are the example pages; the service's root redirects to the first.
var examplePages = []struct{ path, about string }{
	{"/example/avatar/", "a face and a voice"},
	{"/example/chat/", "text"},
	{"/example/agent/", "one conversation in both"},
	{"/example/element/", "a tag that is the whole of it"},
	{"/example/experience/", "a face with widgets and tools"},
	{"/example/deck/", "a deck that an agent presents"},
	{"/example/playground/", "every option, event and fault"},
	{"/example/quickstart/", "the agent that was made last"},
}

// findPages opens the directory that contains the example pages: dir, or if that is
// empty the nearest one from the current directory upwards.
func (c *config) findPages(dir string) error {
	if dir == "" {
		if dir = nearest(); dir == "" {
			return nil
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("-pages: %w", err)
	}
	paths := []string{"example/shared", "js/dist"}
	for _, p := range examplePages {
		paths = append(paths, strings.Trim(p.path, "/"))
	}
	c.options.Pages, c.options.Page = &pageserver.Files{FS: root.FS(), Paths: paths}, examplePages[0].path
	return nil
}

// nearest returns the first directory, from the current one upwards, that contains the
// example pages, or "".
func nearest() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, examplePages[0].path, "index.html")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
