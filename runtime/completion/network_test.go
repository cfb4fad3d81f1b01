package completion

import "testing"

// TestTheNetworkIsWatchedWithoutThePagesLife: pageLifecycleAware is about hiding and leaving.
func TestTheNetworkIsWatchedWithoutThePagesLife(t *testing.T) {
	p := &page{}
	var heard []bool
	n := New(Options{
		Settings: Settings{Page: p, PageLifecycle: new(false), CrossTabPresence: new(false)},
		Network:  func(online bool) { heard = append(heard, online) },
	})
	defer n.Close()
	n.SetThread("thread", "token")
	if p.listener.Online == nil {
		t.Fatal("the network is not watched")
	}
	p.listener.Online(false)
	p.listener.Online(true)
	p.listener.Visible(false)
	p.listener.Hide(false)
	if len(heard) != 2 || heard[0] || !heard[1] {
		t.Errorf("heard %v, want offline and online", heard)
	}
}
