package localservice

import (
	"cmp"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
)

// Options say how a service runs. The zero value is a service on free ports of
// loopback, with the demo brain, the best voice there is, and data that vanish
// with it.
type Options struct {
	// Addr is the TCP address of HTTP and of the control sockets; default
	// 127.0.0.1:0.
	Addr string
	// TURNListen are the addresses of the relay, each with UDP and TCP; default
	// one free port of 127.0.0.1. With ports 80 and 443, clients that only use
	// the four-URL expansion find it (wire-protocol §6.2).
	TURNListen []string
	// MediaAddr is the UDP address of pictures and voices; default 127.0.0.1:0. The
	// relay has to reach it, a client need not.
	MediaAddr string
	// PublicURL replaces Addr in the replies to clients, as in
	// "https://agent.example" when something that ends TLS stands in front.
	PublicURL string
	// AllowPublic permits the addresses above to be outside loopback. The control
	// address is on loopback always.
	AllowPublic bool
	// PageControl lets the service's own pages give the commands of the control address,
	// under ControlPath and without its token. Not with AllowPublic.
	PageControl bool
	// AllowHosts are further host names that the service is called by, without a
	// port: beside those of loopback, that of PublicURL and, with AllowPublic, every
	// IP address.
	AllowHosts []string
	// AllowOrigins are origins whose pages may use the service, beside those on its
	// own hosts; "*" is every page.
	AllowOrigins []string
	// ToolHosts are the hosts, by their names, that api tools may call beside loopback.
	ToolHosts []string
	// AllowPrivateNetwork lets pages from the public network ask for the service
	// (Access-Control-Allow-Private-Network).
	AllowPrivateNetwork bool

	// Data is the directory of the database; "" keeps nothing.
	Data string
	// Knowledge is a folder of Markdown files that the demo brain answers from, and
	// that the service shows to everybody; nil means its own.
	Knowledge fs.FS

	// Brain is "demo" or "openai", default openai when Chat has an address and demo
	// otherwise. Script, when set, is YAML that answers before it.
	Brain  string
	Script []byte
	Chat   endpoint.Endpoint // of the brain "openai"
	// Voice is one of the kinds of package voice, default the best there is.
	Voice  string
	Speech endpoint.Endpoint
	// Transcription gives the words of speech; without one, the agent says that it
	// has no words.
	Transcription endpoint.Endpoint

	// Sockets, HTTP and Relay are the conditions of the network at the start; they
	// can be changed at the control address.
	Sockets, HTTP, Relay netem.Conditions

	// Recovery is how long a session outlives its socket: default 20 s, negative
	// switches recovery off.
	Recovery time.Duration
	// RelayLogin is how long a login to the relay from appInit is accepted, and the
	// built-in one after the start; default 24 hours, as long as the longest conversation
	// token, for sessions that can't ask for another.
	RelayLogin time.Duration
	// IdleThread is how long there is no request for a thread that no live session has
	// until its conversation counts as completed: default 10 minutes, negative never.
	IdleThread time.Duration
	// MaxCalls is how many pictures and voices there can be at once; default 64.
	MaxCalls int
	// Quotas of one client.
	Quotas Quotas
	// Timing of the sessions.
	Timing live.Timing

	// Pages are files to serve to a browser, nil for none; Page is the path of the
	// one to open.
	Pages fs.FS
	Page  string

	Logger *slog.Logger // nil discards
}

// Quotas bound what one token and one client's address may take. Zero means the
// default, a negative number no limit.
type Quotas struct {
	// CallsPerToken and CallsPerAddress are pictures and voices at once; default a
	// quarter and three quarters of MaxCalls, at least one.
	CallsPerToken, CallsPerAddress int
	// RelayPerLogin and RelayPerAddress are relayed addresses at once, of 1,024;
	// default 256 and 768. A page needs up to eight.
	RelayPerLogin, RelayPerAddress int
	// ThreadsPerToken and ThreadsPerAddress are new threads in an hour; default
	// 1,000 and 10,000.
	ThreadsPerToken, ThreadsPerAddress int
}

func (q *Quotas) setDefaults(maxCalls int) {
	q.CallsPerToken = cmp.Or(q.CallsPerToken, max(1, maxCalls/4))
	q.CallsPerAddress = cmp.Or(q.CallsPerAddress, max(1, maxCalls*3/4))
	q.ThreadsPerToken = cmp.Or(q.ThreadsPerToken, 1000)
	q.ThreadsPerAddress = cmp.Or(q.ThreadsPerAddress, 10_000)
}

// Defaults of [Options].
const (
	defaultAddr     = "127.0.0.1:0"
	defaultMaxCalls = 64

	// defaultIdleThread is that of the real service (wire-protocol §8.9).
	defaultIdleThread = 10 * time.Minute
)

// Kinds of brains.
const (
	BrainDemo   = "demo"
	BrainOpenAI = "openai"
)

func (o *Options) setDefaults() {
	if o.Addr == "" {
		o.Addr = defaultAddr
	}
	if len(o.TURNListen) == 0 {
		o.TURNListen = []string{defaultAddr}
	}
	if o.MediaAddr == "" {
		o.MediaAddr = defaultAddr
	}
	if o.Knowledge == nil {
		o.Knowledge = brain.DefaultKnowledge()
	}
	if o.Brain == "" {
		o.Brain = BrainDemo
		if o.Chat.BaseURL != "" {
			o.Brain = BrainOpenAI
		}
	}
	if o.MaxCalls == 0 {
		o.MaxCalls = defaultMaxCalls
	}
	o.RelayLogin = cmp.Or(o.RelayLogin, token.MaxUserTTL)
	o.IdleThread = cmp.Or(o.IdleThread, defaultIdleThread)
	o.Quotas.setDefaults(o.MaxCalls)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
}

// checkAddresses refuses addresses that other machines reach, unless they were
// allowed.
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
