package avatar

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// socket is the part of a Socket.IO client that a [handshake] uses.
type socket interface {
	Emit(name string, args ...any) error
	ID() string
}

// handshake is the client's side of the handshake on one control connection. It
// latches what the service sends from the first event on, so that a step that waits
// later still receives it, whatever the order of the events (protocol §2.5).
//
// The owner of the socket passes every event to [handshake.receive] from one
// goroutine; the other methods may be called from any.
type handshake struct {
	socket socket

	hello     latch[signaling.Hello]
	config    latch[signaling.Configuration]
	joined    latch[signaling.Empty]
	session   latch[signaling.StvNewSessionReply]
	agent     latch[signaling.Empty]
	asks      latch[signaling.Empty]
	asrReady  latch[error] // nil once the service is ready
	asrAnswer latch[answerOrError]

	ctx  context.Context // ends when the connection can't serve a handshake any more
	fail context.CancelCauseFunc
}

// newHandshake returns a handshake that sends through s. It holds no resources; abort ends
// its waits.
func newHandshake(s socket) *handshake {
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

// abort ends every present and future wait with err.
func (c *handshake) abort(err error) { c.fail(err) }

// receive latches ev if the handshake waits for its kind. A fatal event ends
// every wait at once with its code (protocol §4.3).
func (c *handshake) receive(ev socketio.Event) {
	switch ev.Kind {
	case socketio.Message:
		c.latch(ev)
	case socketio.Connected:
		if ev.Recovered { // the same session on the server; nothing was missed
			return
		}
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
		e = fault.New(fault.CapacityUnavailable, "no avatar is free").WithStatus(6001)
	case signaling.ThrowToExceededTier:
		e = fault.New(fault.TierExceeded, "the plan's limit is reached").WithStatus(6002)
	case signaling.ThrowToBadRequest:
		e = fault.New(fault.BadRequest, "the service refused the request").WithStatus(400)
	case signaling.RemovePeer:
		e = fault.New(fault.PeerRemoved, "the service removed this participant").WithStatus(401)
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

// awaitHello waits for the service's first event, at most limit.
func (c *handshake) awaitHello(ctx context.Context, limit time.Duration) (signaling.Hello, error) {
	return await(ctx, c, c.hello, limit, "ConnectionTimeout", fault.PhaseServerConnect)
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

// offerer makes an offer for the microphone and applies the answer.
type offerer interface {
	Prepare()
	Offer(ctx context.Context, restart bool) (signaling.Description, error)
	Answer(ctx context.Context, d signaling.Description) error
}

// startASR runs the microphone's handshake (protocol §5.1).
func (c *handshake) startASR(ctx context.Context, l signaling.Limits, o offerer) error {
	c.asrReady.drain()
	if err := c.socket.Emit(signaling.ASRInit, signaling.ASRInitRequest{SessionID: c.socket.ID()}); err != nil {
		return err
	}
	// Only now: a page has one thread, which requests the picture first. At this point
	// it would only wait for the service.
	o.Prepare()
	failed, err := await(ctx, c, c.asrReady, l.ASR, "ASRConnectionFailed", fault.PhaseASR)
	if err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return c.negotiate(ctx, l, o, false)
}

// restartASR renegotiates the microphone's peer after its network failed; the
// service keeps the peer (protocol §5.6).
func (c *handshake) restartASR(ctx context.Context, l signaling.Limits, o offerer) error {
	return c.negotiate(ctx, l, o, true)
}

func (c *handshake) negotiate(ctx context.Context, l signaling.Limits, o offerer, restart bool) error {
	offer, err := o.Offer(ctx, restart)
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
	return o.Answer(ctx, got.answer)
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
