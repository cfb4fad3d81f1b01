package avatar

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// Connect runs the whole handshake and returns when the session is usable
// (session §A.1.3). While it runs, a second call waits for its outcome; once the
// session is connected, also while it reconnects, a call fails with invalid_state. The
// error is a *[fault.Error]; that of a failed handshake carries the timings, the state is
// then error, and Disconnect must be called before another attempt. The end of ctx aborts the handshake and releases
// everything, with the error aborted, or timeout for a deadline; the end of a second call's ctx ends only its wait, and
// one that had ended before the call changes nothing.
func (s *Session) Connect(ctx context.Context) error {
	if ctx.Err() != nil {
		return session.EndOf(ctx).InPhase(fault.PhaseConnect)
	}
	done := make(chan error, 2) // the outcome, and the end of ctx
	s.core.Work.Do(func() { s.connect(done) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		aborted := session.EndOf(ctx).InPhase(fault.PhaseConnect)
		s.core.Work.Post(func() {
			if s.running != nil && slices.Index(s.running.calls, done) == 0 {
				s.running.cancel(aborted)
			} else {
				done <- aborted
			}
		})
		return <-done
	}
}

func canceled(cause error) *fault.Error {
	return fault.New(fault.ConnectFailed, "connecting was cancelled; call connect again").InPhase(fault.PhaseConnect).Wrap(cause).WithRetryable(true)
}

func (s *Session) connect(done chan error) {
	switch {
	case s.decisionPhase() == starting:
		s.running.calls = append(s.running.calls, done)
		return
	case s.phase != idle && s.phase != disconnected:
		done <- fault.New(fault.InvalidState, "the session is "+string(s.phase.state())+"; only an idle or disconnected session can connect")
		return
	case s.core.Token == "":
		done <- s.noToken()
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
	s.running = s.newConnect()
	s.running.calls = []chan error{done}
	var prepared <-chan struct{}
	if s.preparing != nil {
		prepared = s.preparing.ctx.Done()
	}
	s.launch(s.running, prepared)
}

// noToken returns the error of a call after the end that has cleared the token.
func (s *Session) noToken() *fault.Error {
	if s.closed.Err() != nil {
		return fault.New(fault.InvalidState, "the session was closed; make a new one")
	}
	return fault.New(fault.InvalidState, "the session has no token, because disconnecting clears it; call setToken before connecting again")
}

func (s *Session) newConnect() *attempt {
	return newAttempt(plan{relay: s.loginExpired(), agent: true, media: true, first: true}, s.connectOn)
}

// connectOn returns the prepared connection if there is one, otherwise a new one.
func (s *Session) connectOn() (*connection, error) {
	s.setPhase(connecting)
	conn := s.takePrepared()
	if conn == nil {
		var err error
		if conn, err = s.open(); err != nil {
			return nil, err
		}
	}
	s.use(conn)
	if conn.config != nil { // joined by Prepare, which emits nothing
		s.config = conn.config
		s.announce(conn)
	}
	for _, ev := range conn.early {
		s.receive(conn, ev)
	}
	conn.early = nil
	return conn, nil
}

// attempt is a connect, a rebuild, a resume or a preparation under way: it takes the steps of
// protocol §2.3 that its plan names. It can be cancelled, and ends once.
type attempt struct {
	steps plan
	on    func() (*connection, error) // returns the connection of the steps; runs on the queue

	ctx    context.Context // ends when the attempt is cancelled, or is over
	cancel context.CancelCauseFunc
	stop   context.CancelFunc // frees the limit's timer
	calls  []chan error       // calls that wait for the outcome
}

func newAttempt(steps plan, on func() (*connection, error)) *attempt {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &attempt{steps: steps, on: on, ctx: ctx, cancel: cancel, stop: func() {}}
}

// finish ends a and sends err to the calls that wait for it. Another call does nothing.
func (a *attempt) finish(err error) {
	a.cancel(err)
	a.stop()
	for _, call := range a.calls {
		call <- err
	}
	a.calls = nil
}

// launch runs a, at once or when ready is closed; nil is at once.
func (s *Session) launch(a *attempt, ready <-chan struct{}) {
	if ready == nil && !a.steps.relay {
		s.run(a)
		return
	}
	s.core.Spawn(func() {
		if ready != nil {
			select {
			case <-ready:
			case <-a.ctx.Done():
			}
		}
		if a.steps.relay && a.ctx.Err() == nil {
			s.freshRelay(a.ctx)
		}
		s.core.Work.Post(func() { s.run(a) })
	})
}

// run takes the steps of a. The overall limit begins here, and is never paused or extended
// (protocol §2.2).
func (s *Session) run(a *attempt) {
	if a != s.running && a != s.preparing {
		return // given up meanwhile
	}
	if a.ctx.Err() != nil {
		s.attemptEnds(a, context.Cause(a.ctx))
		return
	}
	conn, err := a.on()
	if err != nil {
		s.attemptEnds(a, err)
		return
	}
	steps := a.steps
	if steps.media {
		steps.peers = s.newMedia(conn)
	}
	ctx, stop := context.WithTimeoutCause(a.ctx, s.opts.Limits.Overall, timeout("ConnectTimeout", fault.PhaseConnect))
	a.stop = stop
	s.core.Spawn(func() {
		err := s.establish(ctx, conn, steps)
		s.core.Work.Post(func() { s.attemptEnds(a, err) })
	})
}

// attemptEnds looks up what follows the end of an attempt. Calls that wait for it get err,
// unless the function of the table's row has given them another error.
func (s *Session) attemptEnds(a *attempt, err error) {
	c := cause{attempt: a, err: err}
	switch {
	case a == s.preparing:
		s.wasPrepared(err)
		return
	case a != s.running: // given up meanwhile
		return
	case err == nil:
		s.running = nil
		s.handle(attemptDone, c)
	case s.mayRenew(err):
		s.handle(tokenRefused, c)
		return
	default:
		s.running = nil
		s.handle(s.failure(err), c)
	}
	a.finish(err)
}

// failure returns the trigger of an attempt that failed. Only a rebuild is repeated.
func (s *Session) failure(err error) trigger {
	switch {
	case s.phase != rebuilding:
		return attemptFailed
	case fault.From(err).Code.Fatal(), errors.Is(err, fault.Unauthorized):
		return attemptFatal
	case s.recovery.attempt >= s.opts.Limits.ColdAttempts:
		return attemptsSpent
	}
	return attemptFailed
}

// The lengths of the random ids, of the alphabet [a-z0-9]
// (protocol §1.7 and §1.8).
const (
	stickyIDLength = 16
	roomIDLength   = 12
)

// connection is one server-side session: a socket, the room it joined, and its peers.
// A rebuild makes a new one; events of old ones are dropped.
type connection struct {
	socket socketio.Socket
	hs     *handshake
	room   string
	config *signaling.Configuration // of the join, steps 1 to 3 of protocol §2.3; nil until they are done
	early  []socketio.Event         // events of the service while this was only prepared

	subscriber Subscriber
	publisher  Publisher
	voice      Voice // audio mode

	approved bool // ApprovedPermissions was sent
	paused   bool // PauseConversation was sent
	released bool // the pause expired: the service freed the media

	opened     bool            // the socket was connected once
	downReason socketio.Reason // why the socket is down, "" while it is not
	attempt    int             // the newest attempt to reconnect since the socket was lost
	lastErr    error           // why the newest attempt that failed since then did

	refusals int            // replies that no avatar is free
	capacity *session.Timer // until the next capacity request

	hello      signaling.Hello
	announced  bool   // streamReady was emitted
	ready      bool   // mediaReady was emitted
	missing    bool   // a rebuild brought no picture
	subscribed string // the URL at which the picture was subscribed last
	onRelease  func() // called when its viewer is released, nil without one
}

// reconnectTimeout bounds one attempt to reconnect: without a network no reply comes, and
// the next attempt may succeed.
const reconnectTimeout = 5 * time.Second

// socketOptions returns how a lost socket is reconnected.
func (s *Session) socketOptions() socketio.ClientOptions {
	return socketio.ClientOptions{
		ReconnectAttempts: s.opts.MaxReconnectAttempts,
		ReconnectTimeout:  reconnectTimeout,
		ReconnectDelay:    s.opts.ReconnectionDelay,
		ReconnectDelayMax: s.opts.ReconnectionDelayMax,
		Random:            s.random,
	}
}

// open dials the control socket and begins to read it.
func (s *Session) open() (*connection, error) {
	conn := &connection{room: session.RandomID(roomIDLength)}
	options := s.socketOptions()
	options.Query, options.Auth = s.query(), auth(s.core.Token)
	socket, err := s.dial(s.opts.ConversationURL, options)
	if err != nil {
		return nil, err
	}
	conn.socket = socket
	conn.hs = newHandshake(socket)
	s.core.Running.Go(func() { s.read(socket, conn.hs) })
	socket.Open()
	return conn, nil
}

// read passes the socket's events to the queue, one at a time, so that a service that
// floods is slowed down. A socket may serve two connections, one after the other.
func (s *Session) read(socket socketio.Socket, hs *handshake) {
	for ev := range socket.Events() {
		hs.receive(ev)
		var decided <-chan struct{}
		s.core.Work.Call(func() {
			switch {
			case s.conn != nil && s.conn.socket == socket:
				s.receive(s.conn, ev)
			case s.prepared != nil && s.prepared.socket == socket:
				s.receivePrepared(s.prepared, ev)
			}
			if len(s.actions.waiting) > session.MaxUndelivered {
				decided = s.actions.decided
			}
		})
		if decided != nil {
			<-decided // very many segments wait for a decision of the application
		}
		if s.core.Flooded() {
			s.core.WaitDelivered()
		}
	}
}

func (s *Session) query() map[string]string {
	return map[string]string{
		"partnerId":     s.opts.PartnerID,
		"billed_client": "",
		"stickyId":      s.opts.StickyID,
		"level":         "published",
		"debugMode":     "true",
	}
}

func auth(token string) any { return map[string]string{"token": token} }

// close releases everything that conn holds; it does not block.
func (conn *connection) close() {
	conn.capacity.Stop()
	conn.closeMedia()
	// Closing waits for the socket's goroutines, and read may be waiting for the
	// queue, on which close runs.
	go conn.socket.Close()
}

// joinRequest returns the join request for the present state of the session.
func (s *Session) joinRequest(room string) signaling.JoinRequest {
	join := signaling.NewJoin(room, s.userAgent(), signaling.Context{
		KS:           s.core.Token,
		ThreadID:     s.core.Thread,
		EntryID:      s.opts.EntryID,
		ContextID:    s.opts.ContextID,
		ContextType:  s.opts.ContextType,
		Capabilities: s.core.Caps,
		RequestVars:  s.core.Vars,
	})
	trace := s.opts.TraceContext()
	join.Traceparent, join.Tracestate = trace.Traceparent, trace.Tracestate
	return join
}

// nativeAgent is the user agent of a session outside a page.
const nativeAgent = "agentruntime"

func (s *Session) userAgent() string {
	if s.opts.Page == nil {
		return nativeAgent
	}
	return s.opts.Page.UserAgent()
}

// use makes conn the present connection; nil is none.
func (s *Session) use(conn *connection) {
	s.conn = conn
	s.outbox.commands = nil // which were for the connection before
}

// announce emits streamReady, once per connection.
func (s *Session) announce(conn *connection) {
	if s.conn == conn && !conn.announced {
		conn.announced = true
		s.core.Emit(event.StreamReady{FinalURL: conn.hello.FinalURL, AgentName: conn.hello.AgentName, HostName: conn.hello.HostName})
	}
}

func (s *Session) connectFailed(c cause) {
	e := fault.From(c.err)
	if e.Code == fault.InternalError {
		e = fault.New(fault.ConnectFailed, "connecting failed").InPhase(fault.PhaseConnect).Wrap(c.err)
	}
	e.WithTimings(s.timings)
	s.tearDown(nil)
	switch {
	case e.Code.Fatal():
		s.core.Emit(event.Failed{Error: e})
	case e.Code != fault.Unauthorized: // which was audited before
		s.core.AuditFailure(e)
	}
	s.setPhase(broken)
	c.attempt.finish(e)
}

func (s *Session) connectDone(cause) {
	s.recovery.renewed = false
	s.disclose(s.conn)
	s.approve(s.conn)
	s.setPhase(live)
	s.mark(phaseConnected)
	s.core.Emit(event.ConnectTimings(s.timings))
	s.startWatching()
	s.sendKickoff()
}

// approve lets the opening turn begin, unless the disclosure is not acknowledged
// yet or the session is paused (protocol §2.11, §7.9).
func (s *Session) approve(conn *connection) {
	if conn.approved || s.gated() || s.lifecycle.paused {
		return
	}
	conn.approved = true
	s.outbox.command(signaling.ApprovedPermissions, signaling.Approval{Room: conn.room})
	s.mark(phaseApproved)
	s.turn.uninterruptible = true // the opening can't be interrupted
}

// drop closes the present connection and everything that belongs to it.
func (s *Session) drop() {
	if s.conn != nil {
		s.conn.hs.fail(canceled(nil))
		s.conn.close()
		s.use(nil)
	}
}

// Prepare opens the socket, joins, and makes the picture's peer with its offer and its
// relay allocation ahead of time, without microphone or media (protocol §2.8). It
// doesn't wait for the peer. A failure does not prevent a later Connect. In any state but
// idle and disconnected it does nothing.
func (s *Session) Prepare(ctx context.Context) error {
	return s.outcome(ctx, s.prepare)
}

// outcome runs begin on the queue and returns the outcome that is sent later, or the end of ctx,
// which ends only the wait.
func (s *Session) outcome(ctx context.Context, begin func(done chan error)) error {
	done := make(chan error, 1)
	s.core.Work.Do(func() { begin(done) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return session.EndOf(ctx)
	}
}

func (s *Session) prepare(done chan error) {
	switch {
	case s.preparing != nil:
		s.preparing.calls = append(s.preparing.calls, done)
		return
	case s.phase != idle && s.phase != disconnected, s.prepared != nil:
		done <- nil
		return
	case s.core.Token == "":
		done <- s.noToken()
		return
	}
	s.preparing = newAttempt(plan{relay: s.loginExpired()}, s.prepareOn)
	s.preparing.calls = []chan error{done}
	s.launch(s.preparing, nil)
}

func (s *Session) prepareOn() (*connection, error) {
	conn, err := s.open()
	if err != nil {
		return nil, err
	}
	s.prepared = conn
	conn.subscriber = s.media.NewSubscriber(s.notify(conn))
	return conn, nil
}

func (s *Session) wasPrepared(err error) {
	if err != nil {
		s.dropPrepared(fault.From(err))
		return
	}
	a := s.preparing
	s.preparing = nil
	s.expiry = s.core.After(s.opts.Limits.PrepareIdle, func() {
		if s.running != nil {
			return // a connect waits for the application, and takes the connection then
		}
		s.dropPrepared(nil)
		s.core.Warn(fault.PrepareExpired, "")
	})
	a.finish(nil)
}

// maxEarly bounds the events that are kept of a prepared connection: the service sends a
// few during the join, one of them with the thread's id.
const maxEarly = 64

// receivePrepared keeps the events of the service for the connect that takes the prepared
// connection, and discards the connection when it is lost (protocol §2.8). Fatal
// events are reported by the handshake.
func (s *Session) receivePrepared(conn *connection, ev socketio.Event) {
	switch ev.Kind {
	case socketio.Connected:
		conn.opened = true
	case socketio.Message:
		switch {
		case ev.Name == signaling.ConversationEnded: // without an end of the socket yet
			s.dropPrepared(preparationEnded("the service ended the conversation before it began"))
		case len(conn.early) < maxEarly:
			conn.early = append(conn.early, ev)
		}
	case socketio.ConnectError:
		if refused := refusal(ev.Err); refused != nil {
			s.dropPrepared(refused)
		}
	case socketio.Disconnected, socketio.ReconnectFailed:
		s.dropPrepared(preparationEnded("the prepared connection was lost"))
	}
}

func preparationEnded(why string) *fault.Error {
	return fault.New(fault.ConnectFailed, why).InPhase(fault.PhaseConnect).WithRetryable(true)
}

// takePrepared hands the prepared connection over to a connect.
func (s *Session) takePrepared() *connection {
	conn := s.prepared
	s.prepared = nil
	s.expiry.Stop()
	return conn
}

// dropPrepared ends a preparation, finished or not. The calls that wait for it fail with
// cause, unless the service has said why before.
func (s *Session) dropPrepared(cause *fault.Error) {
	if cause == nil {
		cause = canceled(nil)
	}
	if conn := s.takePrepared(); conn != nil {
		conn.hs.fail(cause)
		cause = fault.From(context.Cause(conn.hs.ctx)) // the first
		conn.close()
	}
	if a := s.preparing; a != nil {
		s.preparing = nil
		a.finish(cause)
	}
}

// The defaults of WaitForCapacity (protocol §2.7).
const (
	CapacityWait = 300 * time.Second
	CapacityPoll = 5 * time.Second
)

// WaitForCapacity asks on a socket of its own whether an avatar is free, every poll and
// for at most wait, until one is; zero means the default. It returns the service's
// details. The error is capacity_timeout, aborted at the end of ctx (timeout for a deadline) or
// after [Session.Close], or why the service could not be asked.
//
// The first interval of each client differs, so that clients whose sockets were connected
// at the same moment ask evenly spread over a poll.
func (s *Session) WaitForCapacity(ctx context.Context, wait, poll time.Duration) (json.RawMessage, error) {
	wait = cmp.Or(wait, CapacityWait)
	poll = cmp.Or(poll, CapacityPoll)
	var token string
	s.core.Work.Call(func() {
		if token = s.core.Token; token != "" {
			s.core.Running.Add(1) // on the queue, because Close may be waiting by then
		}
	})
	if token == "" {
		return nil, s.noToken()
	}
	defer s.core.Running.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.closed, cancel)()
	socket, err := s.dial(s.opts.ConversationURL, socketio.ClientOptions{Query: s.query(), Auth: auth(token), Random: s.random})
	if err != nil {
		return nil, fault.From(err)
	}
	defer socket.Close()
	socket.Open()
	expired := time.NewTimer(wait)
	defer expired.Stop()
	again := time.NewTimer(poll)
	again.Stop()
	defer again.Stop()
	first := true     // the next reply is the first on this connection
	var lastErr error // of the last attempt to connect
	for {
		select {
		case ev, ok := <-socket.Events():
			switch {
			case !ok:
				return nil, fault.New(fault.SocketError, "the capacity connection was lost").Wrap(lastErr)
			case ev.Kind == socketio.ConnectError:
				lastErr = ev.Err
				continue
			case ev.Kind == socketio.Connected: // also after a drop, which may have cost the reply
				first = true
				again.Reset(0)
				continue
			case ev.Kind != socketio.Message:
				continue
			}
			if e := fatal(ev); e != nil {
				return nil, e
			}
			if ev.Name != signaling.AvailabilityResult {
				continue
			}
			a := decode[signaling.Availability](ev)
			s.core.Work.Post(func() { s.core.Emit(event.CapacityChanged{Available: a.Available, Details: a.Details}) })
			if a.Available {
				return a.Details, nil
			}
			next := poll
			if first {
				next = s.around(poll, 0.5)
			}
			first = false
			again.Reset(next)
		case <-again.C:
			if err := socket.Emit(signaling.CheckAvailability, signaling.Empty{}); err != nil {
				return nil, fault.From(err)
			}
		case <-expired.C:
			return nil, fault.New(fault.CapacityTimeout, "no avatar became free in time")
		case <-ctx.Done():
			return nil, session.EndOf(ctx)
		}
	}
}

// capacityBackoff are the waits after negative replies during a connect; the last one
// repeats (protocol §2.6).
var capacityBackoff = [...]time.Duration{
	30 * time.Second, 45 * time.Second, 60 * time.Second, 90 * time.Second, 120 * time.Second,
	180 * time.Second, 240 * time.Second, 300 * time.Second, 360 * time.Second,
}

// capacityJitter is the fraction by which they vary in both directions.
const capacityJitter = 0.15

// askCapacityAgain asks again later while a connect waits for a free avatar.
func (s *Session) askCapacityAgain(conn *connection, available bool) {
	if available || s.phase != connecting {
		return
	}
	wait := capacityBackoff[min(conn.refusals, len(capacityBackoff)-1)]
	conn.refusals++
	wait = s.around(wait, capacityJitter)
	conn.capacity.Stop()
	conn.capacity = s.core.After(wait, func() {
		if s.conn == conn && s.phase == connecting {
			s.emit(signaling.CheckAvailability, signaling.Empty{})
		}
	})
}
