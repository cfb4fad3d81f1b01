package media

import (
	"context"
	"sync"
	"time"
)

// Downlink is one WHEP subscription (wire-protocol §6). Subscribe, Playable and
// Renew are called one after the other; Stats and Close at any time.
type Downlink struct {
	plane  *Plane
	notify func(Event)

	mu      sync.Mutex
	present *attempt // what earlier ones still say is not heard
	closed  bool
}

// attempt is one try at a subscription: a peer, and perhaps a place at the
// server.
type attempt struct {
	*preparation
	gate    *gate
	renewed bool // not the first of its Downlink

	mu         sync.Mutex
	viewer     *viewer
	ended      bool
	seen       map[string]bool // milestones, and "size"
	subscribed bool
	noRoute    bool // gathering found nothing
}

// NewDownlink starts a peer for the avatar's picture and voice: its offer and
// its TURN allocation are under way when NewDownlink returns.
func (p *Plane) NewDownlink(notify func(Event)) *Downlink {
	d := &Downlink{plane: p, notify: notify}
	d.begin(false)
	return d
}

// begin makes a new attempt the present one and returns the one before.
func (d *Downlink) begin(renewed bool) (before *attempt) {
	a := &attempt{gate: newGate(), renewed: renewed, seen: map[string]bool{}}
	d.mu.Lock()
	defer d.mu.Unlock()
	before = d.present
	if d.closed {
		return before
	}
	d.present = a
	a.preparation = d.plane.prepare(
		peerOptions{policy: d.plane.policy, receive: []string{"video", "audio"}, codec: d.plane.cfg.VideoCodec},
		true, func(ev Event) { d.receive(a, ev) },
	)
	return before
}

func (d *Downlink) current() *attempt {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.present
}

// Subscribe posts the offer to url and applies the answer. A 404 or 409 comes
// back as [Gone]. Other errors are whep_timeout, whep_failed, whep_private_ip,
// insecure_transport, and the end of ctx.
func (d *Downlink) Subscribe(ctx context.Context, url string) error {
	a := d.current()
	peer, err := a.wait(ctx)
	switch {
	case ctx.Err() != nil:
		return cutShort(ctx)
	case err != nil:
		return err
	}
	answer, place, err := d.plane.whep.subscribe(ctx, url, peer.localSDP(), func() { d.mark(a, markWHEPSent) })
	if err != nil {
		return err
	}
	if !a.hold(place) {
		place.abandon()
		return errClosed
	}
	d.mark(a, markWHEPAnswer)
	if err := peer.answer(ctx, answer); err != nil {
		closed := a.isClosed()
		a.end()
		switch {
		case ctx.Err() != nil:
			return cutShort(ctx)
		case closed:
			return errClosed
		}
		return badAnswer(0, err)
	}
	a.gate.learn(func(f *facts) { f.applied = time.Now() })
	if a.subscribe() {
		d.receive(a, Event{Kind: NoCandidates, Channel: ChannelSTV})
	}
	return nil
}

// Playable waits for the gate of wire-protocol §6.9 and returns the size of the
// picture: 0×0 when it isn't known, with Missing set when the first frame was
// waited for in vain. Recovering waits for no frame.
func (d *Downlink) Playable(ctx context.Context, recovering bool) (Picture, error) {
	a := d.current()
	p, err := a.gate.wait(ctx, recovering, d.plane.cfg.Limits.FirstFrame)
	if err != nil || p.Width > 0 || p.Missing {
		return p, err
	}
	// Nobody shows it to us, but the decoder knows.
	if st, err := a.stats(ctx); err == nil && st.Picture.Width > 0 {
		d.receive(a, Event{Kind: VideoSize, Channel: ChannelSTV, Picture: st.Picture})
		return st.Picture, nil
	}
	return p, nil
}

// Renew closes the peer, releases the viewer and waits for that, and starts a
// new peer that can be subscribed again. Its tracks will appear in the same
// streams.
func (d *Downlink) Renew(ctx context.Context) {
	before := d.begin(true)
	before.close()
	before.leave().release(ctx)
}

// Stats reports what came in so far.
func (d *Downlink) Stats(ctx context.Context) (Stats, error) { return d.current().stats(ctx) }

// Close ends the peer and releases the viewer with a request that outlives the
// page. It does not wait.
func (d *Downlink) Close() {
	d.mu.Lock()
	d.closed = true
	a := d.present
	d.mu.Unlock()
	a.end()
}

// hold keeps the place at the server; false when it came too late.
func (a *attempt) hold(v *viewer) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.ended {
		a.viewer = v
	}
	return !a.ended
}

// leave takes the place for releasing it; none can be held from then on.
func (a *attempt) leave() *viewer {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	v := a.viewer
	a.viewer = nil
	return v
}

// end gives the place up without waiting and closes the peer. The request comes
// first: a page that goes away may not get further.
func (a *attempt) end() {
	a.leave().abandon()
	a.close()
}

// subscribe records that the answer was applied, and reports whether gathering
// has already ended without a candidate.
func (a *attempt) subscribe() (noRoute bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.subscribed = true
	return a.noRoute
}

// first reports whether something happens to a for the first time.
func (a *attempt) first(what string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := !a.seen[what]
	a.seen[what] = true
	return first
}

// early reports whether a hasn't been subscribed, and keeps in mind that
// gathering found nothing.
func (a *attempt) early() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noRoute = true
	return !a.subscribed
}

// receive handles what a's peer and its element report, and passes it on.
func (d *Downlink) receive(a *attempt, ev Event) {
	if d.current() != a || a.isClosed() {
		return
	}
	ev.Channel = ChannelSTV
	switch ev.Kind {
	case TrackAdded:
		d.mark(a, markFirstTrack)
		d.notify(ev)
		a.gate.learn(func(f *facts) {
			f.video = f.video || ev.Track.Kind == "video"
			if f.track.IsZero() {
				f.track = time.Now()
			}
		})
		d.plane.screen.attach(ev.Track, a.renewed, a.gate, func(ev Event) { d.receive(a, ev) })
		return
	case VideoSize:
		if ev.painted {
			d.mark(a, markFirstFrame)
			a.gate.learn(func(f *facts) { f.painted = ev.Picture })
		}
		if !a.first("size") {
			return
		}
	case PlaybackBlocked:
		if ev.Media == "video" {
			a.gate.learn(func(f *facts) { f.blocked = true })
		}
	case NoCandidates:
		// Before there is a subscription nobody misses it, and in audio mode
		// there will be none.
		if a.early() {
			return
		}
	case Candidate:
		return // WHEP has no trickling (wire-protocol §6.4)
	}
	d.notify(ev)
}

// mark reports a milestone once per attempt.
func (d *Downlink) mark(a *attempt, name string) {
	if a.first(name) && d.current() == a {
		d.notify(Event{Kind: Milestone, Channel: ChannelSTV, Mark: name})
	}
}
