package completion

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// maxPeers bounds the memory for messages of other scripts of the same origin.
const maxPeers = 64

// tab identifies this program to other tabs. All sessions of a page share it, so that
// two of them on one thread, as in a switch between text and avatar, do not count as
// two tabs.
// It is made at its first use: the start of a program for the page is the same in every page
// (tools/wasm/link).
var tab = sync.OnceValue(func() string { return strconv.FormatUint(rand.Uint64(), 36) })

// presence tracks which other tabs have the same thread (protocol §8.10), so that only the
// one that leaves last reports the end.
//
// Two tabs that leave before either has received the other's bye both count the other, and
// none reports: the service then completes the thread itself. Two reports are impossible
// while messages between tabs take less than Settings.PresenceStale: a tab counts a silent
// peer no longer only if its own messages were posted in time, so that this peer counts it;
// and its bye says that it has reported.
type presence struct {
	id    string
	stale time.Duration
	sent  *atomic.Bool
	// changed is called, without mu, when the first other tab has come or the last one is gone.
	// The mutex of a Notifier is locked before mu.
	changed func()

	mu      sync.Mutex
	channel Channel // nil after close
	beat    *time.Timer
	beaten  time.Time            // the last message on time; later for a page whose timers are slowed
	peers   map[string]time.Time // of other tabs, when their last message came
	left    bool
	// reporter is the tab of whose report sent is set, until it turns out to have failed.
	reporter string
}

// notice is one message between tabs.
type notice struct {
	V  int    `json:"v"`
	ID string `json:"id"`
	T  string `json:"t"` // hello, ack, alive, bye
	// Reported is set in the bye of a tab that reports the end.
	Reported bool `json:"reported,omitempty"`
}

// openPresence announces this tab, or returns nil where there are no channels between
// tabs.
func openPresence(s Settings, thread string, changed func()) *presence {
	p := &presence{id: s.tab, stale: s.PresenceStale, sent: s.Sent, changed: changed, peers: map[string]time.Time{}}
	p.mu.Lock() // a message may come before p.channel is set
	defer p.mu.Unlock()
	p.channel = s.Page.Channel(s.PresencePrefix+":"+thread, p.receive)
	if p.channel == nil {
		return nil
	}
	p.post("hello", false)
	p.beaten = time.Now()
	p.beat = time.AfterFunc(s.PresenceBeat, func() {
		p.update(func() {
			if p.channel == nil {
				return
			}
			p.forget()
			p.post("alive", false)
			p.beaten = time.Now()
			p.beat.Reset(s.PresenceBeat)
		})
	})
	return p
}

// update calls f with mu held, and changed afterwards if there are other tabs now and there were
// none, or the reverse.
func (p *presence) update(f func()) {
	p.mu.Lock()
	before := len(p.peers)
	f()
	after := len(p.peers)
	p.mu.Unlock()
	if (before > 0) != (after > 0) {
		p.changed()
	}
}

// post is called with mu held. A tab that has left says nothing but bye.
func (p *presence) post(t string, reported bool) {
	if p.left && t != "bye" {
		return
	}
	if b, err := json.Marshal(notice{V: 1, ID: p.id, T: t, Reported: reported}); err == nil {
		p.channel.Post(string(b))
	}
}

func (p *presence) receive(message string) {
	var n notice
	if json.Unmarshal([]byte(message), &n) != nil || n.V != 1 || n.ID == "" {
		return
	}
	p.update(func() { p.take(n) })
}

// take is called with mu held.
func (p *presence) take(n notice) {
	_, known := p.peers[n.ID]
	switch {
	case p.channel == nil:
		return
	case n.ID == p.id:
		if n.T == "bye" { // of another session of this tab, which has ended
			p.post("alive", false)
		}
		return
	case n.T == "bye":
		delete(p.peers, n.ID)
		if known && n.Reported && p.sent.CompareAndSwap(false, true) {
			p.reporter = n.ID
		}
		return
	case n.T == "hello":
		p.post("ack", false)
	case n.T != "ack" && n.T != "alive":
		return
	}
	if n.ID == p.reporter {
		p.reporter = ""
		p.sent.Store(false)
	}
	if known || len(p.peers) < maxPeers {
		p.peers[n.ID] = time.Now()
	}
}

// leave posts bye and returns how many other tabs have the thread. If there are none, the
// caller reports the end.
func (p *presence) leave() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget()
	if p.channel != nil {
		p.left = true
		p.post("bye", len(p.peers) == 0)
	}
	return len(p.peers)
}

// stay undoes leave after a report that has failed: the conversation may go on.
func (p *presence) stay() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left && p.channel != nil {
		p.left = false
		p.post("hello", false)
	}
}

// others returns how many other tabs have the thread.
func (p *presence) others() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.peers)
}

// forget removes tabs that are silent. It is called with mu held.
func (p *presence) forget() {
	if time.Since(p.beaten) <= p.stale/2 {
		maps.DeleteFunc(p.peers, func(_ string, seen time.Time) bool { return time.Since(seen) > p.stale })
	}
}

// close ends the presence.
func (p *presence) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.channel == nil {
		return
	}
	p.beat.Stop()
	if !p.left {
		p.post("bye", false) // the remaining tab must report the end
	}
	p.channel.Close()
	p.channel = nil
}
