package dialogue

import (
	"sync"
	"time"
)

// draftAge is how long text that a client has received may be missing in the store.
// With the time of the save itself, a crash may lose a second of it.
const draftAge = 500 * time.Millisecond

// draft saves an answer while it is being given: at most every draftAge, and only when
// there is something new.
type draft struct {
	save func()

	mu      sync.Mutex
	timer   *time.Timer // until the next save, nil when there is nothing new
	ended   bool
	running sync.WaitGroup
}

// changed notes that the answer has grown.
func (d *draft) changed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || d.timer != nil {
		return
	}
	d.timer = time.AfterFunc(draftAge, func() {
		d.mu.Lock()
		d.timer = nil
		ended := d.ended
		if !ended {
			d.running.Add(1)
		}
		d.mu.Unlock()
		if !ended {
			defer d.running.Done()
			d.save()
		}
	})
}

// end prevents further saves, and waits for the one that is running.
func (d *draft) end() {
	d.mu.Lock()
	d.ended = true
	if d.timer != nil {
		d.timer.Stop()
	}
	d.mu.Unlock()
	d.running.Wait()
}
