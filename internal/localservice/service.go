package localservice

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/accept"
	"github.com/agentruntime/agentruntime/internal/localservice/api"
	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/controlapi"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/localservice/endpoint"
	"github.com/agentruntime/agentruntime/internal/localservice/lifecycle"
	"github.com/agentruntime/agentruntime/internal/localservice/live"
	"github.com/agentruntime/agentruntime/internal/localservice/media"
	"github.com/agentruntime/agentruntime/internal/localservice/metrics"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/localservice/recognizer"
	"github.com/agentruntime/agentruntime/internal/localservice/relay"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/token"
	"github.com/agentruntime/agentruntime/internal/localservice/toolrun"
	"github.com/agentruntime/agentruntime/internal/localservice/voice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/pageserver"
)

const (
	// fallbackUser and fallbackPassword are the relay login of clients without
	// credentials (protocol §6.2). It is public, and the relay forwards to our own
	// media only.
	fallbackUser     = "kaltura"
	fallbackPassword = "avatar"
	// elementPath is where the pages have the script that defines agent-avatar.
	elementPath = "/js/dist/element.js"
	// infoPath is where a page finds the addresses and agents, without secrets.
	infoPath = "/service.json"
)

// Service is a running local service.
type Service struct {
	info  Info
	log   *slog.Logger
	store *store.Store
	hub   *live.Hub
	relay *relay.Server
	// scripted, journal, links and told are what the methods in steering.go change and read.
	scripted *brain.Scripted
	journal  *brain.Journal
	links    map[string]*netem.Link
	told     recognizer.Script
	// relayLogin is how long a login to the relay is accepted.
	relayLogin time.Duration

	// closers stop the parts. They are in the order in which the parts were started and
	// run in reverse.
	closers []func() error
	once    sync.Once
	err     error
}

// Start starts a service; it listens when Start returns. ctx applies to the start only.
// Close ends the service.
func Start(ctx context.Context, o Options) (*Service, error) {
	o.setDefaults()
	if err := o.checkAddresses(); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	s := &Service{log: o.Logger}
	if err := s.start(ctx, &o); err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), s.Close())
	}
	return s, nil
}

// Info returns the addresses, credentials and agents of the service.
func (s *Service) Info() Info { return s.info }

// Sessions describes the live sessions, oldest first.
func (s *Service) Sessions(ctx context.Context) []live.Info { return s.hub.Sessions(ctx) }

// Close ends the service and returns when all of its goroutines have ended.
func (s *Service) Close() error {
	s.once.Do(func() {
		var errs []error
		for i := len(s.closers) - 1; i >= 0; i-- {
			errs = append(errs, s.closers[i]())
		}
		s.err = errors.Join(errs...)
	})
	return s.err
}

func (s *Service) onClose(f func() error) { s.closers = append(s.closers, f) }

func (s *Service) start(ctx context.Context, o *Options) (err error) {
	measured := metrics.New()
	if s.store, err = store.OpenWithin(o.Data, cmp.Or(o.MaxData, DefaultMaxData), measured.Statement); err != nil {
		return err
	}
	s.onClose(s.store.Close)
	if err := s.setAccounts(ctx); err != nil {
		return err
	}
	tokens := token.NewAuthority(s.store)
	if o.SharedWidgetTokens {
		tokens.ShareWidgets()
	}
	endpoints := endpoint.NewClient()
	s.onClose(func() error { endpoints.CloseIdleConnections(); return nil })
	scripted, model, err := s.newBrain(ctx, o, endpoints)
	if err != nil {
		return err
	}
	journal := &brain.Journal{Brain: scripted}
	s.scripted, s.journal = scripted, journal
	s.background((&lifecycle.Engine{Store: s.store, Model: model, Logger: s.log}).Run)
	tools := toolrun.New(o.ToolHosts, s.log)
	s.onClose(tools.Close)
	work := &quota.Pace{Limit: o.Quotas.Work}
	talk := dialogue.New(dialogue.Config{
		Store: s.store, Brain: journal, Tools: tools, Users: o.Users, Logger: s.log,
		Site:    func() string { return s.info.GenieURL }, // known once something listens
		Threads: o.Quotas.Threads, Turns: o.Quotas.Turns, Work: work, Observe: measured.Turn,
	})
	speaker, err := voice.Open(voice.Config{Kind: o.Voice, Endpoint: o.Speech, HTTP: endpoints, Log: s.log})
	if err != nil {
		return err
	}

	links := map[string]*netem.Link{"sockets": netem.New(o.Sockets), "http": netem.New(o.HTTP), "relay": netem.New(o.Relay)}
	s.links = links
	for _, l := range links {
		s.onClose(func() error { l.Close(); return nil })
	}
	peers, err := media.New(media.Config{
		Addr: o.MediaAddr, Peers: o.Quotas.Peers, Offers: o.Quotas.Offers, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.onClose(func() error { peers.Close(); return nil })
	relayed := relay.Config{
		Listen: o.TURNListen, Peers: []netip.AddrPort{peers.Addr()}, Link: links["relay"], Logger: s.log,
		Allocations: o.Quotas.Relay, Conns: o.Quotas.RelayConns, StaticLife: o.RelayLogin,
	}
	if !o.AllowPublic { // the login is public
		relayed.StaticUser, relayed.StaticPassword = fallbackUser, fallbackPassword
	}
	s.relayLogin = o.RelayLogin
	s.relay, err = relay.New(relayed)
	if err != nil {
		return err
	}
	s.onClose(s.relay.Close)

	listener, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return err
	}
	scheme, secure := "http", (*tls.Config)(nil)
	if o.Certificate != nil {
		scheme, secure = "https", &tls.Config{Certificates: []tls.Certificate{*o.Certificate}}
		s.info.CertificateHash = CertificateHash(o.Certificate)
	}
	base := cmp.Or(o.PublicURL, origin(scheme, listener))
	s.info.setBases(base)
	s.info.TURNServerURL = s.turnServer(base)
	if o.Pages != nil {
		s.info.Page = base + o.Page
	}

	factory := &mediaFactory{peers: peers, base: base, transcriber: transcribers(scripted.Script, o, endpoints), told: &s.told, log: s.log}
	s.hub = live.NewHub(live.Config{
		Dialogue: talk, Threads: s.store, Tokens: tokens, Voice: speaker, Media: factory,
		MediaURL: base, Calls: o.Quotas.Calls, Sockets: o.Quotas.Sockets, Work: work, SocketBytes: o.Quotas.SocketBytes, Timing: o.Timing, Logger: s.log,
	})
	tokens.OnEnd(s.hub.TokenEnded)
	sockets := socketio.NewServer(socketio.ServerOptions{
		Recovery:  recovery(o.Recovery),
		Authorize: s.hub.Authorize, Reserve: s.hub.Reserve, PacketRate: live.PacketRate,
		Serve: func(ctx context.Context, c *socketio.Session) { s.hub.Serve(ctx, c) },
	})
	routes := http.NewServeMux()
	routes.Handle(live.SocketPath, sockets)
	routes.Handle(media.Prefix, peers.Handler())
	elements := ""
	if o.Pages != nil {
		elements = base + elementPath
	}
	calls := api.New(api.Config{Stage: factory.openStage, ElementURL: elements, Model: model, Store: s.store, Tokens: tokens, Dialogue: talk, Hosts: s.hosts, Site: func() string { return s.info.GenieURL }, Live: s.hub, Work: work, Bodies: newBodies(&o.Quotas), Users: o.Users, Knowledge: o.Knowledge, PrivateNetwork: o.AllowPrivateNetwork, Logger: s.log, Observe: measured.Request})
	for _, prefix := range apiPrefixes {
		routes.Handle(prefix, calls)
	}
	if o.Pages != nil {
		routes.Handle("GET /{$}", http.RedirectHandler(o.Page, http.StatusFound))
		routes.Handle("/", &pageserver.Files{FS: o.Pages.FS, Paths: o.Pages.Paths, Policy: contentPolicy(base)})
	}
	routes.HandleFunc("GET "+infoPath, s.serveInfo)
	control, err := s.startControl(o.Limits, controlapi.Config{
		Hub: s.hub, Sockets: sockets, Media: peers, Links: links, Journal: journal, Store: s.store, Script: scripted, Logger: s.log,
		Metrics: s.observed(measured, peers),
	})
	if err != nil {
		return errors.Join(err, listener.Close()) // no server closes it
	}
	if o.PageControl {
		routes.Handle(controlPath+"/", s.pageControl(control))
	}
	s.serve(o.Limits, netem.Listener(o.Limits.Listen(listener), links["http"]), secure, onLinks(newGate(o).wrap(routes), links["sockets"], links["http"]))
	s.onClose(sockets.Close) // before the HTTP server, which would not wait for its sockets

	if o.IdleThread >= 0 {
		s.background(func(ctx context.Context) { s.completeIdle(ctx, o.IdleThread) })
	}
	return nil
}

// apiPrefixes are the beginnings of the API's paths (service.md).
var apiPrefixes = []string{
	api.SessionPrefix + "/", "/v1/", "/assistant/", "/thread/", "/message/", "/feedback/", "/followup/", "/mcp/", "/partner-config/",
	brain.DocumentPrefix, dialogue.ConsentPath, api.AssetPrefix,
}

// background runs f until Close, which waits for its end before it ends what it works with.
func (s *Service) background(f func(ctx context.Context)) {
	ctx, stop := context.WithCancel(context.Background())
	var task sync.WaitGroup
	task.Go(func() { f(ctx) })
	s.onClose(func() error { stop(); task.Wait(); return nil })
}

// completeIdle completes idle threads until ctx ends: a page that crashed can't report that
// its conversation is over (protocol §8.9).
func (s *Service) completeIdle(ctx context.Context, after time.Duration) {
	look := time.NewTicker(max(after/10, time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
		var live []string
		for _, info := range s.hub.Sessions(ctx) {
			live = append(live, info.ThreadID)
		}
		ids, err := s.store.CompleteIdle(ctx, time.Now().Add(-after), live)
		if err != nil && ctx.Err() == nil {
			s.log.Error("idle threads were not completed", "err", err)
		}
		for _, id := range ids {
			s.log.Info("session completed", "thread", store.ThreadLabel(id), "reason", "idle")
		}
	}
}

// startControl opens the control address, a port of its own that is on loopback whatever
// the other addresses are, and returns its handler.
func (s *Service) startControl(l pageserver.Limits, c controlapi.Config) (http.Handler, error) {
	listener, err := net.Listen("tcp", defaultAddr)
	if err != nil {
		return nil, err
	}
	s.info.ControlURL, s.info.ControlToken = origin("http", listener), rand.Text()
	c.Token = s.info.ControlToken
	s.serve(l, l.Listen(listener), nil, loopback.wrap(controlapi.New(c)))
	c.Metrics = nil // a profile takes seconds of the processor: not for any page that can send a GET
	return controlapi.New(c), nil
}

// observed adds what is read from the parts to the metrics, and returns their handler.
func (s *Service) observed(m *metrics.Metrics, peers *media.Server) http.Handler {
	m.Gauge("localservice_sessions", "Live sessions, also those whose socket may come back.", func() float64 {
		now, _ := s.hub.Counts()
		return float64(now)
	})
	m.Counter("localservice_sessions_total", "Live sessions since the start.", nil, func() float64 {
		_, all := s.hub.Counts()
		return float64(all)
	})
	const name, help = "localservice_media_bytes_total", "Bytes of picture and sound, without headers."
	for _, of := range []struct {
		direction, kind string
		read            func(sentVideo, sentAudio, receivedAudio int64) int64
	}{
		{"sent", "video", func(n, _, _ int64) int64 { return n }},
		{"sent", "audio", func(_, n, _ int64) int64 { return n }},
		{"received", "audio", func(_, _, n int64) int64 { return n }},
	} {
		m.Counter(name, help, map[string]string{"direction": of.direction, "kind": of.kind}, func() float64 { return float64(of.read(peers.Bytes())) })
	}
	return m.Handler()
}

// controlPath is the path of the control API for the service's own pages, with
// PageControl.
const controlPath = "/control"

// pageControl serves the control API to the service's own pages and adds the token, which
// they don't have. It refuses pages of other origins, because [gate] accepts any page on
// loopback.
func (s *Service) pageControl(control http.Handler) http.Handler {
	s.info.pageControl = controlPath
	return http.NewCrossOriginProtection().Handler(http.StripPrefix(controlPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+s.info.ControlToken)
		control.ServeHTTP(w, r)
	})))
}

// connection is the key of a request's connection in its context.
type connection struct{}

// onLinks puts the connections of control sockets on one link and all others on
// another, so that a test can break one of them alone.
func onLinks(next http.Handler, sockets, rest *netem.Link) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		link := rest
		if r.URL.Path == live.SocketPath {
			link = sockets
		}
		c := r.Context().Value(connection{}).(net.Conn)
		if encrypted, ok := c.(*tls.Conn); ok {
			c = encrypted.NetConn()
		}
		netem.Redirect(c, link)
		next.ServeHTTP(w, r)
	})
}

// serve runs an HTTP server until Close, with TLS if secure is not nil.
func (s *Service) serve(l pageserver.Limits, ln net.Listener, secure *tls.Config, h http.Handler) {
	server := l.Server(h)
	server.TLSConfig = secure
	server.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelDebug)
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) }
	s.background(func(ctx context.Context) {
		if err := accept.Serve(ctx, server, accept.Listener(ln, s.log), pageserver.Grace); err != nil {
			s.log.Error("http server ended", "err", err)
		}
	})
}

// recovery converts an option to that of the socket server, where 0 means no recovery.
func recovery(d time.Duration) time.Duration {
	if d < 0 {
		return 0
	}
	return cmp.Or(d, socketio.DefaultRecovery)
}

// hosts are the addresses in the reply of appInit, with fresh credentials for the
// relay.
func (s *Service) hosts() (api.Hosts, error) {
	c, err := s.relay.Credentials(rand.Text(), s.relayLogin)
	hosts := s.info.Hosts
	hosts.TURNCredentials = &c
	return hosts, err
}

// serveInfo serves the information for pages, with the current agents. Pages of all origins
// that may use the service may read it, such as those of a development server; the gate
// has refused others.
func (s *Service) serveInfo(w http.ResponseWriter, r *http.Request) {
	page := s.info.pageInfo()
	var err error
	if page.Agents, err = s.agents(r.Context()); err != nil {
		s.log.Error("the agents can't be listed", "err", err)
		http.Error(w, "the agents can't be listed", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Origin")
	if from := r.Header.Get("Origin"); from != "" {
		w.Header().Set("Access-Control-Allow-Origin", from)
	}
	_ = json.NewEncoder(w).Encode(page) // fails only when the client is gone
}
