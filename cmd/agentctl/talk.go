package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func talk() *cli.Command {
	return command("talk", "", "has a live conversation with an agent and prints what is said", func(ctx context.Context, c *call, _ []string) error {
		options, err := sessionOptions(ctx, c)
		if err != nil {
			return err
		}
		return converseLive(ctx, c, options)
	},
		required(textFlag("agent", "`id` of the agent")),
		textFlag("user", "`id` of the user; default an anonymous visitor"),
		listFlag("text", "a `text` to say, instead of the lines of standard input"),
	)
}

// sessionOptions are the options of a live session with the agent, as a visitor has them.
func sessionOptions(ctx context.Context, c *call) (avatar.Options, error) {
	token, err := c.Tokens.Agent(ctx, management.TokenInput{AgentID: c.flags.String("agent"), UserID: c.flags.String("user")})
	if err != nil {
		return avatar.Options{}, err
	}
	access, err := appinit.Init(ctx, appinit.Options{Config: c.config, Token: token.KS()})
	if err != nil {
		return avatar.Options{}, err
	}
	o := avatar.OptionsFor(access)
	o.MicStart = avatar.MicDeferred
	// The media of a service on this machine, or in its network, are there too.
	if c.config.AgenticURL != nil {
		address, err := url.Parse(*c.config.AgenticURL)
		o.AllowPrivateHosts = err == nil && fetch.PrivateHost(address.Hostname())
	}
	return o, nil
}

// converseLive has the conversation: each text is said once the one before is answered.
func converseLive(ctx context.Context, c *call, o avatar.Options) error {
	t := &conversation{call: c, answered: make(chan error, 1), ended: make(chan error, 1)}
	o.OnEvent = t.event
	session, err := avatar.New(o)
	if err != nil {
		return err
	}
	defer session.Close() // reports the end, and delivers the last events
	if err := session.Connect(ctx); err != nil {
		return interrupted(ctx, err)
	}
	done := make(chan struct{})
	defer close(done)
	texts, readError := c.texts(done)
	for {
		select {
		case text, more := <-texts:
			if !more {
				return *readError
			}
			if sent, err := session.Speak(ctx, text); err != nil {
				return interrupted(ctx, err)
			} else if !sent {
				return <-t.ended
			}
			select {
			case err := <-t.answered:
				if err != nil {
					return err
				}
			case err := <-t.ended:
				return err
			case <-ctx.Done():
				return nil
			}
		case err := <-t.ended:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// interrupted returns err, or nil when the user has ended the conversation.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// texts returns what is to be said: the flags, or else the lines of standard input as they
// arrive. The error is valid once the channel is closed.
func (c *call) texts(done <-chan struct{}) (<-chan string, *error) {
	texts, failed := make(chan string), new(error)
	say := func(text string) bool {
		if strings.TrimSpace(text) == "" {
			return true
		}
		select {
		case texts <- text:
			return true
		case <-done:
			return false
		}
	}
	given := c.list("text")
	go func() {
		defer close(texts)
		for _, text := range given {
			if !say(text) {
				return
			}
		}
		if given != nil {
			return
		}
		lines := bufio.NewScanner(c.stdin)
		for lines.Scan() {
			if !say(lines.Text()) {
				return
			}
		}
		*failed = lines.Err()
	}()
	return texts, failed
}

// conversation prints the events of a session, and reports when a text is answered and when
// the session has ended. Its methods run on the session's queue of events.
type conversation struct {
	*call
	answered, ended chan error

	repeated bool         // the service has repeated the text: the turn that ends next answers it
	failure  *fault.Error // of the turn, or of the session
}

func (t *conversation) event(e event.Event) {
	if t.json {
		t.printJSON(e)
	}
	switch e := e.(type) {
	case avatar.Transcript:
		t.repeated = t.repeated || e.Type == "user"
		switch {
		case t.json || e.Type == "partial": // the sentence has been printed
		case e.Type == "user":
			t.print("you", e.Text)
		default:
			t.print("agent", e.Text)
		}
	case avatar.ToolCalled:
		t.note("tool", e.ToolCall.Name+" "+string(e.Args))
	case avatar.WidgetShown:
		t.note("widget", e.Runtime)
	case avatar.BrainSegment:
		if e.Type == converse.Error {
			t.failure = fault.New(fault.StreamError, fmt.Sprint(e.Content))
			t.answer()
		}
	case avatar.TurnEnded:
		if t.repeated {
			t.answer()
		}
	case avatar.TurnUnconfirmed:
		t.failure = fault.New(fault.NetworkError, "the text was sent, and the service has not confirmed it")
		t.answer()
	case avatar.Warning:
		fmt.Fprintf(t.stderr, "agentctl: warning: %s: %s\n", e.Code, printable(e.Message))
	case avatar.Failed:
		t.failure = e.Error
	case avatar.Ended:
		report(t.ended, t.failure)
	}
}

// answer reports the end of the turn that answers the text.
func (t *conversation) answer() {
	t.repeated = false
	report(t.answered, t.failure)
}

// report never waits: the first result counts, and the conversation ends with it if it is
// a failure.
func report(to chan<- error, failure *fault.Error) {
	var err error
	if failure != nil {
		err = failure
	}
	select {
	case to <- err:
	default:
	}
}

func (t *conversation) print(by, text string) { fmt.Fprintf(t.stdout, "%s: %s\n", by, printable(text)) }

func (t *conversation) note(what, text string) {
	if !t.json {
		t.print("("+what+")", text)
	}
}

// printJSON prints an event as one line. Tracks have no form in JSON.
func (t *conversation) printJSON(e event.Event) {
	if _, ok := e.(avatar.TrackAdded); ok {
		return
	}
	if d, ok := e.(event.Diagnostic); ok {
		e = d.Redacted()
	}
	line, err := json.Marshal(struct {
		Event string      `json:"event"`
		Data  event.Event `json:"data"`
	}{e.Name(), e})
	if err != nil {
		fmt.Fprintf(t.stderr, "agentctl: the event %s has no form in JSON: %s\n", e.Name(), fault.Redact(err.Error()))
		return
	}
	t.stdout.Write(append(line, '\n'))
}
