package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// next are the states that may follow each (session §B.3).
var next = map[State][]State{
	Idle:       {Connecting, Closed},
	Connecting: {Connected, Broken, Closed},
	Connected:  {Switching, Broken, Closed},
	Switching:  {Connected, Broken, Closed},
	Broken:     {Closed},
}

// TestWhateverHappens: many sessions with random calls, ends and answers of the
// service, at the same time. What a conversation promises must hold for all.
func TestWhateverHappens(t *testing.T) {
	sessions := 60
	if testing.Short() {
		sessions = 20
	}
	for seed := range sessions {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(uint64(seed), 5))
			modes := []Mode{Avatar, Chat}
			o := Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}, Mode: modes[rnd.IntN(2)]}
			if rnd.IntN(2) == 0 {
				o.ThreadID = "th-1"
			}
			run(t, o, func(r *rig) { newChaos(r, rnd).play() })
		})
	}
}

// chaos is a session on which random calls are made.
type chaos struct {
	*rig
	rnd *rand.Rand // of the goroutine of play

	calls sync.WaitGroup
	told  sync.Mutex // guards what follows
	texts map[string]sent
}

func newChaos(r *rig, rnd *rand.Rand) *chaos {
	return &chaos{rig: r, rnd: rnd, texts: map[string]sent{}}
}

// within returns a duration up to d.
func (c *chaos) within(d time.Duration) time.Duration { return time.Duration(c.rnd.Int64N(int64(d))) }

func (c *chaos) play() {
	c.serve()
	c.call(func() { _ = c.Connect(background) })
	time.Sleep(c.within(time.Second))
	for i := range 60 {
		c.step(i)
		time.Sleep(c.within(300 * time.Millisecond))
	}
	if c.rnd.IntN(3) > 0 {
		time.Sleep(time.Minute) // until every timeout has passed
		c.settled()
	}
	c.Disconnect(session.DisconnectOptions{})
	c.calls.Wait()
	c.settled()
	c.check()
}

// call runs f beside everything else.
func (c *chaos) call(f func()) { c.calls.Go(f) }

// ctx returns a context that may end soon.
func (c *chaos) ctx() (context.Context, context.CancelFunc) {
	if c.rnd.IntN(3) > 0 {
		return context.WithCancel(background)
	}
	return context.WithTimeout(background, c.within(2*time.Second))
}

func (c *chaos) step(i int) {
	switch n := c.rnd.IntN(20); {
	case n < 9:
		text := fmt.Sprintf("<%d>", i)
		ctx, cancel := c.ctx()
		c.call(func() {
			defer cancel()
			what, err := c.SendText(ctx, text)
			c.told.Lock()
			defer c.told.Unlock()
			c.texts[text] = sent{what, err}
		})
	case n < 15:
		mode := []Mode{Avatar, Chat}[c.rnd.IntN(2)]
		ctx, cancel := c.ctx()
		c.call(func() {
			defer cancel()
			_ = c.SwitchMode(ctx, mode)
		})
	case n == 15:
		c.serve() // in another mood
	case n == 16:
		c.call(func() {
			_ = c.UpdateRequestVars(map[string]any{"a": i})
			_ = c.SetToken(fmt.Sprint("token ", i))
			_, _ = c.CompleteThread(background)
		})
	case n == 17:
		c.call(func() {
			if remove, err := c.OnToolCall("save", func(context.Context, event.ToolCall) (any, error) { return 1, nil }, nil); err == nil {
				time.Sleep(time.Millisecond)
				remove()
			}
		})
	case n == 18:
		if c.Dialled() > 0 && c.rnd.IntN(8) == 0 {
			c.socket().Drop(socketio.ServerDisconnect)
		}
	default:
		if c.rnd.IntN(40) == 0 {
			c.call(func() { c.Disconnect(session.DisconnectOptions{}) })
		}
	}
}

// serve changes how the service behaves.
func (c *chaos) serve() {
	join, opening, answer, refuse := c.within(2*time.Second), c.within(2*time.Second), c.within(time.Second), c.rnd.IntN(4) == 0
	after := func(d time.Duration, f func()) { time.AfterFunc(d, f) }
	c.When(signaling.Join, func(s *fakeservice.Socket, _ fakeservice.Event) {
		after(join, func() {
			if refuse {
				s.Say(signaling.ThrowToNoAgent, signaling.Empty{})
				return
			}
			s.Say(signaling.ClientConfig, signaling.Configuration{})
			s.Say(signaling.JoinComplete, signaling.Empty{})
		})
	})
	c.When(signaling.ApprovedPermissions, func(s *fakeservice.Socket, _ fakeservice.Event) {
		after(opening, func() { s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{}) })
	})
	c.When(signaling.TextEntered, func(s *fakeservice.Socket, _ fakeservice.Event) {
		after(answer, func() {
			s.Segment(map[string]any{"type": "think", "threadId": "th-1"})
			s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "a", IsNewTurn: true})
			s.Segment(map[string]any{"type": "avatar", "content": "Yes.", "threadId": "th-1"})
			s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "a"})
		})
	})
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.auto = func(x *exchange) {
		time.Sleep(answer)
		x.say("Yes, ", "th-1")
		time.Sleep(answer)
		x.say("yes.", "th-1")
		x.w.Close()
	}
}

func (c *chaos) check() {
	c.t.Helper()
	state, pending, ends := Idle, false, 0
	open := map[string]bool{} // turns in text
	for _, e := range c.events() {
		switch e := e.(type) {
		case StateChanged:
			ok := false
			for _, s := range next[state] {
				ok = ok || s == e.State
			}
			if !ok {
				c.t.Errorf("%s after %s", e.State, state)
			}
			state = e.State
		case event.ResponsePending:
			if pending {
				c.t.Error("responsePending twice")
			}
			pending = true
		case event.ResponseSettled:
			if !pending {
				c.t.Error("responseSettled twice")
			}
			pending = false
		case event.TurnStarted:
			if e.SpeechID == nil {
				open[e.TurnID] = true
			}
		case event.TurnEnded:
			if e.SpeechID == nil {
				if !open[e.TurnID] {
					c.t.Errorf("turn %s ended twice", e.TurnID)
				}
				delete(open, e.TurnID)
			}
		case event.Ended:
			ends++
		case event.Failed:
			if e.Code == fault.InternalError {
				c.t.Errorf("%v", e.Error)
			}
		case avatar.StateChanged:
			c.t.Error("a transport's state was passed on")
		}
	}
	if state != Closed || pending || ends > 1 || len(open) != 0 {
		c.t.Errorf("at the end: state %s, pending %v, %d ends, open turns %v", state, pending, ends, open)
	}
	c.checkTexts()
	if n := len(c.completed()); n > 1 {
		c.t.Errorf("the end was told %d times", n)
	}
}

// checkTexts: each was said once if that was reported, and never twice.
func (c *chaos) checkTexts() {
	c.t.Helper()
	said := strings.Join(append(c.asked(), c.spoken()...), "\n")
	if n := strings.Count(said, "Begin"); n > 1 {
		c.t.Errorf("the kickoff was sent %d times", n)
	}
	for text, end := range c.texts {
		n := strings.Count(said, text)
		unsent := errors.Is(end.err, fault.InvalidState) || end.err == nil && !end.Left
		if n > 1 || n == 0 && end.err == nil && end.Left || n == 1 && unsent {
			c.t.Errorf("%s was said %d times: %+v, %v", text, n, end.Sent, end.err)
		}
		if end.err != nil && !unsent && !errors.Is(end.err, fault.Aborted) && !errors.Is(end.err, fault.Timeout) {
			c.t.Errorf("%s: %v", text, end.err)
		}
	}
}

// settled checks that every text has an outcome.
func (c *chaos) settled() {
	c.t.Helper()
	synctest.Wait()
	c.core.Work.Call(func() {
		for _, x := range c.Session.texts {
			c.t.Errorf("%s is not settled in state %s", x.text, c.state)
		}
	})
}
