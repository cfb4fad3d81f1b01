// Command twoagents lets two agents talk to each other: what one says is the microphone of the
// other. Both sides are recorded, with their pictures.
//
//	go run ./cmd/localservice -json -script example/twoagents/script.yaml | go run ./example/twoagents
//
// The local service takes the words that it hears from the script, which therefore has the whole
// conversation; a service that transcribes needs none.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/record"
)

// rate is the sample rate of the sound between the agents.
const rate = 16000

// service is the line that localservice -json prints.
type service struct {
	appinit.Config
	Agents []struct {
		Name     string `json:"name"`
		WidgetID string `json:"widgetId"`
	} `json:"agents"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	length := flag.Duration("for", time.Minute, "`duration` for which they talk")
	dir := flag.String("record", "twoagents", "new `folder` for the recordings")
	begin := flag.String("text", "Please begin.", "`text` that the first agent is told")
	flag.Parse()
	var s service
	err := json.NewDecoder(os.Stdin).Decode(&s)
	if err == nil {
		ctx, stop := context.WithTimeout(ctx, *length)
		defer stop()
		err = talk(ctx, s, *begin, *dir, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "twoagents:", err)
		os.Exit(1)
	}
}

// talk has the conversation until ctx ends, and prints what is said.
func talk(ctx context.Context, s service, begin, dir string, out io.Writer) (failed error) {
	// What one agent says is read by the microphone of the other.
	hears := map[string]*io.PipeReader{}
	says := map[string]*io.PipeWriter{}
	hears["Two"], says["One"] = io.Pipe()
	hears["One"], says["Two"] = io.Pipe()
	var one *avatar.Session
	for _, name := range []string{"Two", "One"} { // the one that begins comes last
		recorder, err := record.New(filepath.Join(dir, strings.ToLower(name)), record.Options{OnFrame: speaker(says[name])})
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, recorder.Close()) }()
		o, err := options(ctx, s)
		if err != nil {
			return err
		}
		o.Platform.OpenMicrophone = func(string) (media.Source, error) { return av.FromReader(hears[name], rate) }
		o.OnEvent = func(e event.Event) {
			if t, ok := e.(event.Transcript); ok && t.Type == "final" && t.Text != avatar.SilentOpeningLabel {
				fmt.Fprintf(out, "%s: %s\n", name, t.Text)
			}
		}
		if err := recorder.Attach(&o); err != nil {
			return err
		}
		session, err := avatar.New(o)
		if err != nil {
			return err
		}
		defer session.Close()
		defer says[name].Close()
		if err := session.Connect(ctx); err != nil {
			return err
		}
		one = session
	}
	if _, err := one.Speak(ctx, begin); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// options are those of a visitor of the agent that does not speak first.
func options(ctx context.Context, s service) (avatar.Options, error) {
	for _, agent := range s.Agents {
		if agent.Name != "silent" {
			continue
		}
		access, err := appinit.Init(ctx, appinit.Options{WidgetID: agent.WidgetID, Config: s.Config})
		if err != nil {
			return avatar.Options{}, err
		}
		o := avatar.OptionsFor(access)
		o.AllowPrivateHosts = true // the service is on this machine
		return o, nil
	}
	return avatar.Options{}, errors.New("the service has no agent called silent")
}

// speaker returns the listener that writes the agent's voice to w.
func speaker(w io.Writer) func(av.Frame) {
	var decoder *av.Decoder
	return func(f av.Frame) {
		if !strings.HasPrefix(f.Codec, "audio/") {
			return
		}
		if decoder == nil {
			var err error
			if decoder, err = av.NewDecoder(f.Codec, rate); err != nil {
				fmt.Fprintln(os.Stderr, "twoagents:", err)
				return
			}
		}
		pcm, err := decoder.Decode(f)
		if err != nil {
			return // a broken packet is a lost one
		}
		raw := make([]byte, 0, 2*len(pcm))
		for _, sample := range pcm {
			raw = binary.LittleEndian.AppendUint16(raw, uint16(sample))
		}
		_, _ = w.Write(raw) // fails at the end, when the microphone is closed
	}
}
