package avatar

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// plan selects the steps of protocol §2.3 that an attempt takes.
type plan struct {
	// relay asks the application for a new login to the relay before the other steps.
	relay bool
	// reuse is set on a socket that reconnected by itself: there is no serverConnected event.
	reuse bool
	// media is set unless the steps end with the join, as those of a preparation do.
	media bool
	// agent waits for the agent; the resume after a pause does not.
	agent bool
	// first is set for the first connect: only then may the gate wait for a
	// painted frame.
	first bool

	peers peers // added by run
}

// establish runs the handshake on conn up to the approval. It runs outside the
// queue and accesses the session only through it.
func (s *Session) establish(ctx context.Context, conn *connection, p plan) error {
	if conn.config == nil {
		if err := s.join(ctx, conn, p); err != nil {
			return err
		}
	}
	if !p.media {
		return nil
	}
	reply, err := conn.hs.requestSession(ctx, conn.room)
	if err != nil {
		return err
	}
	s.after(conn, func() { s.mark(phaseSTVReply) })

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The lanes do not watch the connection all the time, but a fatal event must
	// end both at once.
	defer context.AfterFunc(conn.hs.ctx, func() { cancel(context.Cause(conn.hs.ctx)) })()
	lanes := []func(context.Context) error{
		func(ctx context.Context) error { return s.connectMicrophone(ctx, conn, p) },
		func(ctx context.Context) error {
			err := s.connectPicture(ctx, conn, p, reply)
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
	if first == nil && conn.hs.ctx.Err() != nil {
		return context.Cause(conn.hs.ctx) // the connection ended during the last step
	}
	return first
}

// after posts f, which follows a step of the handshake on conn, and drops it if conn is given up by then.
func (s *Session) after(conn *connection, f func()) {
	s.core.Work.Post(func() {
		if conn == s.conn || conn == s.prepared {
			f()
		}
	})
}

// join runs steps 1 to 3.
func (s *Session) join(ctx context.Context, conn *connection, p plan) error {
	limits := s.opts.Limits
	if !p.reuse {
		hello, err := await(ctx, conn.hs, conn.hs.hello, limits.ServerConnect, "ConnectionTimeout", fault.PhaseServerConnect)
		if err != nil {
			return err
		}
		conn.hello = hello
		s.after(conn, func() {
			s.mark(phaseServerConnected)
			s.announce(conn)
		})
	}
	var request signaling.JoinRequest
	s.core.Work.Call(func() { request = s.joinRequest(conn.room) }) // only now: the token may have been replaced meanwhile
	config, err := conn.hs.join(ctx, limits, request)
	if err != nil {
		return err
	}
	conn.config = &config
	s.after(conn, func() {
		s.mark(phaseJoinComplete)
		if s.config == nil { // a rebuild keeps the first (protocol §8.4)
			s.config = conn.config
		}
	})
	return nil
}

// connectMicrophone is lane A: the agent, then the microphone's peer.
func (s *Session) connectMicrophone(ctx context.Context, conn *connection, p plan) error {
	if p.agent {
		if err := conn.hs.awaitAgent(ctx, s.opts.Limits); err != nil {
			return err
		}
	}
	if err := conn.hs.startASR(ctx, s.opts.Limits, p.peers.publisher); err != nil {
		return err
	}
	s.after(conn, func() {
		s.mark(phaseASRReady)
		s.capMic(p.peers.publisher)
	})
	return nil
}

// connectPicture is lane B: the picture, up to the playable gate.
func (s *Session) connectPicture(ctx context.Context, conn *connection, p plan, reply signaling.StvNewSessionReply) error {
	if audioOnly(reply) {
		s.core.Work.Post(func() {
			if s.conn == conn && conn.subscriber == p.peers.subscriber { // made ahead of time, but not needed
				conn.subscriber.Close()
				conn.subscriber = nil
			}
			s.mediaReady(conn, event.MediaReady{Mode: event.Audio})
		})
		return nil
	}
	if err := s.subscribe(ctx, conn, p.peers.subscriber, s.subscribeURL(reply)); err != nil {
		return err
	}
	picture, err := p.peers.subscriber.Playable(ctx, !p.first)
	if err != nil {
		return err
	}
	if picture.Missing && p.first {
		// Once more, from the start (protocol §6.9).
		p.peers.subscriber.Restart(ctx)
		err := s.subscribe(ctx, conn, p.peers.subscriber, s.subscribeURL(reply))
		if err == nil {
			picture, err = p.peers.subscriber.Playable(ctx, !p.first)
		}
		if errors.Is(err, fault.Timeout) || ctx.Err() != nil {
			return err
		}
	}
	ready := event.MediaReady{Mode: event.Video, VideoWidth: picture.Width, VideoHeight: picture.Height}
	ready.Degraded = p.first && picture.Missing
	s.core.Work.Post(func() {
		conn.missing = !p.first && picture.Missing
		s.mediaReady(conn, ready)
	})
	return nil
}

// subscribeURL returns the URL of the picture of reply (protocol §6.1).
func (s *Session) subscribeURL(reply signaling.StvNewSessionReply) string {
	if reply.WebRTCURL != "" {
		return reply.WebRTCURL
	}
	base := strings.TrimSuffix(s.opts.SRSBaseURL, "/")
	return base + "/rtc/v1/whep/?app=app&stream=" + url.QueryEscape(reply.SessionID)
}

// audioOnly reports whether the service sends no picture (protocol §4.2).
func audioOnly(reply signaling.StvNewSessionReply) bool {
	return strings.Contains(strings.ToLower(reply.Status), "no stv session")
}

// subscribe posts the offer, and once requests a new video session if the present one no
// longer exists (protocol §6.6).
func (s *Session) subscribe(ctx context.Context, conn *connection, subscriber Subscriber, url string) error {
	err := subscriber.Subscribe(ctx, url)
	var gone *media.Gone
	if errors.As(err, &gone) {
		url, err = s.resubscribe(ctx, conn, subscriber, gone)
	}
	if err == nil {
		s.core.Work.Post(func() {
			conn.subscribed = url
			conn.onRelease = func() { s.core.Audit("whep.release", "ended", "") }
		})
	}
	return err
}

func (s *Session) resubscribe(ctx context.Context, conn *connection, subscriber Subscriber, gone *media.Gone) (url string, err error) {
	subscriber.Restart(ctx)
	reply, err := conn.hs.requestSession(ctx, conn.room)
	if err != nil {
		return "", err
	}
	sessionGone := fault.New(fault.STVSessionGone, gone.Error()).InPhase(fault.PhaseWHEP).WithStatus(gone.Status)
	if audioOnly(reply) {
		return "", sessionGone
	}
	url = s.subscribeURL(reply)
	if err = subscriber.Subscribe(ctx, url); errors.As(err, &gone) {
		return "", sessionGone
	}
	return url, err
}

func (s *Session) mediaReady(conn *connection, ready event.MediaReady) {
	if s.conn != conn {
		return
	}
	s.mode = ready.Mode
	s.mark(phaseMediaReady)
	if ready.Degraded {
		detail := "no picture arrived; connect again if it does not come"
		if !s.peer(event.ChannelSTV).linked() {
			detail = "neither picture nor voice arrived; check the relay and its login"
		}
		s.core.Warn(fault.MediaNoVideo, detail)
	}
	if !conn.ready {
		conn.ready = true
		s.core.Emit(ready)
	}
}

// handshake is the client's side of the handshake on one control connection. It
// latches what the service sends from the first event on, so that a step that waits
// later still receives it, whatever the order of the events (protocol §2.5).
//
// The owner of the socket passes every event to [handshake.receive] from one
// goroutine; the other methods may be called from any.
type handshake struct {
	socket socketio.Socket

	hello     latch[signaling.Hello]
	config    latch[signaling.Configuration]
	joined    latch[signaling.Empty]
	session   latch[signaling.StvNewSessionReply]
	agent     latch[signaling.Empty]
	asks      latch[signaling.Empty]
	asrReady  latch[error] // nil once the service is ready
	asrAnswer latch[answerOrError]

	ctx  context.Context         // ends when the connection can't serve a handshake any more
	fail context.CancelCauseFunc // ends every present and future wait
}

// newHandshake returns a handshake that sends through s. It holds no resources; fail ends
// its waits.
func newHandshake(s socketio.Socket) *handshake {
	c := &handshake{
		socket:    s,
		hello:     newLatch[signaling.Hello](),
		config:    newLatch[signaling.Configuration](),
		joined:    newLatch[signaling.Empty](),
		session:   newLatch[signaling.StvNewSessionReply](),
		agent:     newLatch[signaling.Empty](),
		asks:      newLatch[signaling.Empty](),
		asrReady:  newLatch[error](),
		asrAnswer: newLatch[answerOrError](),
	}
	c.ctx, c.fail = context.WithCancelCause(context.Background())
	return c
}

// answerOrError is the service's reply to an offer.
type answerOrError struct {
	answer signaling.Description
	err    error
}

// reset discards what arrived for the previous session on this socket.
func (c *handshake) reset() {
	c.config.drain()
	c.joined.drain()
	c.session.drain()
	c.agent.drain()
	c.asks.drain()
}

// receive latches ev if the handshake waits for its kind. A fatal event ends
// every wait at once with its code (protocol §4.3).
func (c *handshake) receive(ev socketio.Event) {
	switch ev.Kind {
	case socketio.Message:
		c.latch(ev)
	case socketio.Disconnected:
		if ev.Reason == socketio.ServerDisconnect {
			c.fail(fault.New(fault.ConnectFailed, "the service closed the connection").InPhase(fault.PhaseConnect))
		}
	}
}

func (c *handshake) latch(ev socketio.Event) {
	switch ev.Name {
	case signaling.ServerConnected:
		c.hello.put(decode[signaling.Hello](ev))
	case signaling.ClientConfig:
		c.config.put(decodeConfiguration(ev))
	case signaling.JoinComplete:
		c.joined.put(signaling.Empty{})
	case signaling.StvNewSession:
		c.session.put(decode[signaling.StvNewSessionReply](ev))
	case signaling.ShowAgent:
		c.agent.put(signaling.Empty{})
	case signaling.AskPermissions:
		c.asks.put(signaling.Empty{})
	case signaling.ASRReady:
		c.asrReady.put(nil)
	case signaling.ASRAnswer:
		c.asrAnswer.put(answerOrError{answer: decode[signaling.Answer](ev).Answer})
	case signaling.ASRError:
		err := fault.New(fault.ConnectFailed, "the service can't receive the microphone: "+decode[signaling.PeerError](ev).Error).InPhase(fault.PhaseASR)
		c.asrReady.put(err)
		c.asrAnswer.put(answerOrError{err: err})
	default:
		if err := fatal(ev); err != nil {
			c.fail(err)
		}
	}
}

// fatal returns the error for a fatal event, nil for any other
// event (protocol §4.3).
func fatal(ev socketio.Event) *fault.Error {
	var e *fault.Error
	switch ev.Name {
	case signaling.ThrowToNoAgent:
		e = fault.New(fault.CapacityUnavailable, "no avatar is free")
	case signaling.ThrowToExceededTier:
		e = fault.New(fault.TierExceeded, "the plan's limit is reached")
	case signaling.ThrowToBadRequest:
		// The event has no reason in it, so the message names those that there may be.
		e = fault.New(fault.BadRequest, "the service refused the request and does not say why: "+
			"the thread may be another user's or not exist, the agent not exist, or the token not be valid any more").WithStatus(400)
	case signaling.RemovePeer:
		e = fault.New(fault.PeerRemoved, "the service removed this participant")
	case signaling.UnsupportedClient:
		e = fault.New(fault.UnsupportedClient, "the service refused this client")
		if code := converse.Clean(decode[signaling.Unsupported](ev).Code); code != "" {
			e = fault.New(fault.UnsupportedClient, "the service refused this client: "+code).WithBody(map[string]any{"code": code})
		}
	default:
		return nil
	}
	return e.InPhase(fault.PhaseConnect)
}

// join sends r and waits for both acknowledgements, which come in any order
// (protocol §2.3, steps 2 and 3).
func (c *handshake) join(ctx context.Context, l signaling.Limits, r signaling.JoinRequest) (signaling.Configuration, error) {
	if err := c.socket.Emit(signaling.Join, r); err != nil {
		return signaling.Configuration{}, err
	}
	sent := time.Now()
	config, err := await(ctx, c, c.config, l.JoinRoom, "JoinRoomTimeout", fault.PhaseJoin)
	if err != nil {
		return signaling.Configuration{}, err
	}
	_, err = await(ctx, c, c.joined, max(0, l.JoinComplete-time.Since(sent)), "JoinRoomTimeout", fault.PhaseJoinComplete)
	return config, err
}

// requestSession asks for a new video session in room and waits for the reply,
// without a limit of its own (protocol §2.3, steps 4 and 5).
func (c *handshake) requestSession(ctx context.Context, room string) (signaling.StvNewSessionReply, error) {
	c.session.drain()
	if err := c.socket.Emit(signaling.StvNewSession, signaling.RoomRequest{RoomID: room}); err != nil {
		return signaling.StvNewSessionReply{}, err
	}
	if err := c.socket.Emit(signaling.CheckAvailability, signaling.Empty{}); err != nil {
		return signaling.StvNewSessionReply{}, err
	}
	return await(ctx, c, c.session, unlimited, "ConnectTimeout", fault.PhaseConnect)
}

// awaitAgent waits until the agent is there and asks for the microphone
// (protocol §2.3, steps 6 and 7).
func (c *handshake) awaitAgent(ctx context.Context, l signaling.Limits) error {
	if _, err := await(ctx, c, c.agent, l.Agent, "AgentResponseTimeout", fault.PhaseAgent); err != nil {
		return err
	}
	_, err := await(ctx, c, c.asks, l.Agent, "AgentResponseTimeout", fault.PhaseAgent)
	return err
}

// startASR runs the handshake of the microphone's peer p (protocol §5.1).
func (c *handshake) startASR(ctx context.Context, l signaling.Limits, p Publisher) error {
	c.asrReady.drain()
	if err := c.socket.Emit(signaling.ASRInit, signaling.ASRInitRequest{SessionID: c.socket.ID()}); err != nil {
		return err
	}
	// Only now: a page has one thread, which requests the picture first. At this point
	// it would only wait for the service.
	p.Prepare()
	failed, err := await(ctx, c, c.asrReady, l.ASR, "ASRConnectionFailed", fault.PhaseASR)
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return c.negotiate(ctx, l, p, false)
}

// negotiate sends an offer of the microphone's peer p and applies the answer. With restart its
// network is made again after it failed; the service keeps its peer (protocol §5.6).
func (c *handshake) negotiate(ctx context.Context, l signaling.Limits, p Publisher, restart bool) error {
	offer, err := p.Offer(ctx, restart)
	if err != nil {
		return err
	}
	c.asrAnswer.drain()
	if err := c.socket.Emit(signaling.ASROffer, signaling.Offer{Offer: offer, IsReconnect: restart}); err != nil {
		return err
	}
	got, err := await(ctx, c, c.asrAnswer, l.ASR, "ASRConnectionFailed", fault.PhaseASR)
	if err != nil {
		return err
	}
	if got.err != nil {
		return got.err
	}
	return p.Answer(ctx, got.answer)
}

// latch keeps the newest value until it is taken. One goroutine puts, any takes.
type latch[T any] chan T

func newLatch[T any]() latch[T] { return make(latch[T], 1) }

// put stores v, in place of a value that was not taken.
func (l latch[T]) put(v T) {
	l.drain()
	l <- v
}

// drain discards a value that was not taken. It is called before a request, so that
// only the reply to that request is taken.
func (l latch[T]) drain() {
	select {
	case <-l:
	default:
	}
}

// await takes from l within limit. The end of ctx or of the connection ends the
// wait with its cause; a value that came after the end of ctx is refused too
// (protocol §2.3).
func await[T any](ctx context.Context, c *handshake, l latch[T], limit time.Duration, label string, phase fault.Phase) (T, error) {
	var none T
	var expired <-chan time.Time
	if limit != unlimited {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case v := <-l:
		if ctx.Err() != nil {
			return none, context.Cause(ctx)
		}
		return v, nil
	case <-expired:
		return none, timeout(label, phase)
	case <-c.ctx.Done():
		return none, context.Cause(c.ctx)
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}

// unlimited is the limit of a wait that only its context bounds.
const unlimited time.Duration = -1

// timeout returns the error of a step that was too slow (protocol §2.3). The
// label is for people; programs check the phase.
func timeout(label string, phase fault.Phase) *fault.Error {
	return fault.New(fault.Timeout, label).InPhase(phase)
}
