package netem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// pair returns the near end of a pipe behind l, and its far end.
func pair(t *testing.T, l *Link) (near, far net.Conn) {
	t.Helper()
	inner, far := net.Pipe()
	near = Conn(inner, l)
	t.Cleanup(func() {
		_ = near.Close()
		_ = far.Close()
		l.Close()
	})
	return near, far
}

// overLink runs f in virtual time with a pipe whose near end is behind a link.
func overLink(t *testing.T, c Conditions, f func(t *testing.T, l *Link, near, far net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := New(c)
		near, far := pair(t, l)
		f(t, l, near, far)
	})
}

// readAll reads exactly n bytes and returns them with the time that took.
func readAll(t *testing.T, r io.Reader, n int) (string, time.Duration) {
	t.Helper()
	start := time.Now()
	buf := make([]byte, n)
	if _, err := io.ReadFull(r, buf); err != nil {
		t.Fatalf("read %d bytes: %v", n, err)
	}
	return string(buf), time.Since(start)
}

func write(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if n, err := io.WriteString(w, s); n != len(s) || err != nil {
		t.Fatalf("write %q = %d, %v", s, n, err)
	}
}

func TestBandwidthClocksStreamsOut(t *testing.T) {
	overLink(t, Conditions{Bandwidth: 1_000_000}, func(t *testing.T, _ *Link, near, far net.Conn) {
		write(t, near, strings.Repeat("x", 125_000))
		_, took := readAll(t, far, 125_000)
		expect.Equal(t, took.Round(time.Millisecond), time.Second, "a megabit over 1 Mbit/s took %v", took)
	})
}

func TestJitterKeepsOrder(t *testing.T) {
	overLink(t, Conditions{Delay: 10 * time.Millisecond, Jitter: 50 * time.Millisecond}, func(t *testing.T, _ *Link, near, far net.Conn) {
		var want strings.Builder
		for i := range 200 {
			s := fmt.Sprintf("%03d", i)
			want.WriteString(s)
			write(t, near, s)
		}
		got, took := readAll(t, far, want.Len())
		expect.Equal(t, got, want.String(), "bytes overtook each other")
		if took < 10*time.Millisecond || took > 60*time.Millisecond {
			t.Errorf("took %v, want 10ms to 60ms", took)
		}
	})
}

func TestConditionsReachOpenConnections(t *testing.T) {
	overLink(t, Conditions{}, func(t *testing.T, l *Link, near, far net.Conn) {
		go func() { _, _ = io.WriteString(far, "a") }()
		if _, took := readAll(t, near, 1); took != 0 {
			t.Errorf("perfect link took %v", took)
		}

		arrived := make(chan time.Duration, 1)
		go func() {
			_, took := readAll(t, near, 1)
			arrived <- took
		}()
		synctest.Wait() // the reader waits on a link that is still perfect
		l.Set(Conditions{Delay: time.Second})
		write(t, far, "b")
		expect.Equal(t, <-arrived, time.Second, "took after the delay was set")

		l.Set(Conditions{})
		go func() { _, _ = io.WriteString(far, "c") }()
		if _, took := readAll(t, near, 1); took != 0 {
			t.Errorf("took %v after the delay was lifted", took)
		}
	})
}

func TestCutStreamAcceptsABoundedAmount(t *testing.T) {
	overLink(t, Conditions{Cut: true}, func(t *testing.T, _ *Link, near, _ net.Conn) {
		must.Do(t, near.SetWriteDeadline(time.Now().Add(time.Minute)))
		n, err := near.Write(make([]byte, 3*queueLimit))
		if n != queueLimit || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write = %d, %v; want %d, deadline exceeded", n, err, queueLimit)
		}
	})
}

func TestReadDeadlineInterruptsAndIsLifted(t *testing.T) {
	for name, c := range map[string]Conditions{"perfect": {}, "delayed": {Delay: time.Second}} {
		t.Run(name, func(t *testing.T) {
			overLink(t, c, func(t *testing.T, _ *Link, near, far net.Conn) {
				must.Do(t, near.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
				start := time.Now()
				_, err := near.Read(make([]byte, 1))
				if took := time.Since(start); !errors.Is(err, os.ErrDeadlineExceeded) || took != 300*time.Millisecond {
					t.Fatalf("read = %v after %v, want deadline exceeded after 300ms", err, took)
				}
				must.Do(t, near.SetReadDeadline(time.Time{}))
				go func() { _, _ = io.WriteString(far, "x") }()
				if _, took := readAll(t, near, 1); took != c.Delay {
					t.Errorf("read after lifting the deadline took %v, want %v", took, c.Delay)
				}
			})
		})
	}
}

func TestCloseDeliversWhatIsUnderWay(t *testing.T) {
	overLink(t, Conditions{Delay: 200 * time.Millisecond}, func(t *testing.T, _ *Link, near, far net.Conn) {
		write(t, near, "last words")
		must.Do(t, near.Close())
		expect.Fail(near.Write([]byte("x")))(t, net.ErrClosed, "write after close")
		start := time.Now()
		got, err := io.ReadAll(far)
		if string(got) != "last words" || err != nil || time.Since(start) != 200*time.Millisecond {
			t.Errorf("far end read %q, %v after %v", got, err, time.Since(start))
		}
	})
}

func TestClosedStreamDoesNotWaitForAPeerThatStopsReading(t *testing.T) {
	overLink(t, Conditions{Delay: 200 * time.Millisecond}, func(t *testing.T, _ *Link, near, far net.Conn) {
		write(t, near, "unread")
		_ = near.Close()
		time.Sleep(200*time.Millisecond + linger)
		synctest.Wait()
		if _, err := far.Read(make([]byte, 10)); err != io.EOF {
			t.Errorf("far end read %v after the linger time, want EOF", err)
		}
	})
}

func TestCloseEndsABlockedRead(t *testing.T) {
	for name, prepare := range map[string]func(net.Conn, *Link){
		"direct":        func(net.Conn, *Link) {},
		"writing delay": func(c net.Conn, l *Link) { l.Set(Conditions{Delay: 1}); _, _ = c.Write([]byte("x")) },
	} {
		t.Run(name, func(t *testing.T) {
			overLink(t, Conditions{}, func(t *testing.T, l *Link, near, _ net.Conn) {
				failed := make(chan error, 1)
				go func() {
					_, err := near.Read(make([]byte, 1))
					failed <- err
				}()
				synctest.Wait()
				prepare(near, l)
				_ = near.Close()
				if err := <-failed; !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("blocked read = %v, want closed", err)
				}
			})
		})
	}
}

// TestTheEndOfSendingLeavesReceivingOpen: net/http ends its sending when it has refused an upload, and reads on meanwhile.
func TestTheEndOfSendingLeavesReceivingOpen(t *testing.T) {
	l := New(Conditions{Delay: time.Millisecond})
	defer l.Close()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	far := must.Get(net.Dial("tcp", listener.Addr().String()))(t)
	defer far.Close()
	near := Conn(must.Get(listener.Accept())(t), l)
	defer near.Close()
	write(t, near, "refused")
	must.Do(t, near.(interface{ CloseWrite() error }).CloseWrite())
	if got, err := io.ReadAll(far); string(got) != "refused" || err != nil {
		t.Errorf("far end read %q, %v", got, err)
	}
	write(t, far, "the rest")
	if got, _ := readAll(t, near, 8); got != "the rest" {
		t.Errorf("near end read %q", got)
	}
}

func TestLinkCloseDoesNotWaitForOpenConnections(t *testing.T) {
	overLink(t, Conditions{Delay: time.Millisecond}, func(t *testing.T, l *Link, near, _ net.Conn) {
		write(t, near, "unread") // its delivery blocks on a peer that doesn't read
		failed := make(chan error, 1)
		go func() {
			_, err := near.Read(make([]byte, 1))
			failed <- err
		}()
		time.Sleep(time.Second)
		start := time.Now()
		l.Close()
		if err := <-failed; err == nil || time.Since(start) != 0 {
			t.Errorf("blocked read = %v after %v, want an error at once", err, time.Since(start))
		}
	})
}

// wire is a datagram socket in memory.
type wire struct {
	net.PacketConn
	queue chan []byte // what was written to it
	read  chan []byte // what can be read from it
	done  chan struct{}
	once  sync.Once
}

func (w *wire) WriteTo(p []byte, _ net.Addr) (int, error) {
	w.queue <- bytes.Clone(p)
	return len(p), nil
}

func (w *wire) ReadFrom(p []byte) (int, net.Addr, error) {
	select {
	case b := <-w.read:
		return copy(p, b), &net.UDPAddr{Port: 7}, nil
	case <-w.done:
		return 0, nil, net.ErrClosed
	}
}

func (w *wire) Close() error                    { w.once.Do(func() { close(w.done) }); return nil }
func (w *wire) SetReadDeadline(time.Time) error { return nil }

func newWire() *wire { return &wire{queue: make(chan []byte, 100_000), done: make(chan struct{})} }

// newLoop returns a socket from which everything that is written to it can be read.
func newLoop() *wire {
	w := newWire()
	w.read = w.queue
	return w
}

// socketOver runs f in virtual time with a socket behind a link.
func socketOver(t *testing.T, c Conditions, f func(t *testing.T, l *Link, w *wire, c net.PacketConn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, w := New(c), newWire()
		defer l.Close()
		conn := PacketConn(w, l)
		defer conn.Close()
		f(t, l, w, conn)
	})
}

func TestPacketsAreDelayedBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Conditions{Delay: 30 * time.Millisecond})
		defer l.Close()
		c := PacketConn(newLoop(), l)
		defer c.Close()
		start := time.Now()
		if n, err := c.WriteTo([]byte("ping"), &net.UDPAddr{Port: 7}); n != 4 || err != nil {
			t.Fatal(n, err)
		}
		buf := make([]byte, 10)
		n, addr, err := c.ReadFrom(buf)
		if string(buf[:n]) != "ping" || err != nil || addr.String() != ":7" {
			t.Errorf("read %q from %v, %v", buf[:n], addr, err)
		}
		expect.Equal(t, time.Since(start), 60*time.Millisecond, "out and back took")
	})
}

func TestLossTakesItsShareOfPackets(t *testing.T) {
	socketOver(t, Conditions{Loss: 0.25}, func(t *testing.T, _ *Link, w *wire, c net.PacketConn) {
		const sent = 10_000
		for range sent {
			_, _ = c.WriteTo([]byte("x"), nil)
		}
		synctest.Wait()
		// Seven standard deviations of a fair draw are 303 packets.
		if got := len(w.queue); got < 7500-303 || got > 7500+303 {
			t.Errorf("%d of %d packets arrived, want about 7500", got, sent)
		}
	})
}

func TestPacketQueueOverflowsInsteadOfGrowing(t *testing.T) {
	socketOver(t, Conditions{Bandwidth: 1_000_000}, func(t *testing.T, _ *Link, w *wire, c net.PacketConn) {
		for range 1000 { // 10 s worth of packets at once
			_, _ = c.WriteTo(make([]byte, 1250), nil)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if got := len(w.queue); got < 50 || got > 52 {
			t.Errorf("%d packets of 10 ms passed a queue of %v", got, maxQueueing)
		}
	})
}

func TestCutLosesPacketsForGood(t *testing.T) {
	socketOver(t, Conditions{Delay: time.Second}, func(t *testing.T, l *Link, w *wire, c net.PacketConn) {
		_, _ = c.WriteTo([]byte("under way"), nil)
		synctest.Wait()
		l.Set(Conditions{Cut: true})
		_, _ = c.WriteTo([]byte("during"), nil)
		synctest.Wait()
		l.Set(Conditions{})
		_, _ = c.WriteTo([]byte("after"), nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := len(w.queue); got != 1 {
			t.Fatalf("%d packets arrived, want only the last", got)
		}
		expect.Equal(t, string(<-w.queue), "after", "arrived")
	})
}

func TestPacketsKeepTheirOrderWhenTheLinkBecomesPerfect(t *testing.T) {
	socketOver(t, Conditions{Delay: time.Second}, func(t *testing.T, l *Link, w *wire, c net.PacketConn) {
		_, _ = c.WriteTo([]byte("delayed"), nil)
		l.Set(Conditions{})
		_, _ = c.WriteTo([]byte("undelayed"), nil)
		if first, second := string(<-w.queue), string(<-w.queue); first != "delayed" || second != "undelayed" {
			t.Errorf("arrived: %q, %q; want the order in which they were sent", first, second)
		}
	})
}

// slowWire is a wire whose first write takes a second.
type slowWire struct {
	*wire
	began atomic.Bool
}

func (w *slowWire) WriteTo(p []byte, addr net.Addr) (int, error) {
	if !w.began.Swap(true) {
		time.Sleep(time.Second)
	}
	return w.wire.WriteTo(p, addr)
}

func TestPacketWaitsForTheOneThatIsBeingSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, w := New(Conditions{Delay: time.Second}), newWire()
		defer l.Close()
		c := PacketConn(&slowWire{wire: w}, l)
		defer c.Close()
		_, _ = c.WriteTo([]byte("delayed"), nil)
		l.Set(Conditions{})
		time.Sleep(1500 * time.Millisecond) // the queue is empty, and its packet is being written
		_, _ = c.WriteTo([]byte("undelayed"), nil)
		if first, second := string(<-w.queue), string(<-w.queue); first != "delayed" || second != "undelayed" {
			t.Errorf("arrived: %q, %q; want the order in which they were sent", first, second)
		}
	})
}

func TestRedirectedConnectionFollowsItsNewLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := New(Conditions{Cut: true}), New(Conditions{Delay: 80 * time.Millisecond})
		defer second.Close()
		near, far := pair(t, first)
		write(t, near, "waits for the cut")
		time.Sleep(time.Second)
		Redirect(near, second)
		if got, took := readAll(t, far, 17); got != "waits for the cut" || took != 0 {
			t.Errorf("read %q after %v, want it at once: it has travelled", got, took)
		}
		write(t, near, "down")
		if got, took := readAll(t, far, 4); got != "down" || took != 80*time.Millisecond {
			t.Errorf("read %q after %v, want the delay of the new link", got, took)
		}
		second.Set(Conditions{Cut: true})
		first.Set(Conditions{})
		write(t, near, "cut")
		_ = far.SetReadDeadline(time.Now().Add(time.Second))
		if n, err := far.Read(make([]byte, 3)); n > 0 || err == nil {
			t.Errorf("read %d bytes, %v through a cut link", n, err)
		}
	})
}
