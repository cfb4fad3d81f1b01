package media

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/pion/ice/v4"
	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/nack"
	"github.com/pion/logging"
	"github.com/pion/webrtc/v4"
)

const (
	defaultAddr = "127.0.0.1:0"
	// microphoneShare is the part of the peers that microphones may have, so that room is left for viewers.
	microphoneShare = 2
	// defaultConnectTimeout is how long a peer that was answered may take to connect (choice D5).
	defaultConnectTimeout = 15 * time.Second
	// A silent peer counts as disconnected, then as gone, after these times: 15 s together, as for one that never connected.
	iceDisconnected = 5 * time.Second
	iceFailed       = 10 * time.Second
	iceKeepAlive    = 2 * time.Second
	// socketBuffer, in bytes, is large enough for the bursts of all sessions' key frames.
	socketBuffer = 4 << 20
	// resendable is how many packets of a picture are kept for a viewer that lost some: about two seconds. A power of two.
	resendable = 256
)

// errBusy means that the limit of peers is reached.
var errBusy = errors.New("media: too many peers")

// Picture draws an avatar for one viewer. A stream calls it from its own goroutine, 25 times a second, so it must not wait.
type Picture interface {
	// Next returns the next frame, encoded (H264 as an Annex B access unit). Loudness, 0 to 1, is that of the voice
	// with it. With keyFrame set, the frame must be one that can be decoded without those before it.
	Next(loudness float64, keyFrame bool) []byte
}

// NewPicture makes the picture for a viewer; mimeType is "video/H264" (constrained baseline) or "video/VP8". The first frame asked of
// it is a key frame.
type NewPicture func(mimeType string) Picture

// Config configures a server.
type Config struct {
	// Addr is the UDP address "host:port" of all peers. Default is a free port on 127.0.0.1.
	Addr string
	// Peers bounds viewers and microphones at once, of which microphones may have half, and Offers the session descriptions in a minute
	// for which a peer is made. Zero is no limit.
	Peers, Offers quota.Limit
	// ConnectTimeout is how long an answered viewer or microphone may take to connect before its place is free again. Default 15 s.
	ConnectTimeout time.Duration
	// Log receives the state changes of peers at debug level, those of viewers with the stream, without addresses. Default discards.
	Log *slog.Logger
}

// Server carries the media of all sessions. Its methods may be called concurrently.
type Server struct {
	cfg      Config
	addr     netip.AddrPort
	mux      *ice.UDPMuxDefault
	settings webrtc.SettingEngine
	certs    []webrtc.Certificate
	log      *slog.Logger
	separate atomic.Bool // picture and voice are in separate media streams

	peers, talking quota.Count // peers, and those of them that are microphones
	offers         quota.Rate

	sentVideo, sentAudio, receivedAudio atomic.Int64

	mu          sync.Mutex
	closed      bool
	streams     map[string]*Stream
	microphones map[*Microphone]bool
	tasks       sync.WaitGroup // peers that are being closed
}

// Bytes returns how much media was sent and received since the start, without headers.
func (s *Server) Bytes() (sentVideo, sentAudio, receivedAudio int64) {
	return s.sentVideo.Load(), s.sentAudio.Load(), s.receivedAudio.Load()
}

// SeparateStreams sets whether later viewers get picture and voice in two media streams or, as at the start, in one (choice D10).
func (s *Server) SeparateStreams(on bool) { s.separate.Store(on) }

// New starts a server.
func New(cfg Config) (*Server, error) {
	cfg.Addr = cmp.Or(cfg.Addr, defaultAddr)
	cfg.ConnectTimeout = cmp.Or(cfg.ConnectTimeout, defaultConnectTimeout)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	// One certificate for all peers: generating one for each would cost more than the rest of an answer.
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("media: key: %w", err)
	}
	cert, err := webrtc.GenerateCertificate(key)
	if err != nil {
		return nil, fmt.Errorf("media: certificate: %w", err)
	}
	conn, err := net.ListenPacket("udp4", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("media: %w", err)
	}
	udp := conn.(*net.UDPConn)
	_ = udp.SetReadBuffer(socketBuffer) // as much as the system allows
	_ = udp.SetWriteBuffer(socketBuffer)

	// pion logs single packets of single peers, and a client could make it log a lot.
	quiet := &logging.DefaultLoggerFactory{DefaultLogLevel: logging.LogLevelDisabled}
	s := &Server{
		cfg: cfg, log: cfg.Log, certs: []webrtc.Certificate{*cert},
		addr:    udp.LocalAddr().(*net.UDPAddr).AddrPort(),
		mux:     ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: udp, Logger: quiet.NewLogger("mux")}),
		streams: map[string]*Stream{}, microphones: map[*Microphone]bool{},
		peers:   quota.Count{Limit: cfg.Peers, Shared: true},
		talking: quota.Count{Limit: quota.Limit{Total: (cfg.Peers.Total + microphoneShare - 1) / microphoneShare}},
		offers:  quota.Rate{Limit: cfg.Offers, Window: time.Minute},
	}
	s.settings = webrtc.SettingEngine{LoggerFactory: quiet}
	s.settings.SetICEUDPMux(s.mux)
	s.settings.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4})
	s.settings.SetIncludeLoopbackCandidate(true)
	s.settings.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	s.settings.DisableActiveTCP(true)
	s.settings.SetPrflxAcceptanceMinWait(0) // the only candidates of clients are those that their checks reveal
	s.settings.SetICETimeouts(iceDisconnected, iceFailed, iceKeepAlive)
	return s, nil
}

// Addr returns the UDP address of all peers: the address that a relay has to reach.
func (s *Server) Addr() netip.AddrPort {
	return s.addr
}

// Close closes all streams and microphones and returns when their peers are gone.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	streams, microphones := s.streams, s.microphones
	s.streams, s.microphones = nil, nil
	s.mu.Unlock()
	for _, stream := range streams {
		stream.Close()
	}
	for microphone := range microphones {
		microphone.Close()
	}
	s.tasks.Wait()
	_ = s.mux.Close()
}

// seat is the place of a peer among those of all clients.
type seat struct {
	server     *Server
	by         quota.Client
	microphone bool
}

// take takes the place.
func (p seat) take() error {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || p.microphone && !s.talking.Take(p.by, 1) {
		return errBusy
	}
	if !s.peers.Take(p.by, 1) {
		if p.microphone {
			s.talking.Free(p.by, 1)
		}
		return errBusy
	}
	s.tasks.Add(1)
	return nil
}

func (p seat) free() {
	p.server.peers.Free(p.by, 1)
	if p.microphone {
		p.server.talking.Free(p.by, 1)
	}
	p.server.tasks.Done()
}

// newPeer makes a peer connection with exactly the given codecs. role is our part in the DTLS handshake.
func (s *Server) newPeer(p seat, role webrtc.DTLSRole, codecs ...codec) (pc *webrtc.PeerConnection, err error) {
	if err := p.take(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.free()
		}
	}()
	engine := &webrtc.MediaEngine{}
	for _, c := range codecs {
		if err := engine.RegisterCodec(c.RTPCodecParameters, c.kind); err != nil {
			return nil, fmt.Errorf("codec %s: %w", c.MimeType, err)
		}
	}
	registry := &interceptor.Registry{}
	responder, err := nack.NewResponderInterceptor(nack.ResponderSize(resendable))
	if err != nil {
		return nil, err
	}
	registry.Add(nackLimit{}) // before the responder, which resends everything it is asked for
	registry.Add(responder)
	if err := webrtc.ConfigureRTCPReports(registry); err != nil {
		return nil, err
	}
	settings := s.settings
	if err := settings.SetAnsweringDTLSRole(role); err != nil {
		return nil, err
	}
	incoming := newIncoming()
	serve(incoming, &settings.BufferFactory)
	api := webrtc.NewAPI(
		webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry), webrtc.WithSettingEngine(settings),
	)
	if pc, err = api.NewPeerConnection(webrtc.Configuration{Certificates: s.certs}); err != nil {
		return nil, err
	}
	incoming.guard(pc)
	return pc, nil
}

// closePeer closes pc, which newPeer made. It returns when all goroutines of pc have ended and must not be called from one of them.
func (s *Server) closePeer(p seat, pc *webrtc.PeerConnection) {
	defer p.free()
	_ = pc.GracefulClose() // an error leaves nothing to do
}

// answer applies the offer to pc, calls prepare, and returns the answer with all candidates. It stops when ctx has ended.
func answer(ctx context.Context, pc *webrtc.PeerConnection, offer string, prepare func() error) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: offer}); err != nil {
		return "", fmt.Errorf("offer: %w", err)
	}
	if err := errors.Join(ctx.Err(), prepare()); err != nil {
		return "", err
	}
	description, err := pc.CreateAnswer(nil)
	if err != nil {
		return "", fmt.Errorf("answer: %w", err)
	}
	return apply(pc, description)
}

// apply makes description the local one and returns it with all candidates.
func apply(pc *webrtc.PeerConnection, description webrtc.SessionDescription) (string, error) {
	gathered := webrtc.GatheringCompletePromise(pc)
	if err := pc.SetLocalDescription(description); err != nil {
		return "", fmt.Errorf("%s: %w", description.Type, err)
	}
	<-gathered // at once: the only candidate is a socket that is open already
	return pc.LocalDescription().SDP, nil
}
