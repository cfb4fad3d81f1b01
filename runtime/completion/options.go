package completion

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/options"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
)

// Settings are when the end of a conversation is reported to the service (session
// §A.1.1, "The end").
type Settings struct {
	// CompleteOnEnd reports the end of the conversation to the service.
	CompleteOnEnd *bool `json:"sessionCompleteOnEnd" default:"true"`
	// CompletePath is the path of the request that reports the end.
	CompletePath string `json:"sessionCompletePath" default:"/thread/session_completed"`
	// CompleteTimeout bounds that request, except one that is sent because the page is hidden or
	// unloaded.
	CompleteTimeout time.Duration `json:"sessionCompleteTimeoutMs" default:"5s"`
	// PageLifecycle reacts when the page is hidden, shown or unloaded.
	PageLifecycle *bool `json:"pageLifecycleAware" default:"true"`
	// HiddenGrace is how long a page may be hidden, without activity, before the
	// conversation counts as ended; with 0 it ends at once.
	HiddenGrace *time.Duration `json:"hiddenGraceMs" default:"30s"`
	// CompleteOnHiddenGrace reports the end when HiddenGrace is over.
	CompleteOnHiddenGrace *bool `json:"completeOnHiddenGrace" default:"true"`
	// CompleteOnBFCache reports the end when the page enters the back-forward cache.
	CompleteOnBFCache *bool `json:"completeOnBfcache" default:"true"`
	// CrossTabPresence suppresses the report while another tab has the thread.
	CrossTabPresence *bool `json:"crossTabPresence" default:"true"`
	// PresencePrefix is the prefix of the name of the channel between tabs.
	PresencePrefix string `json:"presenceChannelPrefix" default:"kaltura-agents:thread"`
	// PresenceBeat is the interval at which a tab announces its thread to the others.
	PresenceBeat time.Duration `json:"presenceHeartbeatMs" default:"4s"`
	// PresenceStale is how long after its last message another tab still counts.
	PresenceStale time.Duration `json:"presenceStaleMs" default:"12s"`

	// Sent is whether the report was sent. The notifiers of one conversation share it, so that
	// they send one report: while a conversation moves to another session, both sessions get
	// the page's events. nil for a notifier of its own.
	Sent *atomic.Bool `json:"-"`

	// Page is what reports the page's life. Default: the browser's page; none natively.
	Page Page `json:"-"`

	tab string // identifies this tab to the others
}

// withDefaults returns s with every default. It reports no error, because a session
// checks the values earlier.
func (s Settings) withDefaults() Settings {
	_ = options.Complete(&s)
	s.Sent = cmp.Or(s.Sent, new(atomic.Bool))
	if s.tab == "" {
		s.tab = tab()
	}
	return s
}

// Options are the parts of a [Notifier].
type Options struct {
	// URL is the brain's base address.
	URL      string
	Settings Settings
	// HTTPClient does the requests.
	HTTPClient httpclient.Client
	// Trace returns the trace context of the request.
	Trace func() httpclient.TraceContext

	// Leave is called when the page is unloaded, after the completion request was
	// started. Requests that it starts before it returns are sent too.
	Leave func(reason string)
	// Renew returns a token in place of one that the service refused; may be nil. It is not
	// called for a page that is hidden or unloaded, which may have no time for it.
	Renew func(ctx context.Context) (string, error)
	// Network is called when the browser goes online or offline; may be nil.
	Network func(online bool)
	// Attempt is called for every attempt that was sent, failed or was suppressed.
	Attempt func(Attempt)
}

// Attempt is one attempt to report the end (session §A.1.5, sessionCompleted).
type Attempt struct {
	Reason     string
	Sent       bool
	Suppressed bool
	Peers      int // other tabs that have the thread
}

// Result is the outcome of an explicit completion (session §A.1.3,
// completeThread).
type Result struct {
	OK bool `json:"ok"`
	// Reason is manual, already_sent or suppressed when OK; else disabled,
	// no_thread, no_token, http_error or network_error.
	Reason string `json:"reason,omitempty"`
	Status int    `json:"status,omitempty"`
	Peers  int    `json:"peers,omitempty"`
}

// Page is the browser's page.
type Page interface {
	// Watch calls the functions of l until stop is called. Hide and the function that it
	// returns are called inside the dispatch of the pagehide event.
	Watch(l Listener) (stop func())
	// Channel opens the broadcast channel called name between the tabs of one
	// origin, or returns nil where there is none.
	Channel(name string, receive func(message string)) Channel
	// UserAgent returns the browser's user agent.
	UserAgent() string
}

// A sender is a Page that can do a request without the program.
type sender interface {
	// sendAtHide leaves r to the browser, which sends it through n at pagehide if it was not
	// withdrawn before that: a program that has crashed, or waits for its second part, handles no
	// event. cached is whether it is sent for a page that enters the back-forward cache too.
	// Equal requests are sent once.
	sendAtHide(n fetch.Network, r *fetch.Request, cached bool) (withdraw func())
}

// Listener is what a page reports.
type Listener struct {
	// Hide is called for pagehide. What it returns, if not nil, is called when Hide has
	// returned for every session of the page.
	Hide    func(persisted bool) (leave func())
	Show    func(persisted bool) // pageshow
	Visible func(visible bool)   // visibilitychange
	Online  func(online bool)
}

// Channel is an open broadcast channel.
type Channel interface {
	Post(message string)
	Close()
}
