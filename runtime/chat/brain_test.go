package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// fakeBrain is the far end of every request. A turn waits for the test, which
// writes its reply byte by byte; other calls are answered at once.
type fakeBrain struct {
	mu     sync.Mutex
	turns  []*exchange
	others []string // "path body" of the other calls
	status int      // of their replies; 0 fails on the network
}

func (b *fakeBrain) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	if !strings.HasSuffix(r.URL, "/assistant/converse") {
		status, err := b.other(r)
		if err != nil {
			return nil, err
		}
		return &fetch.Response{Status: status, Body: io.NopCloser(strings.NewReader("{}"))}, nil
	}
	x := &exchange{
		ctx: ctx, body: string(r.Body.Data), token: strings.TrimPrefix(r.Header.Get("authorization"), "KS "),
		head: make(chan fetch.Response, 1), bytes: make(chan []byte, 64), closed: make(chan struct{}),
	}
	b.mu.Lock()
	b.turns = append(b.turns, x)
	b.mu.Unlock()
	select {
	case head := <-x.head:
		if head.Status == 0 {
			x.Close()
			return nil, fault.New(fault.NetworkError, "no network")
		}
		head.Body = x
		return &head, nil
	case <-ctx.Done():
		x.Close()
		return nil, ctx.Err()
	}
}

// Send is the request of a page that goes away.
func (b *fakeBrain) Send(r *fetch.Request, done func(int, error)) {
	status, err := b.other(r) // before it returns, as the real one
	go done(status, err)
}

func (b *fakeBrain) other(r *fetch.Request) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.others = append(b.others, strings.TrimPrefix(r.URL, "https://brain.example")+" "+r.Header.Get("authorization")+" "+string(r.Body.Data))
	if b.status == 0 {
		return 0, errors.New("no network")
	}
	return b.status, nil
}

func (b *fakeBrain) otherCalls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.others)
}

// exchange is a turn as the brain sees it, and its body as the session reads it.
type exchange struct {
	ctx         context.Context
	body, token string

	head   chan fetch.Response
	bytes  chan []byte // closed at the end
	rest   []byte
	broken error // with which it ends, instead of io.EOF

	lingers time.Duration // before a close returns
	once    sync.Once
	closed  chan struct{}
}

func (x *exchange) Read(p []byte) (int, error) {
	for len(x.rest) == 0 {
		select {
		case b, more := <-x.bytes:
			if !more && x.broken != nil {
				return 0, x.broken
			}
			if !more {
				return 0, io.EOF
			}
			x.rest = b
		case <-x.ctx.Done():
			return 0, x.ctx.Err()
		case <-x.closed:
			return 0, errors.New("read after close")
		}
	}
	n := copy(p, x.rest)
	x.rest = x.rest[n:]
	return n, nil
}

func (x *exchange) Close() error {
	x.once.Do(func() {
		time.Sleep(x.lingers)
		close(x.closed)
	})
	return nil
}

// answer begins a reply of segments, one a line.
func (x *exchange) answer() *exchange { return x.reply(200, "application/x-ndjson") }

func (x *exchange) reply(status int, contentType string) *exchange {
	x.head <- fetch.Response{Status: status, Header: fetch.Header{"content-type": contentType, "x-request-id": "r-1"}}
	return x
}

// say writes lines, which the session has handled when it returns.
func (x *exchange) say(lines ...string) *exchange {
	for _, line := range lines {
		x.write(line + "\n")
	}
	return x
}

func (x *exchange) write(text string) *exchange {
	x.bytes <- []byte(text)
	synctest.Wait()
	return x
}

func (x *exchange) end() {
	close(x.bytes)
	synctest.Wait()
}

// isOver reports whether the service sees that the request has ended.
func (x *exchange) isOver() bool {
	select {
	case <-x.closed:
		return x.ctx.Err() != nil
	default:
		return false
	}
}

// Lines of a reply.
const (
	think     = `{"role":"assistant","type":"think","content":"","threadId":"5f0c","messageId":"m-1"}`
	keepalive = `{"role":"assistant","type":"keepalive","content":""}`
	lastThink = `{"role":"assistant","type":"think","content":"","isFinal":true}`
	denied    = `{"role":"assistant","type":"error","content":"No permission for thread 5f0c","isFinal":true}`
	blocking  = `{"type":"tool","content":"save_note {\"note\":\"x\"}","tool_metadata":{"id":"ti-4","name":"save_note","type":"client","wait_for_response":true}}`
)

func text(s string) string {
	return fmt.Sprintf(`{"role":"assistant","type":"text","content":%q}`, s)
}
