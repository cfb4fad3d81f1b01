package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/internal/fetch"
	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/record"
	"github.com/agentruntime/agentruntime/runtime/replay"
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
		textFlag("mic", "a `file` to say with the microphone, before any text: WAV of 16 bit, MP3, or Opus in Ogg"),
		textFlag("record", "a new `folder` to record the conversation in"),
		boolFlag("trace", "prints the times of each turn"),
	)
}

// replayRecording prints a recording at the pace of the conversation, or has it again with an agent.
func replayRecording() *cli.Command {
	return command("replay", "FOLDER", "plays a recorded conversation, or has it again with an agent and prints what differs", func(ctx context.Context, c *call, args []string) error {
		switch agent, script := c.flags.IsSet("agent"), c.flags.Bool("script"); {
		case c.flags.IsSet("user") && !agent:
			return usageError{"replay: -user must be together with -agent"}
		case agent && script, c.flags.IsSet("speed") && (agent || script):
			return usageError{"replay: only one of -speed, -script and -agent may be given"}
		}
		recording, err := replay.Open(os.DirFS(args[0]))
		if err != nil {
			return err
		}
		switch {
		case c.flags.Bool("script"):
			script, err := recording.Script()
			if err == nil {
				_, err = c.stdout.Write(append(script, '\n'))
			}
			return err
		case c.flags.IsSet("agent"):
			return converseAgain(ctx, c, recording)
		}
		return interrupted(ctx, recording.Play(ctx, c.flags.Float("speed"), c.printEntry))
	},
		&cli.FloatFlag{Name: "speed", Usage: "`factor` of the speed, 2 is twice as fast; 0 prints all at once", Value: 1, Validator: func(speed float64) error {
			if !(speed >= 0) { // also NaN
				return usageError{"it must not be negative"}
			}
			return nil
		}},
		boolFlag("script", "print the answers as a script for the local service instead"),
		textFlag("agent", "`id` of an agent to have the conversation with again"),
		textFlag("user", "`id` of the user, with -agent; default an anonymous visitor"),
	)
}

// printEntry prints what talk prints of a live conversation.
func (c *call) printEntry(e replay.Entry) {
	if c.json {
		line, _ := json.Marshal(e) // it came from JSON
		c.stdout.Write(append(line, '\n'))
		return
	}
	var p struct{ Type, Text, Name, Runtime, Code, Message string }
	if json.Unmarshal(e.Data, &p) != nil {
		return
	}
	at := fmt.Sprintf("%6.1f ", float64(e.At)/1000)
	switch {
	case e.Event == "transcript" && p.Type == "user":
		c.print(at+"you", p.Text)
	case e.Event == "transcript" && p.Type == "final":
		c.print(at+"agent", p.Text)
	case e.Event == "toolCall":
		c.print(at+"(tool)", p.Name)
	case e.Event == "widget":
		c.print(at+"(widget)", p.Runtime)
	case e.Event == "interrupted", e.Event == "reconnecting", e.Event == "reconnected":
		fmt.Fprintf(c.stdout, "%s(%s)\n", at, e.Event)
	case e.Event == "warning" || e.Event == "error":
		c.print(at+"("+e.Event+")", p.Code+" "+p.Message)
	}
}

// errDiffers is the failure of a conversation that was not the recorded one.
var errDiffers = fault.New(fault.Conflict, "the conversation differs from the recording")

// converseAgain has the recorded conversation with an agent.
func converseAgain(ctx context.Context, c *call, recording *replay.Recording) error {
	o, err := sessionOptions(ctx, c)
	if err != nil {
		return err
	}
	run := replay.NewRun(recording)
	o.OnEvent = run.Event
	session, err := avatar.New(o)
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.Connect(ctx); err != nil {
		return interrupted(ctx, err)
	}
	got, err := run.Converse(ctx, func(ctx context.Context, text string) error {
		_, err := session.Speak(ctx, text)
		return err
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	differences := replay.Diff(recording, got)
	for _, d := range differences {
		fmt.Fprintln(c.stdout, printable(d.String()))
	}
	if differences != nil {
		return errDiffers
	}
	return nil
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

// converseLive has the conversation: each text is said once the answer to the one before was
// spoken, because the agent forgets what it was interrupted in.
func converseLive(ctx context.Context, c *call, o avatar.Options) (failed error) {
	t := &conversation{call: c, trace: c.flags.Bool("trace"), answered: make(chan error, 1), ended: make(chan error, 1)}
	o.OnEvent = t.event
	if dir := c.flags.String("record"); dir != "" {
		recorder, err := record.New(dir, record.Options{})
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, recorder.Close()) }() // after the session
		if err := recorder.Attach(&o); err != nil {
			return err
		}
	}
	var mic av.Microphone
	var sound media.Source
	if path := c.flags.String("mic"); path != "" {
		source, err := av.FromFile(path)
		if err != nil {
			return err
		}
		sound, o.MicStart, o.Platform.OpenMicrophone = source, avatar.MicImmediate, mic.Open
	}
	session, err := avatar.New(o)
	if err != nil {
		return err
	}
	defer session.Close() // reports the end, and delivers the last events
	if err := session.Connect(ctx); err != nil {
		return interrupted(ctx, err)
	}
	if sound != nil {
		if err := t.sayAloud(ctx, &mic, sound); err != nil {
			return interrupted(ctx, err)
		}
		if c.list("text") == nil {
			return nil
		}
	}
	done := make(chan struct{})
	defer close(done)
	texts, readError := c.texts(done)
	answered, err := t.sayEach(ctx, texts, session.Speak)
	switch {
	case err != nil || ctx.Err() != nil:
		return interrupted(ctx, err)
	case answered < len(c.list("text")):
		return errEndedEarly
	case *readError != nil:
		return *readError
	case answered == 0 && sound == nil:
		return usageError{"there is nothing to say: pass -text, or lines of standard input"}
	}
	return nil
}

// errEndedEarly is the failure of a conversation that the service has ended.
var errEndedEarly = fault.New(fault.Ended, "the conversation ended before each text was answered")

// sayEach says texts until there are no more, or the session has ended, and returns how many were answered.
func (t *conversation) sayEach(ctx context.Context, texts <-chan string, speak func(context.Context, string) (bool, error)) (answered int, err error) {
	for {
		select {
		case text, more := <-texts:
			if !more {
				return answered, nil
			}
			if sent, err := speak(ctx, text); err != nil {
				return answered, err
			} else if !sent {
				return answered, <-t.ended
			}
			select {
			case err := <-t.answered:
				if err != nil {
					return answered, err
				}
				answered++
			case err := <-t.ended:
				return answered, err
			case <-ctx.Done():
				return answered, nil
			}
		case err := <-t.ended:
			return answered, err
		case <-ctx.Done():
			return answered, nil
		}
	}
}

// sayAloud says a sound and waits for its answer.
func (t *conversation) sayAloud(ctx context.Context, mic *av.Microphone, sound media.Source) error {
	if err := mic.Say(ctx, sound); err != nil {
		return err
	}
	select {
	case err := <-t.answered:
		return err
	case err := <-t.ended:
		return err
	case <-ctx.Done():
		return nil
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
	trace           bool         // print the times of each turn
	failure         *fault.Error // of the turn, or of the session
}

func (t *conversation) event(e event.Event) {
	if t.json {
		t.printJSON(e)
	}
	switch e := e.(type) {
	case event.Transcript:
		switch {
		case t.json || e.Type == "partial": // the sentence has been printed
		case e.Type == "user":
			t.print("you", e.Text)
		default:
			t.print("agent", e.Text)
		}
	case event.ToolCalled:
		t.note("tool", e.ToolCall.Name+" "+string(e.Args))
	case event.WidgetShown:
		t.note("widget", e.Runtime)
	case event.BrainSegment:
		if e.Type == converse.Error {
			t.failure = fault.New(fault.StreamError, fmt.Sprint(e.Content))
			report(t.answered, t.failure)
		}
	case event.TurnTimings: // the end of a turn
		if t.trace {
			t.note("trace", traced(e))
		}
		if e.From != "agent" {
			report(t.answered, t.failure)
		}
	case event.TurnUnconfirmed:
		t.failure = fault.New(fault.NetworkError, "the text was sent, and the service has not confirmed it")
		report(t.answered, t.failure)
	case event.Warning:
		fmt.Fprintf(t.stderr, "agentctl: warning: %s: %s\n", e.Code, printable(e.Message))
	case event.Failed:
		t.failure = e.Error
	case event.Ended:
		report(t.ended, t.failure)
	}
}

// traced returns the marks of a turn in their order, in milliseconds; ~ marks an estimate.
func traced(e event.TurnTimings) string {
	marks := slices.SortedFunc(maps.Keys(e.Marks), func(a, b event.TurnMark) int {
		return cmp.Or(cmp.Compare(e.Marks[a], e.Marks[b]), cmp.Compare(slices.Index(event.TurnMarks, a), slices.Index(event.TurnMarks, b)))
	})
	var text strings.Builder
	for _, mark := range marks {
		about := ""
		if slices.Contains(e.Estimated, mark) {
			about = "~"
		}
		fmt.Fprintf(&text, "%s %s%d, ", mark, about, e.Marks[mark])
	}
	for _, tool := range e.Tools {
		fmt.Fprintf(&text, "tool %s %d, ", tool.Name, tool.Called)
	}
	return text.String() + e.Outcome
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

func (t *call) print(by, text string) { fmt.Fprintf(t.stdout, "%s: %s\n", by, printable(text)) }

func (t *conversation) note(what, text string) {
	if !t.json {
		t.print("("+what+")", text)
	}
}

// printJSON prints an event as one line. Tracks have no form in JSON.
func (t *conversation) printJSON(e event.Event) {
	if _, ok := e.(event.TrackAdded); ok {
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
