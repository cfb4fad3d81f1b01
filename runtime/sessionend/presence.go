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
	// goodbyeLimit is how long a message between tabs may take, or the browser to
	// release the lock of a tab that crashed. A page that is unloaded while other tabs
	// have its thread is kept for that long, and an ended session listens for longer.
	goodbyeLimit = 20 * time.Millisecond
	lingerLimit  = time.Second
)

// tab is this program's id between tabs. It is the same for all sessions of a page:
// two of them on one thread, as in a switch between text and avatar, do not count as
// two tabs.
var tab = randomName()

func randomName() string { return strconv.FormatUint(rand.Uint64(), 36) }

// presence tracks which other tabs have the same thread (wire-protocol §8.10), and
// elects the one that reports the end: the tab that leaves last.
//
// A tab that leaves and knows of no other one is the last. If it knows of others, some of
// them may have left or crashed at the same time. So it listens for a little longer
// (goodbyeLimit), and it is the last if meanwhile every other tab has said that it left
// earlier, or has lost its lock. This elects exactly one tab of those that leave: leaving
// is ordered by time and then by id, after everything that the tab has received by then, so that only one can be later than all others, and
// what the others posted before that moment reaches it while it listens. A tab also stores
// when it left, because a page that is unloaded may not live to receive a message, but it
// can read the storage at once. A tab that stays
// never loses its lock, so none of those that leave is elected while one is there.
//
// Every tab with a peer holds a Web Lock, which the browser releases when the tab is
// gone, however it went. Tabs without one, such as those of the reference client, count
// until they have been silent for a while.
type presence struct {
	id      string
	channel Channel
	prefix  string // of the names of locks
	space   string // of what is stored
	stale   time.Duration

	mu      sync.Mutex
	beat    *time.Timer
	peers   map[string]*peer
	lock    string // of this session
	release func() // set when the lock was asked for
	held    bool

	before int64  // when the last other tab left, of which this one knew
	left   int64  // when this tab left, in ms since 1970 and after those; 0 before
	last   func() // called when it turns out that this tab was the last; nil when that is decided
	linger *time.Timer
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
	At   int64  `json:"at,omitempty"`   // of a bye: when, in ms since 1970
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
		if p.channel != nil && p.left == 0 {
			p.post("alive")
			p.beat.Reset(s.PresenceBeat)
		}
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

// change changes what is known of other tabs, and calls last if none is left.
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
		p.before = max(p.before, n.At)
		p.forget(n.ID)
		if p.left != 0 && (n.At == 0 || n.At > p.left || n.At == p.left && n.ID > p.id) {
			p.last = nil // that tab left later
		}
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
	// A page alone needs none, and a lock keeps it from the back-forward cache.
	if p.release == nil && p.left == 0 {
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

// leave says bye and returns how many other tabs hold the thread. If there are some, last
// is called if it turns out that this tab was the last; it must not wait.
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
			p.before = max(p.before, at)
			p.forget(id)
		}
	}
	p.post("bye")
	if len(p.peers) > 0 {
		p.last = last
		p.channel.Store(p.stored(p.lock), strconv.FormatInt(p.left, 10))
	}
	return len(p.peers)
}

// stored is where a session stores when it left, for tabs that leave before its bye has
// come. It exists for a short time, and only when there are several tabs.
func (p *presence) stored(lock string) string { return p.space + ":left:" + lock }

// hold keeps a page that is being unloaded until messages of other tabs that leave at the
// same time are there, and until its own are there before its lock is lost. They are
// received when the listener of pagehide has returned.
func (p *presence) hold() {
	p.mu.Lock()
	channel, met := p.channel, p.release != nil
	p.mu.Unlock()
	if met && channel != nil {
		channel.Hold(goodbyeLimit)
	}
}

// close ends the presence, a little later for the same reasons when there was a peer.
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
		p.channel.Store(p.stored(p.lock), "")
	}
	p.channel.Close()
	p.channel, p.last = nil, nil
}
