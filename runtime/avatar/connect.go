package avatar

import (
	"context"
	"errors"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Connect runs the whole handshake and returns when the session is usable
// (session §A.1.3). While it runs, a second call waits for its outcome; once the
// session is connected, also while it reconnects, a call fails with invalid_state. The
// error is a *[fault.Error]; that of a failed handshake carries the timings, the state is
// then error, and Disconnect must be called before another attempt. The end of ctx aborts the handshake and releases
// everything, with the error aborted, or timeout for a deadline; the end of a second call's ctx ends only its wait.
func (s *Session) Connect(ctx context.Context) error {
	done := make(chan error, 2) // the outcome, and the end of ctx
	s.core.Work.Do(func() { s.connect(done) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		aborted := session.EndOf(ctx).InPhase(fault.PhaseConnect)
		s.core.Work.Post(func() {
			if s.running != nil && s.running.done == done {
				s.running.cancel(aborted)
			} else {
				done <- aborted
			}
		})
		return <-done
	}
}

func cutShort(cause error) *fault.Error {
	return fault.New(fault.ConnectFailed, "connecting was cancelled; call connect again").InPhase(fault.PhaseConnect).Wrap(cause).WithRetryable(true)
}

func (s *Session) connect(done chan error) {
	switch {
	case s.situation() == starting:
		s.running.joiners = append(s.running.joiners, done)
		return
	case s.phase != idle && s.phase != disconnected:
		done <- fault.New(fault.InvalidState, "the session is "+string(s.phase.state())+"; only an idle or disconnected session can connect")
		return
	case s.core.Token == "":
		done <- fault.New(fault.InvalidState, "the session has no token, because disconnecting clears it; call setToken before connecting again")
		return
	}
	s.started = time.Now()
	s.timings = map[string]int64{}
	s.mode = event.Video
	s.begin()
	s.setPhase(preparing)
	if s.opts.MicStart == MicImmediate {
		s.mark(phaseMicRequested)
		s.startMicInBackground()
	}
	p := newProcedure(done)
	s.running = p
	if s.preparing == nil {
		s.connectNow(p)
		return
	}
	over := s.preparing.ctx.Done()
	s.core.Spawn(func() {
		select {
		case <-over:
		case <-p.ctx.Done():
		}
		s.core.Work.Post(func() { s.connectNow(p) })
	})
}

// connectNow continues on the prepared connection, if there is one.
func (s *Session) connectNow(p *procedure) {
	if s.running != p {
		return // disconnected meanwhile
	}
	if p.ctx.Err() != nil {
		s.attemptEnds(p, nil, context.Cause(p.ctx))
		return
	}
	s.setPhase(connecting)
	l := s.takePrepared()
	if l == nil {
		var err error
		if l, err = s.open(); err != nil {
			s.attemptEnds(p, nil, err)
			return
		}
	}
	s.use(l)
	if l.joined { // by Prepare, which emits nothing
		s.announce(l)
	}
	for _, ev := range l.early {
		s.receive(l, ev)
	}
	l.early = nil
	media := s.newMedia(l)
	p.limit(s.opts.Limits.Overall)
	request := s.joinRequest(l.room)
	s.core.Spawn(func() {
		err := s.establish(p.ctx, l, plan{peers: media, join: &request, agent: true, first: true})
		s.core.Work.Post(func() { s.attemptEnds(p, l, err) })
	})
}

// attemptEnds ends a connect, a rebuild or a resume.
func (s *Session) attemptEnds(p *procedure, l *connection, err error) {
	switch {
	case s.running != p: // disconnected meanwhile
	case s.phase == rebuilding:
		s.rebuildEnds(p, l, err)
	case err == nil:
		s.lose(attemptDone, detail{conn: l})
	case s.mayRenew(err):
		s.lose(tokenRefused, detail{err: err})
	default:
		s.lose(attemptFailed, detail{err: err})
	}
}

func (s *Session) connectFailed(d detail) {
	p := s.running
	s.running = nil
	e := fault.From(d.err)
	if e.Code == fault.InternalError {
		e = fault.New(fault.ConnectFailed, "connecting failed").InPhase(fault.PhaseConnect).Wrap(d.err)
	}
	e.WithTimings(s.timings)
	s.tearDown(nil)
	s.setPhase(broken)
	if !e.Code.Fatal() && e.Code != fault.Unauthorized { // those are audited when emitted, or were audited before
		s.core.AuditFailure(e)
	}
	if e.Code.Fatal() {
		s.core.Emit(event.Failed{Error: e})
	}
	p.finish(e)
}

func (s *Session) connectDone(d detail) {
	s.recovery.renewed = false
	p := s.running
	s.running = nil
	s.disclose(d.conn)
	s.approve(d.conn)
	s.setPhase(live)
	s.mark(phaseConnected)
	s.core.Emit(event.ConnectTimings(s.timings))
	s.startWatching()
	s.sendKickoff()
	p.finish(nil)
}

// use makes l the present connection; nil is none.
func (s *Session) use(l *connection) {
	s.conn = l
	s.outbox.connectionChanged()
}

// drop closes the present connection and everything that belongs to it.
func (s *Session) drop() {
	if s.conn != nil {
		s.conn.hs.abort(cutShort(nil))
		s.conn.close()
		s.use(nil)
	}
}

// plan selects the steps of protocol §2.3 that a handshake takes.
type plan struct {
	peers
	// join is nil when the room is joined already.
	join *signaling.JoinRequest
	// reuse is set on a socket that reconnected by itself: there is no serverConnected event.
	reuse bool
	// agent waits for the agent; the rebuild after a pause does not.
	agent bool
	// first is set for the first connect: only then may the gate wait for a
	// painted frame.
	first bool
}

// establish runs the handshake on l up to the approval. It runs outside the
// queue and accesses the session only through it.
func (s *Session) establish(ctx context.Context, l *connection, p plan) error {
	if !l.joined {
		if err := s.join(ctx, l, p); err != nil {
			return err
		}
	}
	reply, err := l.hs.requestSession(ctx, l.room)
	if err != nil {
		return err
	}
	s.core.Work.Post(func() { s.mark(phaseSTVReply) })

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The lanes do not watch the connection all the time, but a fatal event must
	// end both at once.
	defer context.AfterFunc(l.hs.ctx, func() { cancel(context.Cause(l.hs.ctx)) })()
	lanes := []func(context.Context) error{
		func(ctx context.Context) error { return s.connectMicrophone(ctx, l, p) },
		func(ctx context.Context) error {
			err := s.connectPicture(ctx, l, p, reply)
			if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return timeout("ConnectTimeout", fault.PhaseWHEP) // protocol §6.4
			}
			return err
		},
	}
	ends := make(chan error, len(lanes))
	for _, lane := range lanes {
		go func() {
			_, err := session.Guarded(func() (any, error) { return nil, lane(ctx) })
			ends <- err
		}()
	}
	// The first lane that fails cancels the other. Both are waited for, because
	// nothing of a failed connect may run after it has returned.
	var first error
	for range lanes {
		if err := <-ends; err != nil && first == nil {
			first = err
			cancel(err)
		}
	}
	if first == nil && l.hs.ctx.Err() != nil {
		return context.Cause(l.hs.ctx) // the connection ended during the last step
	}
	return first
}

// join runs steps 1 to 3.
func (s *Session) join(ctx context.Context, l *connection, p plan) error {
	limits := s.opts.Limits
	if !p.reuse {
		hello, err := l.hs.awaitHello(ctx, limits.ServerConnect)
		if err != nil {
			return err
		}
		l.hello = hello
		s.core.Work.Post(func() {
			s.mark(phaseServerConnected)
			s.announce(l)
		})
	}
	config, err := l.hs.join(ctx, limits, *p.join)
	if err != nil {
		return err
	}
	l.joined = true
	s.core.Work.Post(func() {
		s.mark(phaseJoinComplete)
		if s.config == nil { // a rebuild keeps the first (protocol §8.4)
			s.config = &config
		}
	})
	return nil
}

// connectMicrophone is lane A: the agent, then the microphone's peer.
func (s *Session) connectMicrophone(ctx context.Context, l *connection, p plan) error {
	if p.agent {
		if err := l.hs.awaitAgent(ctx, s.opts.Limits); err != nil {
			return err
		}
	}
	if err := l.hs.startASR(ctx, s.opts.Limits, p.up); err != nil {
		return err
	}
	s.core.Work.Post(func() {
		s.mark(phaseASRReady)
		s.capMic(p.up)
	})
	return nil
}

// connectPicture is lane B: the picture, up to the playable gate.
func (s *Session) connectPicture(ctx context.Context, l *connection, p plan, reply signaling.StvNewSessionReply) error {
	if audioOnly(reply) {
		s.core.Work.Post(func() {
			if s.conn == l && l.down == p.down { // made ahead of time, but not needed
				l.down.Close()
				l.down = nil
			}
			s.mediaReady(l, event.MediaReady{Mode: event.Audio})
		})
		return nil
	}
	if err := s.subscribe(ctx, l, p.down, s.subscribeURL(reply)); err != nil {
		return err
	}
	picture, err := p.down.Playable(ctx, !p.first)
	if err != nil {
		return err
	}
	if picture.Missing && p.first {
		// Once more, from the start (protocol §6.9).
		p.down.Restart(ctx)
		err := s.subscribe(ctx, l, p.down, s.subscribeURL(reply))
		if err == nil {
			picture, err = p.down.Playable(ctx, !p.first)
		}
		if errors.Is(err, fault.Timeout) || ctx.Err() != nil {
			return err
		}
	}
	ready := event.MediaReady{Mode: event.Video, VideoWidth: picture.Width, VideoHeight: picture.Height}
	ready.Degraded = p.first && picture.Missing
	s.core.Work.Post(func() {
		l.missing = !p.first && picture.Missing
		s.mediaReady(l, ready)
	})
	return nil
}

// subscribe posts the offer, and once requests a new video session if the present one no
// longer exists (protocol §6.6).
func (s *Session) subscribe(ctx context.Context, l *connection, down Subscriber, url string) error {
	err := down.Subscribe(ctx, url)
	var gone *media.Gone
	if errors.As(err, &gone) {
		url, err = s.resubscribe(ctx, l, down, gone)
	}
	if err == nil {
		s.core.Work.Post(func() {
			l.subscribed = url
			l.onRelease = func() { s.core.Audit("whep.release", "ended", "") }
		})
	}
	return err
}

func (s *Session) resubscribe(ctx context.Context, l *connection, down Subscriber, gone *media.Gone) (url string, err error) {
	down.Restart(ctx)
	reply, err := l.hs.requestSession(ctx, l.room)
	if err != nil {
		return "", err
	}
	sessionGone := fault.New(fault.STVSessionGone, gone.Error()).InPhase(fault.PhaseWHEP).WithStatus(gone.Status)
	if audioOnly(reply) {
		return "", sessionGone
	}
	url = s.subscribeURL(reply)
	if err = down.Subscribe(ctx, url); errors.As(err, &gone) {
		return "", sessionGone
	}
	return url, err
}

func (s *Session) mediaReady(l *connection, ready event.MediaReady) {
	if s.conn != l {
		return
	}
	s.mode = ready.Mode
	s.mark(phaseMediaReady)
	if ready.Degraded {
		s.core.Warn(fault.MediaNoVideo, "no picture arrived; the session continues with audio only")
	}
	if !l.shown {
		l.shown = true
		s.core.Emit(ready)
	}
}

// announce emits streamReady, once per connection.
func (s *Session) announce(l *connection) {
	if s.conn == l && !l.announced {
		l.announced = true
		s.core.Emit(event.StreamReady{FinalURL: l.hello.FinalURL, AgentName: l.hello.AgentName, HostName: l.hello.HostName})
	}
}

// approve lets the opening turn begin, unless the disclosure is not acknowledged
// yet or the session is paused (protocol §2.11, §7.9).
func (s *Session) approve(l *connection) {
	if l.approved || s.gated() || s.life.paused {
		return
	}
	l.approved = true
	s.outbox.command(signaling.ApprovedPermissions, signaling.Approval{Room: l.room})
	s.mark(phaseApproved)
	s.turn.hold() // the opening can't be interrupted
}

// Prepare opens the socket, joins, and makes the picture's peer with its offer and its
// relay allocation ahead of time, without microphone or media (protocol §2.8). It
// doesn't wait for the peer. A failure does not prevent a later Connect. In any state but
// idle and disconnected it does nothing.
func (s *Session) Prepare(ctx context.Context) error {
	done := make(chan error, 1)
	s.core.Work.Do(func() { s.prepare(done) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return session.EndOf(ctx)
	}
}

func (s *Session) prepare(done chan error) {
	switch {
	case s.phase != idle && s.phase != disconnected, s.prepared != nil:
		done <- nil
		return
	case s.core.Token == "":
		done <- fault.New(fault.InvalidState, "the session has no token")
		return
	case s.preparing != nil:
		s.preparing.joiners = append(s.preparing.joiners, done)
		return
	}
	l, err := s.open()
	if err != nil {
		done <- fault.From(err)
		return
	}
	p := newProcedure(nil).limit(s.opts.Limits.Overall)
	p.joiners = []chan error{done}
	s.preparing = p
	s.prepared = l
	l.down = s.media.NewSubscriber(s.notify(l))
	request := s.joinRequest(l.room)
	s.core.Spawn(func() {
		err := s.join(p.ctx, l, plan{join: &request})
		s.core.Work.Post(func() { s.wasPrepared(p, l, err) })
	})
}

func (s *Session) wasPrepared(p *procedure, l *connection, err error) {
	if s.preparing != p {
		return
	}
	if err != nil {
		s.dropPrepared(fault.From(err))
		return
	}
	s.preparing = nil
	s.expiry = s.core.After(s.opts.Limits.PrepareIdle, func() {
		s.dropPrepared(nil)
		s.core.Warn(fault.PrepareExpired, "")
	})
	p.finish(nil)
}

// maxEarly bounds the events that are kept of a prepared connection: the service sends a
// few during the join, one of them with the thread's id.
const maxEarly = 64

// receivePrepared keeps the events of the service for the connect that takes the prepared
// connection, and discards the connection when it is lost (protocol §2.8). Fatal
// events are reported by the handshake.
func (s *Session) receivePrepared(l *connection, ev socketio.Event) {
	switch ev.Kind {
	case socketio.Connected:
		l.opened = true
	case socketio.Message:
		if len(l.early) < maxEarly {
			l.early = append(l.early, ev)
		}
	case socketio.ConnectError:
		if refused := refusal(ev.Err); refused != nil {
			s.dropPrepared(refused)
		}
	case socketio.Disconnected, socketio.ReconnectFailed:
		s.dropPrepared(fault.New(fault.ConnectFailed, "the prepared connection was lost").InPhase(fault.PhaseConnect).WithRetryable(true))
	}
}

// takePrepared hands the prepared connection over to a connect.
func (s *Session) takePrepared() *connection {
	l := s.prepared
	s.prepared = nil
	s.expiry.Stop()
	return l
}

// dropPrepared ends a preparation, finished or not. The calls that wait for it fail with
// cause.
func (s *Session) dropPrepared(cause *fault.Error) {
	if cause == nil {
		cause = cutShort(nil)
	}
	if l := s.takePrepared(); l != nil {
		l.hs.abort(cause)
		l.close()
	}
	if p := s.preparing; p != nil {
		s.preparing = nil
		p.finish(cause)
	}
}
