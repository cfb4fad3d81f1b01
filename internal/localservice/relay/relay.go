// Package relay is the local service's TURN server (RFC 8656, on pion/turn): it lets a page with iceTransportPolicy "relay" reach the
// media server over UDP or TCP (protocol §6.2, §6.3).
//
// It issues time-limited credentials ([Server.Credentials]) and relays only to the configured addresses, so that it is not an open proxy
// into the machine or its network. It owns its listeners, allocations and quotas; it is independent of sessions, of the payload, and of
// WebRTC.
package relay

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/accept"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/pion/logging"
	"github.com/pion/turn/v5"
)

const (
	// realm names the server in the authentication exchange; clients do not show it.
	realm = "agentruntime"
	// defaultAddr is a loopback port of the system's choice.
	defaultAddr = "127.0.0.1:0"
	// portTries is how many ports are tried to find one that is free for both UDP and TCP.
	portTries = 16
	// socketBuffer in bytes holds about 50 key frames, because one socket carries the media of all sessions.
	socketBuffer = 4 << 20
)

// Config is the configuration of a [Server]. Peers is required.
type Config struct {
	// Listen holds the addresses "host:port" to listen on, each with UDP and TCP. The default is one free port on 127.0.0.1; port 0 is
	// replaced by a port that is free for both.
	Listen []string
	// Peers are the only addresses that packets are relayed to and from: the media server's. The relayed addresses are on the same
	// host as the first of them.
	Peers []netip.AddrPort
	// StaticUser and StaticPassword, when both are set, are accepted for StaticLife after the start. They are for clients that have only
	// built-in credentials (protocol §6.2).
	StaticUser, StaticPassword string
	// StaticLife is how long the static credentials are accepted.
	StaticLife time.Duration
	// Allocations bounds how many allocations one login from one address, one address with all its logins, and all clients may hold at a
	// time; a page needs up to eight, four for each of its two peers. Conns bounds the TCP connections of each listener, see
	// [accept.Limit]. Zero is no limit.
	Allocations, Conns quota.Limit
	// Link, when set, impairs everything between the clients and the relay.
	Link *netem.Link
	// Logger gets the errors of listeners; nil discards.
	Logger *slog.Logger
}

// Credentials let one user allocate relayed addresses until Expiry. Field names are those of appInit's turnCredentials.
type Credentials struct {
	Username   string `json:"username"`
	Credential string `json:"credential"`
	// Expiry is in seconds since 1970.
	Expiry int64 `json:"expiry"`
}

// Server is a running TURN server. Its methods may be called concurrently.
type Server struct {
	turn   *turn.Server
	secret string
	addrs  []netip.AddrPort
	pool   *pool
	conns  group[net.Conn] // of all TCP listeners
}

// New starts a server.
func New(cfg Config) (*Server, error) {
	if len(cfg.Peers) == 0 {
		return nil, errors.New("relay: no peers to relay to")
	}
	if len(cfg.Listen) == 0 {
		cfg.Listen = []string{defaultAddr}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		secret: rand.Text(),
		pool:   newPool(cfg.Peers, cfg.Allocations),
	}
	// pion's loggers would write user names, which clients choose.
	quiet := &logging.DefaultLoggerFactory{DefaultLogLevel: logging.LogLevelDisabled}
	config := turn.ServerConfig{
		Realm:         realm,
		LoggerFactory: quiet,
		AuthHandler:   s.authenticator(cfg, quiet),
		QuotaHandler:  func(user, _ string, _ net.Addr) bool { return s.pool.held.Fits(clientOf(user), 1) },
	}
	if err := s.listen(cfg, &config); err != nil {
		closeAll(config)
		return nil, fmt.Errorf("relay: %w", err)
	}
	server, err := turn.NewServer(config)
	if err != nil {
		closeAll(config)
		return nil, fmt.Errorf("relay: %w", err)
	}
	s.turn = server
	return s, nil
}

// listen opens the sockets and puts them into config, also those opened before an error.
func (s *Server) listen(cfg Config, config *turn.ServerConfig) error {
	permit := func(_ net.Addr, peer net.IP) bool { return s.pool.permits(peer) }
	for _, addr := range cfg.Listen {
		packets, stream, err := listenBoth(addr)
		if err != nil {
			return err
		}
		s.addrs = append(s.addrs, stream.Addr().(*net.TCPAddr).AddrPort())
		config.PacketConnConfigs = append(config.PacketConnConfigs, turn.PacketConnConfig{
			PacketConn: netem.PacketConn(packets, cfg.Link), RelayAddressGenerator: s.pool, PermissionHandler: permit,
		})
		config.ListenerConfigs = append(config.ListenerConfigs, turn.ListenerConfig{
			Listener: &listener{netem.Listener(accept.Limit(accept.Listener(stream, cfg.Logger), cfg.Conns, func(net.Conn) {}), cfg.Link), &s.conns}, RelayAddressGenerator: s.pool, PermissionHandler: permit,
		})
	}
	return nil
}

// listenBoth listens on the same port with UDP and TCP.
func listenBoth(addr string) (*net.UDPConn, net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, fmt.Errorf("listen address: %w", err)
	}
	for tries := 1; ; tries++ {
		stream, err := net.Listen("tcp", addr)
		if err != nil {
			return nil, nil, err
		}
		chosen := strconv.Itoa(stream.Addr().(*net.TCPAddr).Port)
		packets, err := net.ListenPacket("udp", net.JoinHostPort(host, chosen))
		if err == nil {
			udp := packets.(*net.UDPConn)
			_ = udp.SetReadBuffer(socketBuffer) // as much as the system allows
			_ = udp.SetWriteBuffer(socketBuffer)
			return udp, stream, nil
		}
		_ = stream.Close()
		if port != "0" || tries == portTries {
			return nil, nil, err
		}
	}
}

func closeAll(config turn.ServerConfig) {
	for _, c := range config.PacketConnConfigs {
		_ = c.PacketConn.Close()
	}
	for _, c := range config.ListenerConfigs {
		_ = c.Listener.Close()
	}
}

// authenticator returns a handler that accepts the credentials issued by Credentials, and the static ones until they expire.
func (s *Server) authenticator(cfg Config, quiet logging.LoggerFactory) turn.AuthHandler {
	staticEnd := time.Now().Add(cfg.StaticLife)
	timeLimited := turn.LongTermTURNRESTAuthHandler(s.secret, quiet.NewLogger("auth"))
	return func(r *turn.RequestAttributes) (string, []byte, bool) {
		if cfg.StaticUser != "" && cfg.StaticPassword != "" && r.Username == cfg.StaticUser && time.Now().Before(staticEnd) {
			return userAt(r.SrcAddr, r.Username), turn.GenerateAuthKey(r.Username, r.Realm, cfg.StaticPassword), true
		}
		user, key, ok := timeLimited(r)
		return userAt(r.SrcAddr, user), key, ok
	}
}

// userAt is the id of a login that is used from an address: quotas count both.
func userAt(from net.Addr, user string) string {
	return quota.AddrOf(from.String()).String() + " " + user
}

// Credentials returns credentials for user that expire after ttl. They are made as by the TURN REST API: the user name is "expiry:user",
// the password an HMAC of it under a secret that is kept until the server ends.
func (s *Server) Credentials(user string, ttl time.Duration) (Credentials, error) {
	name, password, err := turn.GenerateLongTermTURNRESTCredentials(s.secret, user, ttl)
	if err != nil {
		return Credentials{}, fmt.Errorf("relay: credentials: %w", err)
	}
	return Credentials{Username: name, Credential: password, Expiry: time.Now().Add(ttl).Unix()}, nil
}

// Addrs returns the addresses the server listens on, each with UDP and TCP, in the order of Config.Listen.
func (s *Server) Addrs() []netip.AddrPort {
	return slices.Clone(s.addrs)
}

// Close ends all allocations and connections.
func (s *Server) Close() error {
	err := s.turn.Close()
	s.conns.close()
	s.pool.open.close()
	return err
}
