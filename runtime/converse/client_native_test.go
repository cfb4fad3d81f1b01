//go:build !js

package converse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// served returns a client of a real server.
func served(t *testing.T, handle http.HandlerFunc) Client {
	t.Helper()
	server := httptest.NewServer(handle)
	client := fetch.New()
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return Client{HTTPClient: fetch.As(client), URL: server.URL, Token: token}
}

// talk writes segments until the client is gone, and then says so.
func talk(w http.ResponseWriter, r *http.Request, line string, gone chan<- struct{}) {
	w.Header().Set("Content-Type", ndjsonType)
	for r.Context().Err() == nil {
		if _, err := fmt.Fprintln(w, line); err != nil {
			break
		}
		if http.NewResponseController(w).Flush() != nil {
			break
		}
	}
	close(gone)
}

// TestABrainWithoutATransportHasOne, which it shares with others.
func TestABrainWithoutATransportHasOne(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", ndjsonType)
		fmt.Fprintln(w, `{"type":"text","content":"a"}`)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	for range 3 {
		turn, err := Client{URL: server.URL, Token: token}.Turn(t.Context(), hi, Throw)
		if err != nil || turn.Text != "a" {
			t.Fatalf("%q, %v", turn.Text, err)
		}
	}
	expect.Equal(t, connections.Load(), 1, "three turns made connections")
}

func TestSegmentsArriveBeforeTheReplyEnds(t *testing.T) {
	read := make(chan struct{})
	c := served(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", ndjsonType)
		fmt.Fprintln(w, `{"type":"text","content":"a"}`)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-read
		fmt.Fprint(w, `{"type":"text","content":"b"}`)
	})
	var got []string
	for seg, err := range c.Stream(t.Context(), hi) {
		must.Do(t, err)
		if got = append(got, seg.ContentString()); len(got) == 1 {
			close(read)
		}
	}
	if !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}

func TestLeavingTheLoopAbortsTheRequest(t *testing.T) {
	gone := make(chan struct{})
	c := served(t, func(w http.ResponseWriter, r *http.Request) { talk(w, r, `{"type":"text","content":"a"}`, gone) })
	for _, err := range c.Stream(t.Context(), hi) {
		must.Do(t, err)
		break
	}
	<-gone
}

func TestTheEndOfTheContextAbortsTheTurn(t *testing.T) {
	gone := make(chan struct{})
	c := served(t, func(w http.ResponseWriter, r *http.Request) { talk(w, r, `{"type":"text","content":"a"}`, gone) })
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	var last error
	for _, err := range c.Stream(ctx, hi) {
		if n++; n == 3 {
			cancel()
		}
		last = err
	}
	cancel()
	if !errors.Is(last, fault.Aborted) || n < 4 {
		t.Errorf("after %d segments: %v", n, last)
	}
	<-gone
}

func TestAReplyThatWaitsEndsWithItsContextOrItsClose(t *testing.T) {
	for _, end := range []string{"context", "close"} {
		gone := make(chan struct{})
		c := served(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", sseType)
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-r.Context().Done()
			close(gone)
		})
		ctx, cancel := context.WithCancel(t.Context())
		reply := must.Get(c.Open(ctx, hi))(t)
		ended := make(chan error)
		go func() {
			_, err := reply.Next()
			ended <- err
		}()
		if end == "context" {
			cancel()
		} else if err := reply.Close(); err != nil {
			t.Error(err)
		}
		expect.Error(t, <-ended, fault.Aborted, "%s", end)
		<-gone
		cancel()
		reply.Close()
	}
}
