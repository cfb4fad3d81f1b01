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
		if _, err := ln.Accept(); err != nil {
			t.Fatal(err)
		}
		// 5 ms, doubled seven times, and then a second each.
		if want := 1275*time.Millisecond + 2*time.Second; time.Since(began) != want {
			t.Errorf("ten errors took %v, want %v", time.Since(began), want)
		}
		if n := strings.Count(log.String(), syscall.EMFILE.Error()); n != 10 {
			t.Errorf("%d lines in the log, want 10", n)
		}
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
		if err := ln.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, net.ErrClosed) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
