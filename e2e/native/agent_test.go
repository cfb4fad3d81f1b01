package native

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/agent"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// conversation is an agent session on real transports.
type conversation struct {
	*agent.Session
	*recorder
	http *counter
}

// counter is an HTTP client that records the requests that reported an end, and can drop the
// requests for the picture.
type counter struct {
	*fetch.HTTPClient

	mu        sync.Mutex
	completed []string
	noMedia   bool
}

func (c *counter) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	c.mu.Lock()
	if strings.Contains(r.URL, "session_completed") {
		c.completed = append(c.completed, string(r.Body.Data))
	}
	if c.noMedia && strings.Contains(r.URL, "/whep/") {
		refused := *r
		refused.URL = unused + r.URL[strings.Index(r.URL, "/rtc/"):]
		r = &refused
	}
	c.mu.Unlock()
	return c.HTTPClient.Do(ctx, r)
}

// ends returns the requests that reported an end.
func (c *counter) ends() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.completed...)
}

// unused is an address without a server: port 9 is for discarding.
const unused = "http://127.0.0.1:9"

// newConversation makes a session that begins in text; change may alter the options of
// its avatars.
func newConversation(t *testing.T, service *localservice.Service, change func(*avatar.Options)) *conversation {
	t.Helper()
	http, init := arrive(t, service, "silent")
	c := &conversation{recorder: newRecorder(t), http: &counter{HTTPClient: http}}
	face := avatar.OptionsFor(init)
	face.AllowPrivateHosts, face.MicStart = true, avatar.MicDeferred
	change(&face)
	session, err := agent.New(agent.Options{
		Options: session.Options{Token: init.KS, GenieURL: &init.GenieURL, OnEvent: c.record, HTTPClient: fetch.As(c.http)},
		Mode:    agent.Chat, Avatar: face,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	c.Session = session
	return c
}

// ask sends a turn in text and returns the answer.
func (c *conversation) ask(text string) string {
	c.t.Helper()
	sent, err := c.SendText(c.t.Context(), text)
	if err != nil || sent.Turn == nil {
		c.t.Fatalf("%q: %+v, %v", text, sent, err)
	}
	return sent.Turn.Text
}

// TestAFaceThatDoesNotComeLeavesTheConversation: if one of the avatar's hosts can't be
// reached, texts sent meanwhile are answered in text, and the conversation is kept.
func TestAFaceThatDoesNotComeLeavesTheConversation(t *testing.T) {
	leaktest.Check(t)
	service := start(t, localservice.Options{})
	const short = 1500 * time.Millisecond
	for name, c := range map[string]struct {
		change  func(*avatar.Options)
		noMedia bool
		want    []fault.Code
	}{
		"no media host": {
			change:  func(o *avatar.Options) { o.Limits.WHEPTries = 1 },
			noMedia: true, want: []fault.Code{fault.WHEPFailed},
		},
		"no relay": {
			change: func(o *avatar.Options) { o.Limits.Overall, o.TURNServerURL = short, "turn:127.0.0.1:9" },
			want:   []fault.Code{fault.Timeout, fault.WHEPFailed, fault.WHEPTimeout},
		},
		"no socket": {
			change: func(o *avatar.Options) { o.Limits.ServerConnect, o.ConversationURL = short, unused },
			want:   []fault.Code{fault.Timeout, fault.ConnectFailed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newConversation(t, service, c.change)
			s.http.noMedia = c.noMedia
			if err := s.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.ask("My name is Sam.")
			from := s.heard()
			failed := make(chan error, 1)
			go func() { failed <- s.SwitchMode(t.Context(), agent.Avatar) }()
			await(s.recorder, from, func(e agent.StateChanged) bool { return e.State == agent.Switching })
			if got := s.ask("What is my name?"); got != "Your name is Sam." {
				t.Errorf("sent during the switch: %q", got)
			}
			if err := <-failed; !isOneOf(err, c.want) {
				t.Errorf("err = %v, want one of %v", err, c.want)
			}
			if got := s.ask("What did I say first?"); !strings.HasSuffix(got, "My name is Sam.") {
				t.Errorf("after the switch: %q", got)
			}
			if got := s.http.ends(); len(got) != 0 || s.Snapshot().Mode != agent.Chat {
				t.Errorf("told of the end %q, mode %s", got, s.Snapshot().Mode)
			}
		})
	}
}

func isOneOf(err error, codes []fault.Code) bool {
	for _, code := range codes {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
