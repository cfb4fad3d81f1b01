package sessionend

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

const (
	// maxPeers bounds the memory for messages of other scripts of the same origin.
	maxPeers = 64
	// goodbyeLimit is the time allowed for a message between tabs, and for the browser to
	// release the lock of a tab that crashed. A page that is closed while other tabs have
	// its thread is held for that long; an ended session listens for lingerLimit.
	goodbyeLimit = 150 * time.Millisecond
	lingerLimit  = time.Second
	// stayLimit is how long after its beforeunload event an open page counts as staying,
	// as after a click on a download.
	stayLimit = time.Second
)

// tab identifies this program to other tabs. All sessions of a page share it, so that
// two of them on one thread, as in a switch between text and avatar, do not count as
// two tabs.
// It is made at its first use: the start of a program for the page is the same in every page
// (tools/wasm/link).
var tab = sync.OnceValue(randomName)

func randomName() string { return strconv.FormatUint(rand.Uint64(), 36) }

// presence tracks which other tabs have the same thread (protocol §8.10), and
// elects the one that reports the end: the tab that leaves last.
//
// A tab that leaves without a peer is the last. If it has peers, some of them may have left
// or crashed at the same time. So it posts bye and listens a little longer (goodbyeLimit);
// it is the last if by then every peer has posted an earlier bye or has lost its lock. This
// elects exactly one of the leaving tabs: byes are ordered by time and then by id, and each
// is later than all byes that its tab has received, so that only one can be later than all
// others. What the others posted before it reaches its tab while that listens. A tab that
// stays never loses its lock, so no leaving tab is elected while another stays.
//
// A page that is closed posts bye in its beforeunload listener and delays the return of the
// listener: messages of other tabs are then received before its pagehide event, in which it
// decides and sends. After pagehide most browsers end a page before it receives anything
// more. Without a beforeunload event, as on phones, the page posts bye in pagehide and is the
// last if it lives long enough to receive the byes of the others. For that case a tab also
// stores when it left, because storage can be read at once. A page that stays open after its
// beforeunload event withdraws its bye.
//
// Every tab with a peer holds a Web Lock, which the browser releases when the tab is
// gone, also after a crash. Peers without one, such as tabs of the reference client, count
// until they have sent no message for Settings.PresenceStale.
type presence struct {
	id      string
	channel Channel
	prefix  string // of the names of locks
	space   string // prefix of the keys in storage
	stale   time.Duration

	mu      sync.Mutex
	beat    *time.Timer
	peers   map[string]*peer
	lock    string // of this session
	release func() // set once the lock was requested
	held    bool
	unwatch func() // removes the beforeunload listener; set together with release

	before  int64       // the latest time at which a peer left
	left    int64       // when this tab left, in ms since 1970, later than before; 0 while it stays
	closing *time.Timer // set from the bye in beforeunload until the tab leaves or stays
	later   bool        // a tab left after this one
	last    func()      // called when it turns out that this tab was the last; nil when that is decided
	linger  *time.Timer
}

// peer is another tab.
type peer struct {
	seen    time.Time
	lock    string
	unwatch func()
}

// notice is one message between tabs.
type notice struct {
	V    int    `json:"v"`
	ID   string `json:"id"`
	T    string `json:"t"`              // hello, ack, alive, bye
	Lock string `json:"lock,omitempty"` // held by the sender for as long as it is there
	At   int64  `json:"at,omitempty"`   // the time of a bye, in ms since 1970
}

// openPresence announces this tab, or returns nil where there are no channels between
// tabs.
func openPresence(page Page, s Settings, thread string) *presence {
	name := s.PresencePrefix + ":" + thread
	p := &presence{id: s.tab, prefix: name + ":", space: s.PresencePrefix, lock: randomName(), stale: s.PresenceStale, peers: map[string]*peer{}}
	p.mu.Lock() // a message may come before p.channel is set
	defer p.mu.Unlock()
	p.channel = page.Channel(name, p.receive)
	if p.channel == nil {
		return nil
	}
	p.post("hello")
	p.beat = time.AfterFunc(s.PresenceBeat, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.channel == nil {
			return
		}
		if p.left == 0 {
			p.post("alive")
		}
		p.beat.Reset(s.PresenceBeat)
	})
	return p
}

// post is called with mu held.
func (p *presence) post(t string) {
	n := notice{V: 1, ID: p.id, T: t}
	if p.held {
		n.Lock = p.lock
	}
	if t == "bye" {
		p.left = max(time.Now().UnixMilli(), p.before+1)
		n.At = p.left
	}
	b, err := json.Marshal(n)
	if err == nil {
		p.channel.Post(string(b))
	}
}

func (p *presence) receive(message string) {
	var n notice
	if json.Unmarshal([]byte(message), &n) == nil && n.V == 1 && n.ID != "" {
		p.change(func() { p.take(n) })
	}
}

// change runs f, which changes the peers, and calls last if no peer remains.
func (p *presence) change(f func()) {
	p.mu.Lock()
	if p.channel == nil {
		p.mu.Unlock()
		return
	}
	f()
	last := p.last
	if last == nil || len(p.peers) > 0 {
		p.mu.Unlock()
		return
	}
	p.last = nil
	p.mu.Unlock()
	last()
}

func (p *presence) take(n notice) {
	if n.ID == p.id {
		if n.T == "bye" && p.left == 0 { // from another session of this tab, which has ended
			p.post("alive")
		}
		return
	}
	known := p.peers[n.ID]
	switch n.T {
	case "bye":
		if known != nil && known.lock != "" && n.Lock != "" && n.Lock != known.lock {
			return // another session of that tab stays
		}
		p.departed(n.ID, n.At)
		return
	case "hello":
		if p.left == 0 {
			p.post("ack")
		}
	case "ack", "alive":
	default:
		return
	}
	if known == nil {
		if len(p.peers) == maxPeers {
			return
		}
		known = &peer{unwatch: func() {}}
		p.peers[n.ID] = known
	}
	known.seen = time.Now()
	if n.Lock != "" && n.Lock != known.lock {
		known.unwatch()
		known.lock = n.Lock
		known.unwatch = p.channel.Lock(p.prefix+n.Lock, true, func() {
			p.change(func() {
				if known == p.peers[n.ID] && known.lock == n.Lock {
					p.forget(n.ID)
				}
			})
		})
	}
	// Only now: a page without peers needs neither, and a lock, in some browsers also a
	// beforeunload listener, excludes the page from the back-forward cache.
	if p.release == nil && p.left == 0 {
		p.unwatch = p.channel.Closing(p.announce)
		p.release = p.channel.Lock(p.prefix+p.lock, false, func() {
			p.change(func() {
				p.held = true
				if p.left == 0 {
					p.post("alive")
				}
			})
		})
	}
}

// departed records that a peer left at the time at, 0 if unknown. It is called with mu held.
func (p *presence) departed(id string, at int64) {
	p.before = max(p.before, at)
	p.forget(id)
	if p.left != 0 && (at == 0 || at > p.left || at == p.left && id > p.id) {
		p.later, p.last = true, nil
	}
}

// announce posts bye when the page is probably about to be closed, and holds the page until
// the byes of tabs that are closed at the same time have arrived. If the page stays, it
// withdraws the bye.
func (p *presence) announce() {
	p.mu.Lock()
	channel := p.channel
	if channel == nil || p.left != 0 || len(p.peers) == 0 {
		p.mu.Unlock()
		return
	}
	p.post("bye")
	p.closing = time.AfterFunc(stayLimit, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.closing != nil && p.channel != nil {
			p.closing, p.left, p.later = nil, 0, false
			p.post("alive")
		}
	})
	p.mu.Unlock()
	channel.Hold(goodbyeLimit)
}

// forget is called with mu held.
func (p *presence) forget(id string) {
	if known := p.peers[id]; known != nil {
		known.unwatch()
		if known.lock != "" {
			p.channel.Store(p.stored(known.lock), "")
		}
		delete(p.peers, id)
	}
}

// leave posts bye and returns how many other tabs have the thread. If there are any, last is
// called later if this tab turns out to be the last; last must not block.
func (p *presence) leave(last func()) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, known := range p.peers {
		if known.lock == "" && time.Since(known.seen) > p.stale {
			p.forget(id)
		}
	}
	if p.channel == nil {
		return len(p.peers)
	}
	for id, known := range p.peers {
		if known.lock == "" {
			continue
		}
		if at, err := strconv.ParseInt(p.channel.Stored(p.stored(known.lock)), 10, 64); err == nil {
			p.departed(id, at)
		}
	}
	if p.closing != nil {
		p.closing.Stop()
		p.closing = nil
	} else {
		p.post("bye")
		p.later = false // of an earlier end of this session
	}
	if p.later {
		return max(1, len(p.peers))
	}
	if len(p.peers) > 0 {
		p.last = last
		p.channel.Store(p.stored(p.lock), strconv.FormatInt(p.left, 10))
	}
	return len(p.peers)
}

// stored returns the storage key under which a session stores when it left, for tabs that
// leave before they receive its bye. The key exists for a short time, and only if there are
// several tabs.
func (p *presence) stored(lock string) string { return p.space + ":left:" + lock }

// announced reports whether bye was posted in beforeunload.
func (p *presence) announced() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closing != nil
}

// hold delays the unloading of a page that posted no bye in beforeunload, until the messages
// of other leaving tabs have arrived, and its own have arrived there before its lock is
// released. Messages are received after the pagehide listener has returned, if the page
// still exists.
func (p *presence) hold() {
	p.mu.Lock()
	channel, met := p.channel, p.release != nil
	p.mu.Unlock()
	if met && channel != nil {
		channel.Hold(goodbyeLimit)
	}
}

// close ends the presence; if there was a peer, after lingerLimit, for the same reasons.
func (p *presence) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.channel == nil {
		return
	}
	p.beat.Stop()
	if p.left == 0 {
		p.post("bye") // the remaining tab must report the end
	}
	switch {
	case p.release == nil:
		p.end()
	case p.linger == nil:
		p.linger = time.AfterFunc(lingerLimit, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.end()
		})
	}
}

// end is called with mu held.
func (p *presence) end() {
	if p.channel == nil {
		return
	}
	for _, known := range p.peers {
		known.unwatch()
	}
	clear(p.peers)
	if p.release != nil {
		p.release()
		p.unwatch()
		p.channel.Store(p.stored(p.lock), "")
	}
	p.channel.Close()
	p.channel, p.last = nil, nil
}
