// Command record measures what the recording of a whole conversation costs: a native session whose
// visitor asks by voice, and whose agent answers with voice and picture and calls a tool, again and again. Sessions
// with and without a recording take turns, and the processor time is that of this process alone; the service
// is another one. Without a recording the session reads its tracks too.
//
// The voice of the local service is not Opus, so each recording encodes it.
//
// Usage, from the root of the module:
//
//	go run ./bench/record -rounds 3 -duration 12s
//
// The result is in docs/recording.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/bench/service"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/record"
)

// goal is the share of a core that a recording may take, in percent.
const goal = 3

// script is a conversation without an end: each question by voice is answered in two sentences after a tool was called.
const script = `
hear: [What is the password?]
rules:
  - when: {any: true}
    steps:
      - tool: {name: save_note, args: {note: call back}}
      - say: The password is swordfish, and it was written down for you. Is there anything else that you would like to know today?
`

// question is what the visitor says.
const question = "e2e/testdata/speech.wav"

func main() { figures.Main(run) }

func run(ctx context.Context) (err error) {
	rounds := flag.Int("rounds", 3, "`number` of measurements of each kind")
	sessions := flag.Int("sessions", 4, "`number` of conversations at the same time")
	duration := flag.Duration("duration", 12*time.Second, "how long each measurement lasts")
	file := flag.String("json", "", "`file` for the rows")
	flag.Parse()
	process, err := service.Start(ctx, script, true, "-max-calls", fmt.Sprint(4**sessions))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, process.Stop()) }()
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	idle, err := used(ctx, *duration/4)
	if err != nil {
		return err
	}
	var plain, recorded, cost []float64
	for round := range *rounds {
		without, err := converse(ctx, process.Info, *sessions, *duration, "")
		if err != nil {
			return err
		}
		with, err := converse(ctx, process.Info, *sessions, *duration, filepath.Join(dir, fmt.Sprint(round)))
		if err != nil {
			return err
		}
		log.Printf("%.2f %% of a core for each session, %.2f %% with a recording", without, with)
		plain, recorded, cost = append(plain, without), append(recorded, with), append(cost, with-without)
	}
	const unit = "% of a core"
	recording := figures.Alone("recording of a conversation, whose voice is encoded", unit, cost...)
	recording.Goal = figures.Goal{Of: figures.AtMost, Bound: goal}
	rows := []figures.Row{
		recording,
		figures.Alone("native session in conversation", unit, plain...),
		figures.Alone("native session in conversation, with its recording", unit, recorded...),
		figures.Alone("no session", unit, idle),
	}
	return figures.Report(*file, rows)
}

// used returns how much processor time this process uses in d, in percent of a core.
func used(ctx context.Context, d time.Duration) (float64, error) {
	begin := time.Now()
	before, err := service.ReadUsage(os.Getpid())
	if err != nil {
		return 0, err
	}
	if err := figures.Wait(ctx, d); err != nil {
		return 0, err
	}
	after, err := service.ReadUsage(os.Getpid())
	return 100 * (after.Processor - before.Processor).Seconds() / time.Since(begin).Seconds(), err
}

// converse lets sessions converse, and returns what each used during d, in percent of a core. They are recorded
// in folders of dir, unless it is empty.
func converse(ctx context.Context, info localservice.Info, sessions int, d time.Duration, dir string) (percent float64, err error) {
	ctx, stop := context.WithCancel(ctx)
	var talking sync.WaitGroup
	var failures failures
	defer func() { err = errors.Join(err, failures.err()) }()
	defer talking.Wait()
	defer stop()
	for i := range sessions {
		folder := ""
		if dir != "" {
			folder = filepath.Join(dir, fmt.Sprint(i))
		}
		c, err := connect(ctx, info, folder)
		if err != nil {
			return 0, err
		}
		talking.Go(func() { failures.add(errors.Join(c.talk(ctx), c.close())) })
	}
	percent, err = used(ctx, d)
	return percent / float64(sessions), err
}

// failures are the errors of the conversations.
type failures struct {
	mu   sync.Mutex
	errs []error
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}

// conversation is a session whose visitor speaks.
type conversation struct {
	session   *avatar.Session
	recording *record.Recorder // nil without one
	mic       av.Microphone
	answered  chan struct{}
}

func connect(ctx context.Context, info localservice.Info, folder string) (c *conversation, err error) {
	access, err := service.Access(ctx, info)
	if err != nil {
		return nil, err
	}
	c = &conversation{answered: make(chan struct{}, 1)}
	o := avatar.OptionsFor(access)
	o.AllowPrivateHosts = true
	o.Platform.OpenMicrophone = c.mic.Open
	o.OnEvent = func(e event.Event) {
		if spoken, ok := e.(event.AvatarStopTalking); ok && spoken.Text != avatar.SilentOpeningLabel {
			select {
			case c.answered <- struct{}{}:
			default:
			}
		}
	}
	if folder == "" {
		o.Platform.OnTrack = func(t *webrtc.TrackRemote) {
			for range av.Frames(t) {
			}
		}
	} else {
		if c.recording, err = record.New(folder, record.Options{}); err != nil {
			return nil, err
		}
		if err := c.recording.Attach(&o); err != nil {
			return nil, err
		}
	}
	if c.session, err = avatar.New(o); err != nil {
		return nil, err
	}
	if _, err := c.session.OnToolCall("save_note", func(ctx context.Context, call event.ToolCall) (any, error) {
		response := map[string]any{"status": "saved"}
		_, err := c.session.RespondToTool(ctx, call.ToolMetadata.ID, response)
		return response, err
	}, nil); err != nil {
		return nil, err
	}
	return c, c.session.Connect(ctx)
}

// talk asks again when the answer has been spoken, until ctx ends.
func (c *conversation) talk(ctx context.Context) error {
	for {
		source, err := av.FromFile(question)
		if err == nil {
			err = c.mic.Say(ctx, source)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-c.answered:
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *conversation) close() error {
	c.session.Close()
	if c.recording == nil {
		return nil
	}
	return c.recording.Close()
}
