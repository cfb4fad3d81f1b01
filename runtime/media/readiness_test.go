package media

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// happens is a change of the facts after a time.
type happens struct {
	after time.Duration
	what  func(*facts)
}

func TestReadiness(t *testing.T) {
	ms := time.Millisecond
	size := Picture{Width: 960, Height: 540}
	page := func(f *facts) { f.element, f.frames = true, true }
	noFrames := func(f *facts) { f.element = true }
	video := func(f *facts) { f.video, f.track = true, time.Now() }
	audio := func(f *facts) { f.track = time.Now() }
	canPlay := func(f *facts) { f.canPlay = time.Now() }
	painted := func(f *facts) { f.painted = size }
	hide := func(f *facts) { f.hidden = true }
	show := func(f *facts) { f.hidden = false }
	block := func(f *facts) { f.blocked = true }
	for _, test := range []struct {
		name       string
		recovering bool
		events     []happens
		want       Picture
		at         time.Duration
	}{
		{"first painted frame, at once", false, []happens{{0, page}, {50 * ms, video}, {60 * ms, canPlay}, {700 * ms, painted}}, size, 700 * ms},
		{"cap, frame-gated", false, []happens{{0, page}, {50 * ms, video}, {60 * ms, canPlay}}, Picture{Missing: true}, 6 * time.Second},
		{"hidden tab", false, []happens{{0, page}, {0, hide}, {50 * ms, video}, {300 * ms, canPlay}}, Picture{}, 400 * ms},
		{"hidden tab that can't play", false, []happens{{0, page}, {0, hide}, {50 * ms, video}}, Picture{}, 2150 * ms},
		{"tab hidden while waiting", false, []happens{{0, page}, {50 * ms, video}, {60 * ms, canPlay}, {3 * time.Second, hide}}, Picture{}, 3 * time.Second},
		{"tab shown before the settling ends", false, []happens{{0, page}, {0, hide}, {50 * ms, video}, {300 * ms, canPlay}, {350 * ms, show}, {900 * ms, painted}}, size, 900 * ms},
		{"blocked playback", false, []happens{{0, page}, {50 * ms, video}, {300 * ms, canPlay}, {500 * ms, block}}, Picture{}, 500 * ms},
		{"no frame callback", false, []happens{{0, noFrames}, {50 * ms, video}, {300 * ms, canPlay}}, Picture{}, 400 * ms},
		{"no video track", false, []happens{{0, page}, {50 * ms, audio}, {300 * ms, canPlay}}, Picture{}, 400 * ms},
		{"recovery", true, []happens{{0, page}, {50 * ms, video}, {60 * ms, canPlay}}, Picture{}, 160 * ms},
		{"recovery without canplay", true, []happens{{0, page}, {50 * ms, video}}, Picture{}, 2150 * ms},
		{"no element", false, []happens{{100 * ms, video}}, Picture{}, 400 * ms},
		{"no element, second track", false, []happens{{100 * ms, audio}}, Picture{}, 400 * ms},
		{"no track", false, nil, Picture{}, 6300 * ms},
		{"cap, not frame-gated", false, []happens{{0, noFrames}, {5 * time.Second, video}}, Picture{}, 6300 * ms},
		{"everything before the waiting", false, []happens{{-2 * time.Second, page}, {-time.Second, video}, {-100 * ms, painted}}, size, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Minute) // so that negative times are possible
				const early = 5 * time.Second
				g := newReadiness()
				g.update(func(f *facts) { f.applied = time.Now().Add(early) })
				for _, e := range test.events {
					time.AfterFunc(early+e.after, func() { g.update(e.what) })
				}
				time.Sleep(early)
				synctest.Wait()
				start := time.Now()
				got, err := g.wait(t.Context(), test.recovering, 6*time.Second)
				if err != nil || got != test.want || time.Since(start) != test.at {
					t.Errorf("%+v after %v, error %v; want %+v after %v", got, time.Since(start), err, test.want, test.at)
				}
			})
		})
	}
}

func TestGateEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newReadiness()
		g.update(func(f *facts) { f.applied = time.Now() })
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, fault.New(fault.Timeout, "RecoverTimeout").InPhase(fault.PhaseWHEP))
		defer cancel()
		_, err := g.wait(ctx, true, 6*time.Second)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.Timeout || f.Phase != fault.PhaseWHEP || f.Detail != "RecoverTimeout" {
			t.Errorf("error %v", err)
		}
	})
}
