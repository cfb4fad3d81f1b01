package sessionend

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
)

// Settings are the options that a page may change (session-api A.1.1, options
// 56 to 67). The zero value means every default.
type Settings struct {
	// Off switches the signal off. JavaScript: sessionCompleteOnEnd false.
	Off bool
	// Path is the route. Default /thread/session_completed.
	Path string
	// Timeout bounds the request, except when the page goes away. Default 5 s.
	Timeout time.Duration
	// IgnorePage stops listening to the page. JavaScript: pageLifecycleAware
	// false.
	IgnorePage bool
	// HiddenGrace is how long a page may be hidden, with nothing said, before
	// the conversation counts as over. Default 30 s; 0 is at once.
	HiddenGrace *time.Duration
	// NoHiddenGrace switches that off. JavaScript: completeOnHiddenGrace false.
	NoHiddenGrace bool
	// NoBFCache keeps a page that goes into the back-forward cache from sending.
	// JavaScript: completeOnBfcache false.
	NoBFCache bool
	// NoPresence ignores other tabs. JavaScript: crossTabPresence false.
	NoPresence bool
	// PresencePrefix begins the name of the channel between tabs.
	// Default kaltura-agents:thread.
	PresencePrefix string
	// PresenceBeat and PresenceStale say how often a tab is heard of, and when
	// a silent one is forgotten. Defaults 4 s and 12 s.
	PresenceBeat  time.Duration
	PresenceStale time.Duration

	// Once is shared by the completers of one conversation; nil for a completer of
	// its own.
	Once *Once

	tab string // this tab's id between tabs
}

// Once lets several completers send one signal between them: while a conversation
// moves to another session, both of them see the page go away.
type Once struct{ sent atomic.Bool }

const defaultHiddenGrace = 30 * time.Second

func (s Settings) withDefaults() Settings {
	s.Path = cmp.Or(s.Path, "/thread/session_completed")
	s.Timeout = cmp.Or(s.Timeout, 5*time.Second)
	if s.HiddenGrace == nil {
		grace := defaultHiddenGrace
		s.HiddenGrace = &grace
	}
	s.Once = cmp.Or(s.Once, new(Once))
	s.PresencePrefix = cmp.Or(s.PresencePrefix, "kaltura-agents:thread")
	s.PresenceBeat = cmp.Or(s.PresenceBeat, 4*time.Second)
	s.PresenceStale = cmp.Or(s.PresenceStale, 12*time.Second)
	s.tab = cmp.Or(s.tab, tab)
	return s
}

// Options are the parts of a [Completer].
type Options struct {
	// URL is the brain's base address.
	URL      string
	Fetch    fetch.Client
	Send     fetch.Sender
	Page     Page // nil natively
	Settings Settings

	// Leave is called when the page goes away for good, after the completion
	// request has left. What it starts before it returns still leaves too.
	Leave func(reason string)
	// Network is called when the browser goes online or offline; may be nil.
	Network func(online bool)
	// Attempt is called for every attempt that had a thread to complete.
	Attempt func(Attempt)
}

// Attempt is one try to tell the service (session-api A.1.5,
// sessionCompleted).
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
	// Watch calls l until stop is called. Hide is called from the pagehide
	// listener itself.
	Watch(l Listener) (stop func())
	// Channel opens the broadcast channel called name between the tabs of one
	// origin, or returns nil where there is none.
	Channel(name string, receive func(message string)) Channel
	// UserAgent is the browser's.
	UserAgent() string
}

// Listener is what a page reports.
type Listener struct {
	Hide    func(persisted bool) // pagehide
	Show    func(persisted bool) // pageshow
	Visible func(visible bool)   // visibilitychange
	Online  func(online bool)
}

// Channel is an open broadcast channel.
type Channel interface {
	Post(message string)
	Close()
}
