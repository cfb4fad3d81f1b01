package relay

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/pion/turn/v5"
)

var (
	_ turn.RelayAddressGenerator = (*pool)(nil)

	errQuota  = errors.New("relay: allocation quota reached")
	errNotUDP = errors.New("relay: only UDP is relayed")
)

// pool allocates the relayed addresses and counts them.
type pool struct {
	host  string
	peers map[netip.AddrPort]bool

	held quota.Count
	open group[*relayed]
}

func newPool(peers []netip.AddrPort, limit quota.Limit) *pool {
	p := &pool{held: quota.Count{Limit: limit}, peers: map[netip.AddrPort]bool{}}
	for _, peer := range peers {
		p.peers[netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port())] = true
	}
	p.host = peers[0].Addr().Unmap().String()
	return p
}

// permits is the check that TURN defines for permissions, by host only; relayed checks the port too.
func (p *pool) permits(host net.IP) bool {
	addr, ok := netip.AddrFromSlice(host)
	for peer := range p.peers {
		if ok && peer.Addr() == addr.Unmap() {
			return true
		}
	}
	return false
}

// clientOf returns the client of a user id made by userAt. The whole id is its token: a login
// that is used from several addresses counts for each of them alone.
func clientOf(user string) quota.Client {
	address, _, _ := strings.Cut(user, " ")
	addr, _ := netip.ParseAddr(address) // without an address only the login counts
	return quota.Client{Token: user, Addr: addr}
}

// Validate implements turn.RelayAddressGenerator. New has checked what there is to check.
func (*pool) Validate() error { return nil }

// AllocatePacketConn implements turn.RelayAddressGenerator.
func (p *pool) AllocatePacketConn(cfg turn.AllocateListenerConfig) (net.PacketConn, net.Addr, error) {
	c, err := net.ListenPacket(cfg.Network, net.JoinHostPort(p.host, strconv.Itoa(cfg.RequestedPort)))
	if err != nil {
		return nil, nil, err
	}
	r := &relayed{UDPConn: c.(*net.UDPConn), pool: p, user: cfg.UserID}
	if !p.add(r) {
		_ = c.Close()
		return nil, nil, errQuota
	}
	return r, c.LocalAddr(), nil
}

// AllocateListener implements turn.RelayAddressGenerator; allocations for TCP peers (RFC 6062) are refused.
func (p *pool) AllocateListener(turn.AllocateListenerConfig) (net.Listener, net.Addr, error) {
	return nil, nil, errNotUDP
}

// AllocateConn implements turn.RelayAddressGenerator.
func (p *pool) AllocateConn(turn.AllocateConnConfig) (net.Conn, error) {
	return nil, errNotUDP
}

// add adds r if the quotas have room for it, and reports whether they had. The server's QuotaHandler is called before, but several
// clients may allocate at the same moment.
func (p *pool) add(r *relayed) bool {
	if !p.held.Take(clientOf(r.user), 1) {
		return false
	}
	if !p.open.add(r) {
		p.held.Free(clientOf(r.user), 1)
		return false
	}
	return true
}

// relayed is one relayed address. Packets to and from other addresses than the peers are dropped.
type relayed struct {
	*net.UDPConn
	pool *pool
	user string
}

func (r *relayed) WriteTo(b []byte, to net.Addr) (int, error) {
	if addr, ok := to.(*net.UDPAddr); !ok || !r.pool.peers[unmap(addr.AddrPort())] {
		return len(b), nil
	}
	return r.UDPConn.WriteTo(b, to)
}

func (r *relayed) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := r.ReadFromUDPAddrPort(b)
		if err != nil {
			return 0, nil, err
		}
		if from = unmap(from); r.pool.peers[from] {
			return n, net.UDPAddrFromAddrPort(from), nil
		}
	}
}

func (r *relayed) Close() error {
	if r.pool.open.remove(r) {
		r.pool.held.Free(clientOf(r.user), 1)
	}
	return r.UDPConn.Close()
}

func unmap(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
