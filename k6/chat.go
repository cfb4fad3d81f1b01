package agentruntime

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/grafana/sobek"

	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Chat is the ChatSession of scripts: a conversation in text.
type Chat struct {
	module  *instance
	options Options
	out     sink

	mu      sync.Mutex
	session *chat.Session // nil before connect
	free    func()        // ends the session, once
}

func (i *instance) newChat(call sobek.ConstructorCall) *sobek.Object {
	c := &Chat{module: i}
	i.begin(call, &c.options)
	c.out = newSink(i.vu, "chat", c.options.Tags)
	return i.vu.Runtime().ToValue(c).ToObject(i.vu.Runtime())
}

// Connect gets a token, and resolves with the milliseconds that it took. It is rejected as the
// connect of an [Avatar].
func (c *Chat) Connect() *sobek.Promise {
	return promise(c.module, func(vu context.Context) (map[string]int64, error) {
		ctx, cancel := c.options.bound(vu)
		defer cancel()
		began := time.Now()
		err := c.connect(ctx, vu)
		took := time.Since(began)
		m := c.module.meters
		c.out.add(m.sessions, 1)
		c.out.outcome(m.connectFailed, err)
		if err != nil {
			return nil, err
		}
		c.out.add(m.appInit, ms(took))
		c.out.add(m.connect, ms(took))
		return map[string]int64{"appInit": took.Milliseconds(), "connected": took.Milliseconds()}, nil
	})
}

func (c *Chat) connect(ctx, vu context.Context) error {
	access, err := c.options.access(ctx)
	if err != nil {
		return err
	}
	o := chat.OptionsFor(access)
	c.options.apply(&o.Options)
	o.OnEvent = c.receive
	s, err := chat.New(o)
	if err != nil {
		return err
	}
	if err := c.own(s, vu); err != nil {
		s.Close()
		return err
	}
	return s.Connect(ctx)
}

// own makes s the session of c, until the end of the iteration.
func (c *Chat) own(s *chat.Session, vu context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		return fault.New(fault.InvalidState, "the session was connected before; make another one")
	}
	c.session = s
	end := sync.OnceFunc(s.Close)
	forget := context.AfterFunc(vu, end)
	c.free = func() { forget(); end() }
	return nil
}

// receive takes the events of the session.
func (c *Chat) receive(e event.Event) {
	if w, is := e.(event.Warning); is {
		c.out.add(c.module.meters.warnings, 1, "code", string(w.Code))
	}
}

// Ask sends a text, and resolves with the whole [Answer], whose firstSound is 0. It is rejected
// with invalid_state without a connection, with timeout, and with the errors of sendText() in a
// page.
func (c *Chat) Ask(text string) *sobek.Promise {
	return promise(c.module, func(vu context.Context) (Answer, error) {
		ctx, cancel := c.options.bound(vu)
		defer cancel()
		answer, err := c.answer(ctx, text)
		m := c.module.meters
		c.out.outcome(m.answerFailed, err)
		if err != nil {
			return answer, err
		}
		c.out.add(m.firstText, answer.FirstText)
		c.out.add(m.answer, answer.Duration)
		return answer, nil
	})
}

func (c *Chat) answer(ctx context.Context, question string) (Answer, error) {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return Answer{}, fault.New(fault.InvalidState, "the session is not connected")
	}
	asked := time.Now()
	var first time.Time
	var text strings.Builder
	for segment, err := range s.Stream(ctx, question, chat.TurnOptions{}) {
		if err != nil {
			return Answer{}, err
		}
		if segment.Type.Spoken() {
			stamp(&first)
			text.WriteString(segment.ContentString())
		}
	}
	return Answer{Text: text.String(), FirstText: since(asked, first), Duration: ms(time.Since(asked))}, nil
}

// Close ends the conversation, and resolves when its end was reported to the service.
func (c *Chat) Close() *sobek.Promise {
	return promise(c.module, func(context.Context) (any, error) {
		c.mu.Lock()
		free := c.free
		c.mu.Unlock()
		if free != nil {
			free()
		}
		return nil, nil
	})
}
