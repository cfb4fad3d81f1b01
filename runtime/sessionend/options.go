package sessionend

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/options"
)

// Settings are when the end of a conversation is reported to the service (session-api
// A.1.1, options 56 to 67).
type Settings struct {
	// CompleteOnEnd reports the end of the conversation to the service.
	CompleteOnEnd *bool `json:"sessionCompleteOnEnd" default:"true"`
	// CompletePath is the route of the request.
	CompletePath string `json:"sessionCompletePath" default:"/thread/session_completed"`
	// CompleteTimeout bounds the request, except when the page is unloaded.
	CompleteTimeout time.Duration `json:"sessionCompleteTimeoutMs" default:"5s"`
	// PageLifecycle listens to the page: hiding, showing and leaving.
	PageLifecycle *bool `json:"pageLifecycleAware" default:"true"`
	// HiddenGrace is how long a page may be hidden, without activity, before the
	// conversation counts as ended; 0 is immediately.
	HiddenGrace *time.Duration `json:"hiddenGraceMs" default:"30s"`
	// CompleteOnHiddenGrace reports the end when HiddenGrace is over.
	CompleteOnHiddenGrace *bool `json:"completeOnHiddenGrace" default:"true"`
	// CompleteOnBFCache reports it when the page enters the back-forward cache.
	CompleteOnBFCache *bool `json:"completeOnBfcache" default:"true"`
	// CrossTabPresence suppresses the report while another tab has the thread.
	CrossTabPresence *bool `json:"crossTabPresence" default:"true"`
	// PresencePrefix begins the name of the channel between tabs.
	PresencePrefix string `json:"presenceChannelPrefix" default:"kaltura-agents:thread"`
	// PresenceBeat is the period in which a tab announces its thread to the others.
	PresenceBeat time.Duration `json:"presenceHeartbeatMs" default:"4s"`
	// PresenceStale is the time after its last message when a tab is ignored.
	PresenceStale time.Duration `json:"presenceStaleMs" default:"12s"`

	// Once is shared by the notifiers of one conversation; nil for a notifier of
	// its own.
	Once *Once `json:"-"`

	tab string // this tab's id between tabs
}

// Once makes several notifiers send one report: while a conversation moves to another
// session, both sessions get the page's events.
type Once struct{ sent atomic.Bool }

// withDefaults returns s with every default; a session has checked the values.
func (s Settings) withDefaults() Settings {
	_ = options.Complete(&s)
	s.Once = cmp.Or(s.Once, new(Once))
	s.tab = cmp.Or(s.tab, tab)
	return s
}

// Options are the parts of a [Notifier].
type Options struct {
	// URL is the brain's base address.
	URL      string
	Fetch    fetch.Client
	Send     fetch.Sender
	Page     Page // nil natively
	Settings Settings

	// Leave is called when the page is unloaded, after the completion request was
	// started. Requests that it starts before it returns are sent too.
	Leave func(reason string)
	// Renew returns a token in place of one that the service refused; may be nil. A page that
	// is unloaded has no time for it.
	Renew func(ctx context.Context) (string, error)
	// Network is called when the browser goes online or offline; may be nil.
	Network func(online bool)
	// Attempt is called for every attempt that had a thread to complete.
	Attempt func(Attempt)
}

// Attempt is one attempt to report the end (session-api A.1.5, sessionCompleted).
type Attempt struct {
	Reason     string
	Sent       bool
	Suppressed bool
	Peers      int // other tabs that hold the thread
}

// Result is the outcome of an explicit completion (session-api A.1.3,
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
	// Watch calls l until stop is called. Hide and the function that it returns are called
	// inside the dispatch of the pagehide event.
	Watch(l Listener) (stop func())
	// Channel opens the broadcast channel called name between the tabs of one
	// origin, or returns nil where there is none.
	Channel(name string, receive func(message string)) Channel
	// UserAgent is the browser's.
	UserAgent() string
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

// Channel is an open broadcast channel, with what else there is between tabs.
type Channel interface {
	Post(message string)
	// Lock asks for the lock called name, which one tab of the origin can have, or several
	// that ask for a share. taken is
	// called later, unless release was called before, when the lock is there: when the tab
	// that had it has released it or is gone, however it went. Where there are no locks
	// nothing happens.
	Lock(name string, share bool, taken func()) (release func())
	// Store keeps a value for the other tabs, or removes it when it is empty, and Stored
	// returns one. They never wait. Where there is no storage nothing is kept.
	Store(name, value string)
	Stored(name string) string
	// Closing calls f in the beforeunload listener, until stop is called: the page is about
	// to be closed, left for another, or asked whether it may be, and can still stay.
	Closing(f func()) (stop func())
	// Hold keeps a page that is being unloaded for d. It is called in the listener of
	// beforeunload or pagehide; messages that come meanwhile are received when the listener
	// has returned.
	Hold(d time.Duration)
	Close()
}
