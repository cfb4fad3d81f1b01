package media

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/runtime/event"
)

// Subscriber is one WHEP subscription (protocol §6). Subscribe, Playable and
// Restart are called one after the other; Stats and Close at any time.
type Subscriber struct {
	engine *Engine
	notify func(Event)

	mu      sync.Mutex
	present *subscription // events of earlier ones are dropped
	closed  bool
}

// subscription is one attempt to subscribe: a peer, and perhaps a viewer at the server.
type subscription struct {
	*pendingPeer
	readiness *readiness
	restarted bool // not the first of its Subscriber

	mu     sync.Mutex
	viewer *viewer
	ended  bool
	seen   map[string]bool // milestones, and "size"
}

// NewSubscriber starts a peer for the avatar's picture and voice: its offer and
// its TURN allocation are under way when NewSubscriber returns.
func (e *Engine) NewSubscriber(notify func(Event)) *Subscriber {
	s := &Subscriber{engine: e, notify: notify}
	s.begin(false)
	return s
}

// begin makes a new subscription the present one and returns the one before.
func (s *Subscriber) begin(restarted bool) (before *subscription) {
	sub := &subscription{readiness: newReadiness(), restarted: restarted, seen: map[string]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.present
	if s.closed {
		return before
	}
	s.present = sub
	sub.pendingPeer = s.engine.prepare(
		nil, peerOptions{
			policy: s.engine.policy, receive: []string{"video", "audio"},
			codecs: map[string]string{"video": s.engine.cfg.VideoCodec, "audio": s.engine.cfg.AudioCodec},
		},
		true, func(ev Event) { s.receive(sub, ev) },
	)
	return before
}

func (s *Subscriber) current() *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.present
}

// Subscribe posts the offer to url and applies the answer. For a reply with status
// 404 or 409 the error is [Gone]. Other errors are whep_timeout, whep_failed,
// whep_private_ip, insecure_transport, and the end of ctx.
func (s *Subscriber) Subscribe(ctx context.Context, url string) error {
	sub := s.current()
	peer, err := sub.wait(ctx)
	switch {
	case ctx.Err() != nil:
		return canceled(ctx)
	case err != nil:
		return err
	}
	answer, viewer, err := s.engine.whep.subscribe(ctx, url, peer.localSDP(), func() { s.mark(sub, phaseWHEPSent) })
	if err != nil {
		return err
	}
	if !sub.setViewer(viewer) {
		viewer.abandon()
		return ErrClosed
	}
	s.mark(sub, phaseWHEPAnswer)
	if err := peer.answer(ctx, answer); err != nil {
		closed := sub.isClosed()
		sub.end()
		switch {
		case ctx.Err() != nil:
			return canceled(ctx)
		case closed:
			return ErrClosed
		}
		return badAnswer(0, err)
	}
	noRoute := false // gathering may have ended before
	sub.readiness.update(func(f *facts) {
		f.applied, f.picture = time.Now(), sendsPicture(answer)
		noRoute = f.noRoute
	})
	if noRoute {
		s.receive(sub, Event{Kind: NoCandidates, Channel: event.ChannelSTV})
	}
	return nil
}

// Playable waits until the picture is playable (protocol §6.9), and returns the size of the
// picture: 0×0 when it isn't known, with Missing set when no frame arrived in time. With
// recovering set it needs no painted frame, but received bytes of the picture, or of the
// voice if the service sends no picture.
func (s *Subscriber) Playable(ctx context.Context, recovering bool) (Picture, error) {
	sub := s.current()
	p, err := sub.readiness.wait(ctx, recovering, s.engine.cfg.Limits.FirstFrame)
	if err != nil || p.Width > 0 || p.Missing {
		return p, err
	}
	if recovering {
		if p.Missing, err = sub.silent(ctx, s.engine.cfg.Limits.FirstFrame); err != nil || p.Missing {
			return p, err
		}
	}
	if st, err := s.statsOf(ctx, sub); err == nil && st.Video.FrameWidth > 0 {
		return st.Picture(), nil
	}
	return p, nil
}

// arrivalPoll is how often a peer's statistics are read for received bytes, because no
// event reports them.
const arrivalPoll = 200 * time.Millisecond

// settled is the time after its first bytes in which a picture must have received more.
const settled = 500 * time.Millisecond

// sendsPicture reports whether the server sends video according to its answer.
func sendsPicture(answer string) bool {
	_, section, found := strings.Cut(answer, "\nm=video ")
	section, _, _ = strings.Cut(section, "\nm=")
	return found && !strings.HasPrefix(section, "0 ") &&
		!strings.Contains(section, "\na=inactive") && !strings.Contains(section, "\na=recvonly")
}

// silent reports that no bytes arrived within limit of the answer, or that none can
// arrive because gathering found no candidate. The bytes of a picture must increase for a
// moment, because a server may have had one last frame to send.
func (sub *subscription) silent(ctx context.Context, limit time.Duration) (bool, error) {
	poll := time.NewTicker(arrivalPoll)
	defer poll.Stop()
	var first uint64 // bytes of the picture
	var since time.Time
	for {
		st, err := sub.stats(ctx)
		f := sub.readiness.now()
		switch {
		case ctx.Err() != nil:
			return false, canceled(ctx)
		case err == nil && !f.picture && st.Audio.BytesReceived > 0, first > 0 && st.Video.BytesReceived > first && time.Since(since) > settled:
			return false, nil
		case time.Since(f.applied) > limit || f.noRoute:
			return true, nil
		}
		if first == 0 && st.Video.BytesReceived > 0 {
			first, since = st.Video.BytesReceived, time.Now()
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
		}
	}
}

// Restart starts a new peer, which can be subscribed again, closes the one before and waits
// until its viewer is released. The new tracks will appear in the same streams.
func (s *Subscriber) Restart(ctx context.Context) {
	before := s.begin(true)
	before.close()
	before.leave().release(ctx)
}

// Stats reports what was received so far.
func (s *Subscriber) Stats(ctx context.Context) (Stats, error) { return s.statsOf(ctx, s.current()) }

// statsOf also reports the picture's size as an event, because without an element only the
// decoder has it. It is known with the first frame, which may arrive after Playable has
// returned.
func (s *Subscriber) statsOf(ctx context.Context, sub *subscription) (Stats, error) {
	st, err := sub.stats(ctx)
	if err == nil && st.Video.FrameWidth > 0 {
		s.receive(sub, Event{Kind: VideoSize, Picture: st.Picture()})
	}
	return st, err
}

// Release is a Close that waits until the service has released the viewer, at most until
// the end of ctx, which does not abort the request.
func (s *Subscriber) Release(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	sub := s.present
	s.mu.Unlock()
	sub.close()
	released := make(chan struct{})
	go func() {
		defer close(released)
		sub.leave().release(context.WithoutCancel(ctx))
	}()
	select {
	case <-released:
	case <-ctx.Done():
	}
}

// Close ends the peer and releases the viewer with a request that outlives the
// page. It does not wait.
func (s *Subscriber) Close() {
	s.mu.Lock()
	s.closed = true
	sub := s.present
	s.mu.Unlock()
	sub.end()
}

// setViewer stores the viewer for its release. It returns false when the subscription has
// ended.
func (sub *subscription) setViewer(v *viewer) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if !sub.ended {
		sub.viewer = v
	}
	return !sub.ended
}

// leave returns the viewer to release; none can be held from then on.
func (sub *subscription) leave() *viewer {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.ended = true
	v := sub.viewer
	sub.viewer = nil
	return v
}

// end releases the viewer without waiting and closes the peer. The request is sent
// first, because a page that is unloaded may not run the rest.
func (sub *subscription) end() {
	sub.leave().abandon()
	sub.close()
}

// first reports whether something happens for the first time.
func (sub *subscription) first(what string) bool {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	first := !sub.seen[what]
	sub.seen[what] = true
	return first
}

// receive handles the events of a peer and its element, and passes them on.
func (s *Subscriber) receive(sub *subscription, ev Event) {
	if s.current() != sub || sub.isClosed() {
		return
	}
	ev.Channel = event.ChannelSTV
	switch ev.Kind {
	case TrackAdded:
		s.mark(sub, phaseFirstTrack)
		s.notify(ev)
		sub.readiness.update(func(f *facts) {
			f.video = f.video || ev.Track.Kind == "video"
			if f.track.IsZero() {
				f.track = time.Now()
			}
		})
		s.engine.renderer.attach(ev.Track, sub.restarted, sub.readiness, func(ev Event) { s.receive(sub, ev) })
		return
	case VideoSize:
		if ev.painted {
			s.mark(sub, phaseFirstFrame)
			sub.readiness.update(func(f *facts) { f.painted = ev.Picture })
		}
		if !sub.first("size") {
			return
		}
	case PlaybackBlocked:
		if ev.Media == "video" {
			sub.readiness.update(func(f *facts) { f.blocked = true })
		}
	case NoCandidates:
		// Reported only when the answer is applied, which never happens in audio mode.
		early := false
		sub.readiness.update(func(f *facts) { f.noRoute, early = true, f.applied.IsZero() })
		if early {
			return
		}
	case Candidate:
		return // WHEP is used without trickle ICE (protocol §6.4)
	}
	s.notify(ev)
}

// mark reports a milestone once per subscription.
func (s *Subscriber) mark(sub *subscription, name Phase) {
	if sub.first(string(name)) && s.current() == sub {
		s.notify(Event{Kind: Milestone, Channel: event.ChannelSTV, Phase: name})
	}
}

// The waits of the readiness (protocol §6.9).
const (
	canPlaySettle = 100 * time.Millisecond // after canplay
	trackFallback = 2 * time.Second        // after the track, when canplay never comes
	bareSettle    = 300 * time.Millisecond // without an element, and after the cap
)

// facts are the inputs of the readiness. A zero time means that it has not happened.
type facts struct {
	applied time.Time // the answer was applied: the cap counts from here
	track   time.Time // the first track arrived
	canPlay time.Time // the element can play

	element bool // there is an element for the picture
	frames  bool // it reports the frames that it paints
	video   bool // there is a video track
	picture bool // the server sends video according to its answer; pion reports the track with its first packet
	hidden  bool // the page isn't visible, so nothing is painted
	blocked bool // the browser refused to play, so nothing is painted
	noRoute bool // gathering found no candidate

	painted Picture
}

// ready implements the table of protocol §6.9: whether the picture counts as
// playable now, and if not, when to check again even if no fact changes.
func (f facts) ready(now time.Time, recovering bool, limit time.Duration) (playable bool, p Picture, again time.Time) {
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

// readiness collects the facts of one subscription and waits until the picture is playable.
type readiness struct {
	mu      sync.Mutex
	facts   facts
	changed chan struct{} // has a value when facts changed
}

func newReadiness() *readiness { return &readiness{changed: make(chan struct{}, 1)} }

// update changes the facts.
func (r *readiness) update(change func(*facts)) {
	r.mu.Lock()
	change(&r.facts)
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// now returns the facts so far.
func (r *readiness) now() facts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.facts
}

// wait returns when the picture counts as playable. One goroutine may wait at a
// time.
func (r *readiness) wait(ctx context.Context, recovering bool, limit time.Duration) (Picture, error) {
	for {
		playable, p, again := r.now().ready(time.Now(), recovering, limit)
		if playable {
			return p, nil
		}
		timer := time.NewTimer(time.Until(again))
		select {
		case <-timer.C:
		case <-r.changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return Picture{}, canceled(ctx)
		}
	}
}
