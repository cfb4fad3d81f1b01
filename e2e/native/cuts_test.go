package native

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestNoTypedTurnIsLost: if the connection of a session is cut at random around each turn,
// every text is in the transcript once, or was reported as unconfirmed. AGENTRUNTIME_CUTS is
// the number of cuts.
func TestNoTypedTurnIsLost(t *testing.T) {
	cuts := 40
	if text := os.Getenv("AGENTRUNTIME_CUTS"); text != "" {
		cuts = must.Get(strconv.Atoi(text))(t)
	}
	data := t.TempDir()
	service := start(t, localservice.Options{Data: data, Script: []byte("rules: [{when: {any: true}, steps: [{say: Well.}]}]")})
	const sessions = 4
	said := make([][]string, sessions)
	reported := make([][]string, sessions)
	threads := make([]string, sessions)
	t.Run("sessions", func(t *testing.T) {
		for i := range sessions {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				said[i], reported[i], threads[i] = chatter(t, service, i, cuts/sessions)
			})
		}
	})
	if t.Failed() {
		return
	}
	must.Do(t, service.Close())
	db := must.Get(store.Open(data))(t)
	defer db.Close()
	n, told := 0, 0
	for i, thread := range threads {
		history := must.Get(db.History(t.Context(), thread, 100_000))(t)
		times := map[string]int{}
		for _, m := range history {
			if m.Role == store.Human {
				for line := range strings.Lines(m.Text()) { // turns that were merged
					times[strings.TrimSpace(line)]++
				}
			}
		}
		told += len(reported[i])
		for _, text := range said[i] {
			n++
			if got := times[text]; got > 1 || got == 0 && !slices.Contains(reported[i], text) {
				t.Errorf("%q is in the transcript %d times", text, got)
			}
		}
	}
	t.Logf("measured: %d cuts around a typed turn: %d turns, %d reported as unconfirmed", cuts, n, told)
	if told > n/4 { // where acknowledgements come, reports are the exception
		t.Errorf("%d of %d turns were reported instead of being sent again", told, n)
	}
}

// inARow is how many cuts follow each other before the test waits until all texts were sent.
const inARow = 20

// chatter makes a session send a text with each of a number of cuts. It returns the texts,
// those that were reported as unconfirmed, and the thread.
func chatter(t *testing.T, service *localservice.Service, n, cuts int) (said, reported []string, thread string) {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	line := newCuttable(t, service.Info().ConversationManagerURL)
	init := arrive(t, service, store.Silent)
	heard := newRecorder(t)
	o := avatar.OptionsFor(init)
	o.ConversationURL = line.url
	o.AllowPrivateHosts = true
	o.MicStart = avatar.MicDeferred
	o.ReconnectionDelay = 5 * time.Millisecond
	o.OnEvent = heard.record
	s := must.Get(avatar.New(o))(t)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer s.Close()
	must.Do(t, s.Connect(t.Context()))
	speak := func(text string) {
		said = append(said, text)
		wait := s.Start(t.Context(), text)
		waiting.Go(func() {
			if sent, err := wait(); !sent || err != nil {
				t.Errorf("%q: %v, %v", text, sent, err)
			}
		})
	}
	speak(fmt.Sprintf("session %d begins", n))
	_, next := await(heard, 0, func(e event.AvatarStopTalking) bool { return e.Text != "" })
	for i := range cuts {
		before := random.IntN(3)
		if before == 0 {
			line.lose(random.IntN(2) == 0, random.IntN(2) == 0)
		}
		speak(fmt.Sprintf("turn %d of session %d", i, n))
		time.Sleep(time.Duration(random.IntN(4000)) * time.Microsecond) // so that the cut happens at a random stage of the text's delivery
		if before == 1 {
			line.lose(random.IntN(2) == 0, random.IntN(2) == 0)
			speak(fmt.Sprintf("and another, %d of session %d", i, n))
		}
		if random.IntN(10) == 0 {
			pagetest.Control(t.Context(), t, service.Info(), "/recovery", map[string]any{"refuseNext": true})
		}
		line.drop()
		_, next = await(heard, next, anyOf[event.Reconnected])
		if i%inARow == inARow-1 {
			waiting.Wait() // each rebuild opens the conversation again, and texts wait for the end of that
		}
	}
	last := fmt.Sprintf("session %d ends", n)
	speak(last)
	_, next = await(heard, next, func(e event.Transcript) bool { return e.Type == "user" && strings.HasSuffix(e.Text, last) })
	_, next = await(heard, next, func(e event.Transcript) bool { return e.Type == "final" && e.Text == "Well." })
	await(heard, next, func(e event.AvatarStopTalking) bool { return e.Text != "" })
	thread = s.Snapshot().ThreadID
	s.Disconnect(session.DisconnectOptions{})
	s.Settle()
	heard.mu.Lock()
	defer heard.mu.Unlock()
	for _, e := range heard.events {
		if e, ok := e.(event.TurnUnconfirmed); ok {
			reported = append(reported, strings.Split(e.Text, "\n")...)
		}
	}
	return said, reported, thread
}

// cuttable is a proxy to a server that can drop messages and break connections.
type cuttable struct {
	url, target string

	mu    sync.Mutex
	conns []net.Conn
	lost  [2]atomic.Bool // what the client and the server send
}

func newCuttable(t *testing.T, address string) *cuttable {
	u := must.Get(url.Parse(address))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	c := &cuttable{url: "http://" + listener.Addr().String(), target: u.Host}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", c.target)
			if err != nil {
				t.Error(err)
				near.Close()
				continue
			}
			c.mu.Lock()
			c.conns = append(c.conns, near, far)
			c.mu.Unlock()
			served.Go(func() { c.pass(far, near, &c.lost[0]) })
			served.Go(func() { c.pass(near, far, &c.lost[1]) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		c.drop()
		served.Wait()
	})
	return c
}

func (c *cuttable) pass(to io.WriteCloser, from io.ReadCloser, lost *atomic.Bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !lost.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// lose drops everything that is sent from now on, in one direction or both.
func (c *cuttable) lose(up, down bool) {
	c.lost[0].Store(up || !down)
	c.lost[1].Store(down)
}

// drop breaks every connection; the next one works.
func (c *cuttable) drop() {
	c.mu.Lock()
	conns := c.conns
	c.conns = nil
	c.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
	c.lost[0].Store(false)
	c.lost[1].Store(false)
}
