package accept

import (
	"errors"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/quota"
	"github.com/agentruntime/agentruntime/internal/must"
)

// failing is a listener that fails a number of times before it accepts.
type failing struct {
	net.Listener
	failures int
	closed   bool
}

func (f *failing) Addr() net.Addr { return &net.TCPAddr{} }
func (f *failing) Close() error   { f.closed = true; return nil }

func (f *failing) Accept() (net.Conn, error) {
	if f.closed {
		return nil, net.ErrClosed
	}
	if f.failures--; f.failures >= 0 {
		return nil, syscall.EMFILE
	}
	return nil, nil
}

func TestAcceptGoesOnAfterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ln := Listener(&failing{failures: 10}, slog.New(slog.NewTextHandler(&log, nil)))
		began := time.Now()
		must.Get(ln.Accept())(t)
		// 5 ms, doubled seven times, and then a second each.
		expect.Equal(t, time.Since(began), 1275*time.Millisecond+2*time.Second, "ten errors took")
		expect.Equal(t, strings.Count(log.String(), syscall.EMFILE.Error()), 10, "lines in the log")
	})
}

func TestCloseEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := Listener(&failing{failures: 1 << 30}, slog.New(slog.DiscardHandler))
		done := make(chan error)
		go func() {
			_, err := ln.Accept()
			done <- err
		}()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		began := time.Now()
		must.Do(t, ln.Close())
		if err := <-done; !errors.Is(err, net.ErrClosed) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// TestLimit: connections beyond it are closed, and count no more once they are.
func TestLimit(t *testing.T) {
	bare := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ln := Limit(bare, quota.Limit{Address: 2}, func(net.Conn) {})
	defer ln.Close()
	accepted := make(chan net.Conn)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c := must.Get(d.Dial("tcp", ln.Addr().String()))(t)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial("127.0.0.2")
	first := <-accepted
	dial("127.0.0.2")
	<-accepted
	third := dial("127.0.0.2")
	if n, err := third.Read(make([]byte, 1)); err == nil {
		t.Errorf("read %d bytes of a third connection", n)
	}
	dial("127.0.0.3")
	<-accepted
	_, _ = first.Close(), first.Close()
	dial("127.0.0.2")
	<-accepted
	expect.Equal(t, ln.(*limited).count.Total(), 3, "connections are counted")
}
