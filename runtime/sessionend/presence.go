package sessionend

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// maxPeers bounds the memory for messages of other scripts of the same origin.
const maxPeers = 64

// tab is this program's id between tabs. It is the same for all sessions of a page:
// two of them on one thread, as in a switch between text and avatar, do not count as
// two tabs.
var tab = strconv.FormatUint(rand.Uint64(), 36)

// presence tracks which other tabs have the same thread (wire-protocol §8.10).
type presence struct {
	id      string
	channel Channel
	stale   time.Duration

	mu    sync.Mutex
	beat  *time.Timer
	peers map[string]time.Time
}

// notice is one message between tabs.
type notice struct {
	V  int    `json:"v"`
	ID string `json:"id"`
	T  string `json:"t"` // hello, ack, alive, bye
}

// openPresence announces this tab, or returns nil where there are no channels between
// tabs.
func openPresence(page Page, s Settings, thread string) *presence {
	p := &presence{id: s.tab, stale: s.PresenceStale, peers: map[string]time.Time{}}
	p.mu.Lock() // a message may come before p.channel is set
	defer p.mu.Unlock()
	p.channel = page.Channel(s.PresencePrefix+":"+thread, p.receive)
	if p.channel == nil {
		return nil
	}
	p.post("hello")
	p.beat = time.AfterFunc(s.PresenceBeat, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.channel != nil {
			p.post("alive")
			p.beat.Reset(s.PresenceBeat)
		}
	})
	return p
}

// post is called with mu held.
func (p *presence) post(t string) {
	b, err := json.Marshal(notice{V: 1, ID: p.id, T: t})
	if err == nil {
		p.channel.Post(string(b))
	}
}

func (p *presence) receive(message string) {
	var n notice
	if json.Unmarshal([]byte(message), &n) != nil || n.V != 1 || n.ID == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.channel == nil {
		return
	}
	if n.ID == p.id {
		if n.T == "bye" { // from another session of this tab, which has ended
			p.post("alive")
		}
		return
	}
	switch n.T {
	case "bye":
		delete(p.peers, n.ID)
		return
	case "hello":
		p.post("ack")
	case "ack", "alive":
	default:
		return
	}
	if _, known := p.peers[n.ID]; known || len(p.peers) < maxPeers {
		p.peers[n.ID] = time.Now()
	}
}

// leave says bye and returns how many other tabs hold the thread.
func (p *presence) leave() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.channel != nil {
		p.post("bye")
	}
	for id, seen := range p.peers {
		if time.Since(seen) > p.stale {
			delete(p.peers, id)
		}
	}
	return len(p.peers)
}

func (p *presence) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.channel == nil {
		return
	}
	p.beat.Stop()
	p.post("bye") // the remaining tab must report the end
	p.channel.Close()
	p.channel = nil
}
