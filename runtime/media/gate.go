package media

import (
	"context"
	"sync"
	"time"
)

// The playable gate's waits (wire-protocol §6.9).
const (
	canPlaySettle = 100 * time.Millisecond // after canplay
	trackFallback = 2 * time.Second        // after the track, when canplay never comes
	bareSettle    = 300 * time.Millisecond // without an element, and after the cap
)

// facts are what the playable gate knows. Zero times have not come.
type facts struct {
	applied time.Time // the answer was applied: the cap counts from here
	track   time.Time // the first track arrived
	canPlay time.Time // the element said that it can play

	element bool // there is an element for the picture
	frames  bool // it tells of frames that it paints
	video   bool // there is a video track
	hidden  bool // the page isn't visible, so nothing is painted
	blocked bool // the browser refused to play, so nothing is painted

	painted Picture
}

// verdict is the table of wire-protocol §6.9: whether the picture counts as
// playable now, and if not, when to look again though nothing happens.
func (f facts) verdict(now time.Time, recovering bool, limit time.Duration) (playable bool, p Picture, again time.Time) {
	if f.painted.Width > 0 {
		return true, f.painted, time.Time{}
	}
	capped := f.applied.Add(limit)
	if !recovering && f.element && f.frames && f.video && !f.hidden && !f.blocked {
		return !now.Before(capped), Picture{Missing: true}, capped
	}
	again = capped.Add(bareSettle)
	earlier := func(since time.Time, wait time.Duration) {
		if at := since.Add(wait); !since.IsZero() && at.Before(again) {
			again = at
		}
	}
	if f.element {
		earlier(f.canPlay, canPlaySettle)
		earlier(f.track, trackFallback+canPlaySettle)
	} else {
		earlier(f.track, bareSettle)
	}
	return !now.Before(again), Picture{}, again
}

// gate collects the facts of one subscription and waits for a verdict.
type gate struct {
	mu      sync.Mutex
	facts   facts
	changed chan struct{} // has a value when facts changed
}

func newGate() *gate { return &gate{changed: make(chan struct{}, 1)} }

// learn changes the facts.
func (g *gate) learn(change func(*facts)) {
	g.mu.Lock()
	change(&g.facts)
	g.mu.Unlock()
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// wait returns when the picture counts as playable. One goroutine may wait at a
// time.
func (g *gate) wait(ctx context.Context, recovering bool, limit time.Duration) (Picture, error) {
	for {
		g.mu.Lock()
		f := g.facts
		g.mu.Unlock()
		playable, p, again := f.verdict(time.Now(), recovering, limit)
		if playable {
			return p, nil
		}
		timer := time.NewTimer(time.Until(again))
		select {
		case <-timer.C:
		case <-g.changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return Picture{}, cutShort(ctx)
		}
	}
}
