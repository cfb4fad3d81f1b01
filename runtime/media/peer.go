package media

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/peerstate"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// ErrClosed is the error of any method of a closed peer.
var ErrClosed = errors.New("the peer is closed")

var errUnknownCodec = errors.New("the codec is not supported")

// closeLimit bounds the wait of a close for operations under way. A browser
// takes milliseconds, seconds under heavy load; only a page's own replacement of
// RTCPeerConnection may never settle a promise. Tests shorten it.
var closeLimit = 10 * time.Second

// peerOptions are the settings of one peer.
type peerOptions struct {
	policy  string
	receive []string          // kinds of the receiving transceivers, in order
	codecs  map[string]string // by kind; "" is the platform's choice
	mic     *microphone       // sends, when set
}

// peer is a peer connection. pion negotiates in both builds: natively it is the
// implementation, in a page it drives the browser's RTCPeerConnection. peer_js.go
// has what pion's page build lacks.
type peer struct {
	engine *Engine
	pc     *webrtc.PeerConnection
	platformPeer

	ctx  context.Context // ends with close
	stop context.CancelFunc

	mu      sync.Mutex
	busy    int           // operations of pc under way
	closing bool          // no operation begins any more
	idle    chan struct{} // closed when closing and not busy

	measuring chan struct{} // has a value while a report is read
	last      Stats         // guarded by engine.totals.mu
	counted   chan struct{} // closed when last is final and in the totals
}

func newPeer(p *Engine, o peerOptions, on func(Event)) (*peer, error) {
	peer := &peer{engine: p, idle: make(chan struct{}), measuring: make(chan struct{}, 1), counted: make(chan struct{})}
	api, err := peer.newAPI(o, on)
	if err != nil {
		return nil, err
	}
	servers := p.iceServers()
	config := webrtc.Configuration{
		BundlePolicy:       webrtc.BundlePolicyMaxBundle,
		ICETransportPolicy: webrtc.NewICETransportPolicy(o.policy),
		ICEServers:         pionServers(servers),
	}
	peer.pc, err = api.NewPeerConnection(config)
	if err != nil && refusesQueries(platformError(err).Error()) {
		config.ICEServers = pionServers(withoutQueries(servers))
		peer.pc, err = api.NewPeerConnection(config)
	}
	if err != nil {
		return nil, platformError(err)
	}
	peer.ctx, peer.stop = context.WithCancel(context.Background())
	p.totals.begin(peer)
	if err := peer.setUp(o, on); err != nil {
		peer.close()
		return nil, platformError(err)
	}
	return peer, nil
}

func pionServers(servers []ICEServer) []webrtc.ICEServer {
	list := make([]webrtc.ICEServer, len(servers))
	for i, s := range servers {
		list[i] = webrtc.ICEServer{URLs: s.URLs, Username: s.Username, Credential: s.Credential}
	}
	return list
}

// setUp adds listeners and transceivers.
func (p *peer) setUp(o peerOptions, on func(Event)) error {
	// pion calls its handlers on goroutines of its own.
	guarded := func(ev Event) { p.engine.guard(func() { on(ev) }) }
	p.pc.OnICEConnectionStateChange(func(s webrtc.ICEConnectionState) {
		guarded(Event{Kind: ICEState, State: s.String()})
	})
	peerstate.Watch(p.pc, func(s webrtc.PeerConnectionState) {
		guarded(Event{Kind: PeerState, State: s.String()})
	})
	// The argument is always "unknown" in pion's page build.
	p.pc.OnSignalingStateChange(func(webrtc.SignalingState) {
		if s := p.pc.SignalingState(); s == webrtc.SignalingStateClosed {
			guarded(Event{Kind: PeerState, State: s.String()})
		}
	})
	if err := p.listen(on); err != nil {
		return err
	}
	for _, kind := range o.receive {
		transceiver, err := p.pc.AddTransceiverFromKind(webrtc.NewRTPCodecType(kind), webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly})
		if err != nil {
			return err
		}
		codec := o.codecs[kind]
		if codec == "" {
			continue
		}
		if err := prefer(transceiver, kind, kind+"/"+codec); err != nil {
			p.engine.cfg.Log("warn", "the preferred "+kind+" codec can't be used", map[string]any{"codec": codec, "error": err.Error()})
		}
	}
	if o.mic != nil {
		return p.send(o.mic)
	}
	return nil
}

// do runs an operation of pc on a goroutine of its own, because pion's methods take
// no context, and waits for it until ctx or the peer ends.
func (p *peer) do(ctx context.Context, operation func() error) error {
	if !p.begin() {
		return ErrClosed
	}
	result := make(chan error, 1)
	p.engine.spawn(func() {
		defer p.finish()
		result <- recovered(operation)
	})
	select {
	case err := <-result:
		return err
	case <-p.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// recovered runs an operation and turns a panic into an error: natively pion panics for
// some invalid input from a server.
func recovered(operation func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the peer connection panicked: %v", r)
		}
	}()
	return platformError(operation())
}

// begin counts an operation that close must wait for. It returns false when the peer is
// being closed.
func (p *peer) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closing {
		p.busy++
	}
	return !p.closing
}

func (p *peer) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	if p.closing && p.busy == 0 {
		close(p.idle)
	}
}

// close ends the peer without waiting. In a page the promises of a closed peer
// never settle, and pion would wait for them forever; therefore the connection is
// closed after the operations under way.
func (p *peer) close() {
	p.mu.Lock()
	first := !p.closing
	p.closing = true
	if first && p.busy == 0 {
		close(p.idle)
	}
	p.mu.Unlock()
	if !first {
		return
	}
	p.stop()
	p.release()
	p.engine.spawn(func() {
		select {
		case <-p.idle:
		case <-time.After(closeLimit):
		}
		p.engine.totals.end(p)
		p.end()
	})
}

// offer makes an offer the local description; restart asks for new ICE
// credentials.
func (p *peer) offer(ctx context.Context, restart bool) error {
	var options *webrtc.OfferOptions
	if restart {
		// Options that are not nil always set voiceActivityDetection, whose default is true.
		options = &webrtc.OfferOptions{
			ICERestart:         true,
			OfferAnswerOptions: webrtc.OfferAnswerOptions{VoiceActivityDetection: true},
		}
	}
	return p.do(ctx, func() error { return p.describe(p.pc.CreateOffer(options)) })
}

// accept applies an offer and makes an answer the local description.
func (p *peer) accept(ctx context.Context, sdp string) error {
	return p.do(ctx, func() error {
		if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: sdp}); err != nil {
			return err
		}
		return p.describe(p.pc.CreateAnswer(nil))
	})
}

func (p *peer) describe(d webrtc.SessionDescription, err error) error {
	if err == nil && p.ctx.Err() != nil {
		err = ErrClosed
	}
	if err != nil {
		return err
	}
	return p.pc.SetLocalDescription(d)
}

// answer applies the answer to the local description.
func (p *peer) answer(ctx context.Context, sdp string) error {
	return p.do(ctx, func() error {
		return p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: sdp})
	})
}

// localSDP returns the local description, with the candidates found so far.
func (p *peer) localSDP() string {
	if d := p.pc.LocalDescription(); d != nil {
		return d.SDP
	}
	return ""
}

func (p *peer) addCandidate(c signaling.Candidate) error {
	return p.do(p.ctx, func() error {
		return p.pc.AddICECandidate(webrtc.ICECandidateInit{
			Candidate: c.Candidate, SDPMid: c.SDPMid, SDPMLineIndex: c.SDPMLineIndex, UsernameFragment: c.UsernameFragment,
		})
	})
}

// pendingPeer is a peer that is being created: its offer and its TURN allocation are
// started before they are needed, so that the first picture waits for neither.
type pendingPeer struct {
	ready chan struct{} // closed when peer, offer and err are final
	stop  context.CancelFunc

	mu     sync.Mutex
	peer   *peer
	closed bool
	err    error
}

// prepare starts to create a peer, at once if begun is nil, otherwise when begun is closed.
// on receives its events until it is closed. With offer set the peer makes an offer;
// otherwise it will answer one.
func (e *Engine) prepare(begun <-chan struct{}, o peerOptions, offer bool, on func(Event)) *pendingPeer {
	ctx, stop := context.WithCancel(context.Background())
	pr := &pendingPeer{ready: make(chan struct{}), stop: stop}
	e.spawn(func() {
		defer close(pr.ready)
		if begun != nil {
			select {
			case <-begun:
			case <-ctx.Done():
				return // closed
			}
		}
		peer, err := newPeer(e, o, func(ev Event) {
			if !pr.isClosed() {
				on(ev)
			}
		})
		if err == nil && !pr.own(peer) {
			peer.close()
			err = ErrClosed
		}
		if err == nil && offer {
			err = peer.offer(ctx, false)
		}
		if err != nil {
			pr.fail(err)
		}
	})
	return pr
}

func (pr *pendingPeer) own(peer *peer) bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if !pr.closed {
		pr.peer = peer
	}
	return !pr.closed
}

func (pr *pendingPeer) fail(err error) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.err = err; !errors.Is(err, fault.UnsupportedBrowser) {
		pr.err = fault.New(fault.ConnectFailed, "the peer connection could not be made").Wrap(err)
	}
}

func (pr *pendingPeer) isClosed() bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pr.closed
}

// wait returns the peer once it is ready.
func (pr *pendingPeer) wait(ctx context.Context) (*peer, error) {
	select {
	case <-pr.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	pr.mu.Lock()
	defer pr.mu.Unlock()
	switch {
	case pr.closed:
		return nil, ErrClosed
	case pr.err != nil:
		return nil, pr.err
	}
	return pr.peer, nil
}

// stats is zero while there is no peer.
func (pr *pendingPeer) stats(ctx context.Context) (Stats, error) {
	pr.mu.Lock()
	peer := pr.peer
	pr.mu.Unlock()
	if peer == nil {
		return Stats{}, nil
	}
	return peer.stats(ctx)
}

// close ends the peer. It does not wait.
func (pr *pendingPeer) close() {
	pr.mu.Lock()
	peer, first := pr.peer, !pr.closed
	pr.closed = true
	pr.mu.Unlock()
	pr.stop()
	if first && peer != nil {
		peer.close()
	}
}

// maxEarly bounds the candidates that are kept for a peer without a remote
// description; a server sends only a few.
const maxEarly = 100

// candidates keeps the remote side's candidates until they can be applied.
type candidates struct {
	mu    sync.Mutex
	apply func(signaling.Candidate) // nil until the remote description is set
	early []signaling.Candidate
}

func (c *candidates) add(candidate signaling.Candidate) {
	c.mu.Lock()
	apply := c.apply
	if apply == nil && len(c.early) < maxEarly {
		c.early = append(c.early, candidate)
	}
	c.mu.Unlock()
	if apply != nil {
		apply(candidate)
	}
}

// buffer keeps candidates again.
func (c *candidates) buffer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apply = nil
}

// open applies the kept candidates and all later ones.
func (c *candidates) open(apply func(signaling.Candidate)) {
	c.mu.Lock()
	early := c.early
	c.apply, c.early = apply, nil
	c.mu.Unlock()
	for _, candidate := range early {
		apply(candidate)
	}
}

// addTo returns a function that adds candidates to peer. A candidate that the peer
// refuses is only logged, because another one may work (protocol §5.2).
func (e *Engine) addTo(peer *peer) func(signaling.Candidate) {
	return func(c signaling.Candidate) {
		if c.Candidate == "" {
			return // the end of candidates, which peers detect by themselves
		}
		e.spawn(func() {
			if err := peer.addCandidate(c); err != nil {
				e.cfg.Log("debug", "a candidate was refused", map[string]any{"error": err.Error()})
			}
		})
	}
}
