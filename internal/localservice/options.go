package localservice

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/directory"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/pageserver"
)

// Options configure a service. The zero value is a service on free ports of loopback,
// with the demo brain, the best available voice, and data that is deleted at its end.
type Options struct {
	// Addr is the TCP address of HTTP and of the control sockets; default
	// 127.0.0.1:0.
	Addr string
	// TURNListen are the addresses of the relay, each with UDP and TCP; default
	// one free port of 127.0.0.1. With ports 80 and 443, clients that only use
	// the four-URL expansion find it (protocol §6.2).
	TURNListen []string
	// MediaAddr is the UDP address of pictures and voices; default 127.0.0.1:0. The relay
	// must be able to reach it, clients need not.
	MediaAddr string
	// PublicURL replaces Addr in the replies to clients, as in "https://agent.example"
	// behind a proxy that terminates TLS.
	PublicURL string
	// Certificate makes Addr serve https and wss instead of http and ws; [NewCertificate] makes one, which clients have to be
	// told to accept. The relay and the control address stay as they are.
	Certificate *tls.Certificate
	// AllowPublic permits the addresses above to be outside loopback. The control
	// address is on loopback always.
	AllowPublic bool
	// PageControl lets the service's own pages use the control API, under /control and
	// without its token. It can't be combined with AllowPublic.
	PageControl bool
	// AllowHosts are further host names, without a port, under which the service may be
	// requested, besides those of loopback, that of PublicURL and, with AllowPublic,
	// every IP address.
	AllowHosts []string
	// AllowOrigins are origins whose pages may use the service, besides those on its own
	// hosts; "*" is every page.
	AllowOrigins []string
	// ToolHosts are the names of the hosts that api tools and MCP servers may be at,
	// besides loopback.
	ToolHosts []string
	// AllowPrivateNetwork lets pages from the public network send requests to the service
	// (Access-Control-Allow-Private-Network).
	AllowPrivateNetwork bool

	// SharedWidgetTokens gives all visitors of a widget the same token, as the service's
	// specification says (service.md, Authentication). A visitor's thread can then be continued
	// with its id alone, and the quotas of a token do not apply to visitors. By default each
	// visitor gets a token, which alone gives access to the visitor's threads.
	SharedWidgetTokens bool
	// Users are attributes of users by their ids, for the templates' sys__user_obj; see
	// [directory.Read].
	Users directory.Users

	// Data is the directory of the database; with "" it is temporary and deleted by
	// Close.
	Data string
	// Knowledge is a folder of Markdown files that the demo brain answers from, and
	// that the service shows to everybody; nil means its own.
	Knowledge fs.FS

	// Brain is "demo" or "openai", default openai when Chat has an address and demo
	// otherwise. Script, when set, is YAML whose rules are tried before the brain.
	Brain  string
	Script []byte
	Chat   endpoint.Endpoint // of the brain "openai"
	// Voice is one of the kinds of package voice, default the best available one.
	Voice  string
	Speech endpoint.Endpoint
	// Transcription is the endpoint that transcribes speech. Without it, and without such
	// texts in the script, the agent says that it detected speech without words.
	Transcription endpoint.Endpoint

	// Sockets, HTTP and Relay are the network conditions at the start, which the control
	// API can change.
	Sockets, HTTP, Relay netem.Conditions

	// Recovery is how long a session outlives its socket: default 20 s, negative
	// switches recovery off.
	Recovery time.Duration
	// RelayLogin is how long the relay accepts a login from appInit, and the built-in one
	// after the start. Default 24 hours, the longest life of a conversation token,
	// because a session can't request another login.
	RelayLogin time.Duration
	// IdleThread is how long a thread without a live session may have no request until
	// its conversation counts as completed: default 10 minutes, negative never.
	IdleThread time.Duration
	// MaxCalls is how many calls, i.e. pictures with a voice or voices alone, there can
	// be at once; default 64.
	MaxCalls int
	// MaxData is how large the database may become, in bytes, at least 1 MiB; default 8 GiB.
	// What would not fit is refused: questions as unstorable, other requests with status 507.
	MaxData int64
	// Quotas of one client; see [QuotaInfos] for the defaults.
	Quotas Quotas
	// Limits of HTTP, on both addresses. Its Logger is that below.
	Limits pageserver.Limits
	// Timing of the sessions.
	Timing live.Timing

	// Pages are files to serve to a browser, nil for none, with a policy that the service
	// sets; Page is the path of the one to open.
	Pages *pageserver.Files
	Page  string

	Logger *slog.Logger // nil discards
}

// Defaults of [Options].
const (
	defaultAddr = "127.0.0.1:0"
	// DefaultMaxCalls is that of [Options.MaxCalls].
	DefaultMaxCalls = 64
	// DefaultMaxData is that of [Options.MaxData].
	DefaultMaxData = store.DefaultLimit

	// defaultIdleThread is that of the real service (protocol §8.9).
	defaultIdleThread = 10 * time.Minute
)

// Kinds of brains.
const (
	BrainDemo   = "demo"
	BrainOpenAI = "openai"
)

func (o *Options) setDefaults() {
	o.Addr = cmp.Or(o.Addr, defaultAddr)
	if len(o.TURNListen) == 0 {
		o.TURNListen = []string{defaultAddr}
	}
	o.MediaAddr = cmp.Or(o.MediaAddr, defaultAddr)
	if o.Knowledge == nil {
		o.Knowledge = brain.DefaultKnowledge()
	}
	if o.Brain == "" {
		o.Brain = BrainDemo
		if o.Chat.BaseURL != "" {
			o.Brain = BrainOpenAI
		}
	}
	o.MaxCalls = cmp.Or(o.MaxCalls, DefaultMaxCalls)
	o.RelayLogin = cmp.Or(o.RelayLogin, token.MaxUserTTL)
	o.IdleThread = cmp.Or(o.IdleThread, defaultIdleThread)
	o.Quotas.setDefaults(o.MaxCalls)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Limits.Logger = o.Logger
}

// checkAddresses returns an error for addresses that other machines can reach, unless
// AllowPublic is set, and for PageControl together with AllowPublic.
func (o *Options) checkAddresses() error {
	if o.AllowPublic && o.PageControl {
		return errors.New("pages can control the service only while other machines can't reach it")
	}
	if o.AllowPublic {
		return nil
	}
	for _, address := range append([]string{o.Addr, o.MediaAddr}, o.TURNListen...) {
		if err := checkLoopback(address); err != nil {
			return err
		}
	}
	return nil
}

// ErrPublic means that an address can be reached from other machines and that
// public addresses were not allowed.
var ErrPublic = errors.New("address is not on loopback; set AllowPublic (-allow-public) to use it")

// checkLoopback returns an error unless host:port is on loopback. The only host name
// that it accepts is localhost: others depend on name resolution.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s: %w", address, ErrPublic)
	}
	return nil
}
