package native

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/httpclient"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// logged is the text of a log.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// line returns the first line with every part, "" for none.
func (l *logged) line(parts ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.text.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		return line
	}
	return ""
}

// TestTraceContext: requests with a token and the join have the trace context of the
// application, which the service logs; others have none.
func TestTraceContext(t *testing.T) {
	log := &logged{}
	service := start(t, localservice.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	info := service.Info()
	who, _ := info.Agent("receptionist")
	var spans atomic.Int64
	next := func() httpclient.TraceContext {
		return httpclient.TraceContext{Traceparent: fmt.Sprintf("00-0af7651916cd43dd8448eb211c80319c-%016x-01", spans.Add(1)), Tracestate: "vendor=a"}
	}
	broken := func() httpclient.TraceContext { return httpclient.TraceContext{Traceparent: "trace"} }
	o := appinit.Options{
		WidgetID: who.WidgetID, TraceContext: broken,
		Config: appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	}
	expect.Fail(appinit.Init(t.Context(), o))(t, fault.BadRequest, "appInit with a bad trace context")
	expect.Equal(t, log.line("msg=http", "startWidgetSession"), "", "a request was sent with a bad trace context")
	o.TraceContext = next
	init := must.Get(appinit.Init(t.Context(), o))(t)

	text := chat.OptionsFor(init)
	text.TraceContext = broken
	expect.Fail(chat.New(text))(t, fault.BadRequest, "a chat with a bad trace context")
	text.TraceContext = func() httpclient.TraceContext { panic("the tracer is broken") }
	if _, err := chat.New(text); err == nil {
		t.Error("a chat with a function that panics was made")
	}
	text.TraceContext = next
	oneTurn(t, text)

	face := avatar.OptionsFor(init)
	face.TraceContext = next
	connectFace(t, face)

	const trace = "traceparent=00-0af7651916cd43dd8448eb211c80319c-"
	for _, parts := range [][]string{
		{"msg=http", appinit.InitPath, trace},
		{"msg=http", "/assistant/converse", trace},
		{"msg=http", "/thread/session_completed", trace},
		{`msg="session joined"`, trace},
	} {
		if log.line(parts...) == "" {
			t.Errorf("no line of the log has %q:\n%s", parts, log.text.String())
		}
	}
	for _, path := range []string{"startWidgetSession", "/whep"} {
		expect.Equal(t, log.line("msg=http", path, trace), "", "a request without a token has the trace context")
	}
}

// connectChat connects a session in text, which the test closes.
func connectChat(t *testing.T, o chat.Options) *chat.Session {
	t.Helper()
	c := must.Get(chat.New(o))(t)
	if err := c.Connect(t.Context()); err != nil {
		c.Close()
		t.Fatal(err)
	}
	return c
}

// oneTurn has a conversation in text of one turn.
func oneTurn(t *testing.T, o chat.Options) {
	t.Helper()
	c := connectChat(t, o)
	defer c.Close()
	must.Get(c.SendText(t.Context(), "Hello", chat.TurnOptions{}))(t)
	c.Disconnect(session.DisconnectOptions{})
}

// connectFace connects a session with a face and without a microphone, which ends with the test.
func connectFace(t *testing.T, o avatar.Options) *avatar.Session {
	t.Helper()
	o.AllowPrivateHosts, o.MicStart = true, avatar.MicDeferred
	a := must.Get(avatar.New(o))(t)
	t.Cleanup(a.Close)
	must.Do(t, a.Connect(t.Context()))
	return a
}
