package relay

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice/netem"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/pion/logging"
	"github.com/pion/turn/v5"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience bounds waits for things that do happen; quiet is how long we listen for what must not.
const (
	patience = time.Minute
	quiet    = 200 * time.Millisecond
)

// echo is a peer that sends back what it gets.
func echo(t *testing.T) netip.AddrPort {
	t.Helper()
	c := must.Get(net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		buf := make([]byte, 2000)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	return c.LocalAddr().(*net.UDPAddr).AddrPort()
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s := must.Get(New(cfg))(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func credentials(t *testing.T, s *Server, ttl time.Duration) Credentials {
	t.Helper()
	return must.Get(s.Credentials("ann", ttl))(t)
}

// dial returns a TURN client of s over network, "udp" or "tcp".
func dial(t *testing.T, s *Server, network, user, password string) *turn.Client {
	t.Helper()
	addr := s.Addrs()[0].String()
	var conn net.PacketConn
	if network == "tcp" {
		conn = turn.NewSTUNConn(must.Get(net.Dial("tcp", addr))(t))
	} else {
		conn = must.Get(net.ListenPacket("udp4", "127.0.0.1:0"))(t)
	}
	client := must.Get(turn.NewClient(&turn.ClientConfig{
		STUNServerAddr: addr, TURNServerAddr: addr, Conn: conn, Username: user, Password: password,
		LoggerFactory: &logging.DefaultLoggerFactory{DefaultLogLevel: logging.LogLevelDisabled},
	}))(t)
	t.Cleanup(func() {
		client.Close()
		_ = conn.Close()
	})
	must.Do(t, client.Listen())
	return client
}

func allocate(t *testing.T, c *turn.Client) net.PacketConn {
	t.Helper()
	relayed := must.Get(c.Allocate())(t)
	t.Cleanup(func() { _ = relayed.Close() })
	return relayed
}

// roundTrip reports whether peer answers through the relay within wait.
func roundTrip(t *testing.T, relayed net.PacketConn, peer netip.AddrPort, wait time.Duration) bool {
	t.Helper()
	must.Get(relayed.WriteTo([]byte("hello"), net.UDPAddrFromAddrPort(peer)))(t)
	_ = relayed.SetReadDeadline(time.Now().Add(wait))
	buf := make([]byte, 100)
	n, from, err := relayed.ReadFrom(buf)
	if err != nil {
		return false
	}
	if got := string(buf[:n]); got != "hello" || from.String() != peer.String() {
		t.Errorf("got %q from %v, want hello from %v", got, from, peer)
	}
	return true
}

// TestRelaysToItsPeers shows that nothing is relayed while the link is cut, and that the relay works again afterwards.
func TestRelaysToItsPeers(t *testing.T) {
	for _, network := range []string{"udp", "tcp"} {
		t.Run(network, func(t *testing.T) {
			l := netem.New(netem.Conditions{})
			defer l.Close()
			peer := echo(t)
			s := start(t, Config{Peers: []netip.AddrPort{peer}, Link: l})
			cred := credentials(t, s, time.Minute)
			relayed := allocate(t, dial(t, s, network, cred.Username, cred.Credential))
			if ip := relayed.LocalAddr().(*net.UDPAddr).IP; !ip.IsLoopback() {
				t.Errorf("relayed address %v is not on loopback", ip)
			}
			for range 3 {
				if !roundTrip(t, relayed, peer, patience) {
					t.Fatal("no answer through the relay")
				}
			}
			l.Set(netem.Conditions{Cut: true})
			if roundTrip(t, relayed, peer, quiet) {
				t.Error("an answer came through a cut link")
			}
			l.Set(netem.Conditions{})
			if !roundTrip(t, relayed, peer, patience) {
				t.Error("no answer after the link was mended")
			}
		})
	}
}

func TestRelaysOnlyToItsPeers(t *testing.T) {
	peer, other := echo(t), echo(t)
	s := start(t, Config{Peers: []netip.AddrPort{peer}})
	cred := credentials(t, s, time.Minute)
	client := dial(t, s, "udp", cred.Username, cred.Credential)
	relayed := allocate(t, client)

	if err := client.CreatePermission(&net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 9}); err == nil {
		t.Error("permission for a foreign host was granted")
	}
	if roundTrip(t, relayed, other, quiet) {
		t.Error("a port that is no peer's answered through the relay")
	}

	// Nor may a stranger on the same host send in.
	stranger := must.Get(net.Dial("udp4", relayed.LocalAddr().String()))(t)
	defer stranger.Close()
	if !roundTrip(t, relayed, peer, patience) { // opens the permission for the host
		t.Fatal("no answer through the relay")
	}
	must.Get(stranger.Write([]byte("spam")))(t)
	_ = relayed.SetReadDeadline(time.Now().Add(quiet))
	if n, from, err := relayed.ReadFrom(make([]byte, 10)); err == nil {
		t.Errorf("%d bytes of %v were relayed", n, from)
	}
}

func TestCredentialsAreChecked(t *testing.T) {
	peer := echo(t)
	s := start(t, Config{Peers: []netip.AddrPort{peer}, StaticUser: "built-in", StaticPassword: "pair", StaticLife: time.Minute})
	good, expired := credentials(t, s, time.Minute), credentials(t, s, -2*time.Second)
	other := credentials(t, start(t, Config{Peers: []netip.AddrPort{peer}}), time.Minute)
	if !strings.HasSuffix(good.Username, ":ann") {
		t.Errorf("user name %q does not name the user", good.Username)
	}
	if ttl := time.Until(time.Unix(good.Expiry, 0)); ttl <= 0 || ttl > time.Minute {
		t.Errorf("expiry is %v away, want up to a minute", ttl)
	}
	for name, tc := range map[string]struct {
		user, password string
		ok             bool
	}{
		"good":                   {good.Username, good.Credential, true},
		"static":                 {"built-in", "pair", true},
		"expired":                {expired.Username, expired.Credential, false},
		"wrong password":         {good.Username, "x", false},
		"other server's":         {other.Username, other.Credential, false},
		"later expiry":           {"9" + good.Username, good.Credential, false},
		"not a time":             {"ann", good.Credential, false},
		"wrong static password":  {"built-in", "x", false},
		"empty static password":  {"built-in", "", false},
		"static name with colon": {"built-in:ann", "pair", false},
	} {
		t.Run(name, func(t *testing.T) {
			relayed, err := dial(t, s, "udp", tc.user, tc.password).Allocate()
			if err == nil {
				_ = relayed.Close()
			}
			if (err == nil) != tc.ok {
				t.Errorf("allocate: %v, want success %v", err, tc.ok)
			}
		})
	}
}

func TestQuotaIsPerUserAndFreedOnClose(t *testing.T) {
	s := start(t, Config{Peers: []netip.AddrPort{echo(t)}, Allocations: quota.Limit{Token: 2, Total: 3}})
	ann := credentials(t, s, time.Minute)
	bob := must.Get(s.Credentials("bob", time.Minute))(t)
	first := allocate(t, dial(t, s, "udp", ann.Username, ann.Credential))
	allocate(t, dial(t, s, "udp", ann.Username, ann.Credential))
	wantFull := func(c Credentials) {
		t.Helper()
		relayed, err := dial(t, s, "udp", c.Username, c.Credential).Allocate()
		if err == nil {
			_ = relayed.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "486") {
			t.Errorf("allocate over quota: %v, want error 486", err)
		}
	}
	wantFull(ann)
	allocate(t, dial(t, s, "udp", bob.Username, bob.Credential))
	wantFull(bob) // the quota of all users

	must.Do(t, first.Close())
	must.Wait(t, "the allocation is free", func() bool { return s.pool.held.Fits(clientOf("ann"), 1) })
	allocate(t, dial(t, s, "udp", ann.Username, ann.Credential))
}

func TestClosedTCPClientFreesItsAllocation(t *testing.T) {
	s := start(t, Config{Peers: []netip.AddrPort{echo(t)}, Allocations: quota.Limit{Total: 1}})
	cred := credentials(t, s, time.Minute)
	conn := must.Get(net.Dial("tcp", s.Addrs()[0].String()))(t)
	client := must.Get(turn.NewClient(&turn.ClientConfig{
		TURNServerAddr: s.Addrs()[0].String(), Conn: turn.NewSTUNConn(conn), Username: cred.Username, Password: cred.Credential,
	}))(t)
	defer client.Close()
	must.Do(t, client.Listen())
	relayed := must.Get(client.Allocate())(t)
	defer relayed.Close()
	if s.pool.held.Fits(clientOf("ann"), 1) {
		t.Fatal("the allocation was not counted")
	}
	_ = conn.Close()
	must.Wait(t, "the allocation is free", func() bool { return s.pool.held.Fits(clientOf("ann"), 1) })
}

// lines keeps the oldest line of a log that was not read.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}

// TestAProcessWithoutDescriptors accepts connections again once it has some.
func TestAProcessWithoutDescriptors(t *testing.T) {
	warnings := make(lines, 1)
	s := start(t, Config{Peers: []netip.AddrPort{echo(t)}, Logger: slog.New(slog.NewTextHandler(warnings, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	var limit syscall.Rlimit
	must.Do(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	next := must.Get(os.Open(os.DevNull))(t)
	last := limit
	last.Cur = uint64(next.Fd()) + 1
	must.Do(t, next.Close())
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &last))
	c, err := net.Dial("tcp", s.Addrs()[0].String()) // takes the last one
	var warning string
	select {
	case warning = <-warnings:
	case <-time.After(patience):
	}
	must.Do(t, errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)))
	defer c.Close()
	if !strings.Contains(warning, "connection not accepted") {
		t.Errorf("without descriptors the log has %q", warning)
	}
	must.Do(t, c.SetDeadline(time.Now().Add(patience)))
	must.Get(io.WriteString(c, "\x00\x01\x00\x00\x21\x12\xa4\x42abcdefghijkl"))(t) // a binding request
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Errorf("no reply: %v", err)
	}
}

func TestAddrsHaveTheChosenPorts(t *testing.T) {
	s := start(t, Config{Peers: []netip.AddrPort{echo(t)}, Listen: []string{"127.0.0.1:0", "127.0.0.1:0"}})
	if addrs := s.Addrs(); len(addrs) != 2 || addrs[0] == addrs[1] || addrs[0].Port() == 0 {
		t.Errorf("addresses %v, want two different ports", addrs)
	}
}

func TestNewRefusesABadConfiguration(t *testing.T) {
	peers := []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:9")}
	taken := start(t, Config{Peers: peers})
	for name, cfg := range map[string]Config{
		"no peers":     {},
		"no port":      {Peers: peers, Listen: []string{"127.0.0.1"}},
		"port in use":  {Peers: peers, Listen: []string{taken.Addrs()[0].String()}},
		"second fails": {Peers: peers, Listen: []string{"127.0.0.1:0", taken.Addrs()[0].String()}},
	} {
		if s, err := New(cfg); err == nil {
			_ = s.Close()
			t.Errorf("%s: no error", name)
		}
	}
}

// A length field near 65535 makes pion's own framing spin for ever; the connection must be closed instead.
func TestHostileTCPFramesEndTheConnection(t *testing.T) {
	s := start(t, Config{Peers: []netip.AddrPort{echo(t)}})
	cookie := "\x21\x12\xa4\x42"
	for name, frame := range map[string]string{
		"wrapping STUN length":    "\x00\x01\xff\xec" + cookie + strings.Repeat("x", 12),
		"wrapping channel length": "\x40\x00\xff\xfd" + strings.Repeat("x", 20),
		"no TURN message":         "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"larger than any packet":  "\x00\x01\x10\x00" + cookie + strings.Repeat("x", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			c := must.Get(net.Dial("tcp", s.Addrs()[0].String()))(t)
			defer c.Close()
			_, _ = io.WriteString(c, frame)                               // may fail late in the frame, when the server has closed already
			_ = c.SetReadDeadline(time.Now().Add(greeting - time.Second)) // before it would be closed anyway
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("read = %v, want the connection closed", err)
			}
		})
	}
}

func FuzzFrameReader(f *testing.F) {
	f.Add([]byte("\x00\x01\x00\x00\x21\x12\xa4\x42abcdefghijkl\x40\x00\x00\x03abc\x00"))
	f.Add([]byte("\x00\x01\xff\xec\x21\x12\xa4\x42abcdefghijkl"))
	f.Fuzz(func(t *testing.T, b []byte) {
		frames := frameReader{r: bufio.NewReader(bytes.NewReader(b))}
		buf := make([]byte, 1600)
		var total int
		for {
			n, err := frames.Read(buf)
			if err != nil {
				return
			}
			if n == 0 || !bytes.Equal(buf[:n], b[total:total+n]) {
				t.Fatalf("message of %d bytes at %d is not the stream's", n, total)
			}
			total += n
		}
	})
}

// TestQuotaOfAnAddress: however many logins a client uses, there is room left for a
// client at another address.
func TestQuotaOfAnAddress(t *testing.T) {
	p := newPool([]netip.AddrPort{echo(t)}, quota.Limit{Token: 2, Address: 3, Total: 4})
	add := func(user string) error {
		c, _, err := p.AllocatePacketConn(turn.AllocateListenerConfig{Network: "udp4", UserID: user})
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
		return err
	}
	for i, user := range []string{"10.0.0.1 a", "10.0.0.1 a", "10.0.0.1 b"} {
		expect.Equal(t, add(user), nil, "number %d", i)
	}
	if p.held.Fits(clientOf("10.0.0.1 c"), 1) || add("10.0.0.1 c") == nil {
		t.Error("a fourth login of the address was let in")
	}
	if !p.held.Fits(clientOf("10.0.0.2 c"), 1) || add("10.0.0.2 c") != nil {
		t.Error("another address was kept out")
	}
}

func TestStaticLoginExpires(t *testing.T) {
	s := start(t, Config{Peers: []netip.AddrPort{echo(t)}, StaticUser: "built-in", StaticPassword: "pair", StaticLife: time.Millisecond})
	time.Sleep(2 * time.Millisecond) // its life
	relayed, err := dial(t, s, "udp", "built-in", "pair").Allocate()
	if err == nil {
		_ = relayed.Close()
		t.Error("the static login outlived its life")
	}
}
