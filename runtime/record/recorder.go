//go:build !js

package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/replay"
)

// Options are the options of a recording.
type Options struct {
	// KeepSecrets leaves the events and captions as the application gets them. By default what looks like a
	// secret is removed ([fault.Redact]): tokens, credentials, request variables, private addresses.
	KeepSecrets bool
	// OnFrame receives each frame of the agent's sound and picture after it was recorded, because a
	// track has one reader. Frames of one track come from one goroutine.
	OnFrame func(av.Frame)
}

// Recorder records one conversation. Its methods may be called concurrently.
type Recorder struct {
	dir     string
	options Options
	started time.Time
	readers sync.WaitGroup

	mu       sync.Mutex // guards what follows
	events   *os.File
	turns    replay.TurnBuilder
	captions captions
	movie    movie
	mic      *microphone
	err      error // the first one of a file
	closed   bool
}

// New begins a recording in the folder dir, which is made if it is missing. A folder that already has a recording
// is refused with validation_error; other errors are those of the files.
func New(dir string, o Options) (*Recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	events, err := os.OpenFile(filepath.Join(dir, replay.EventsFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fault.New(fault.ValidationError, "the folder "+dir+" has a recording; choose another one").Wrap(err)
	}
	if err != nil {
		return nil, err
	}
	r := &Recorder{dir: dir, options: o, started: time.Now(), events: events}
	r.movie.recorder = r
	r.line(replay.Header{Version: replay.Version, Started: r.started.UTC(), Redacted: !o.KeepSecrets})
	return r, r.err
}

// Attach makes a live session's options record it: its events, its tracks and its microphone. Handlers of events
// that o already has are called too. Error: validation_error if o has an OnTrack: [Options].OnFrame takes its place.
func (r *Recorder) Attach(o *avatar.Options) error {
	if o.Platform.OnTrack != nil {
		return fault.New(fault.ValidationError, "the recorder reads the tracks; use OnFrame of its options in place of OnTrack")
	}
	o.Platform.OnTrack = r.track
	sample := o.Platform.OnMicrophoneSample
	o.Platform.OnMicrophoneSample = func(s media.Sample) {
		r.microphoneSample(s)
		if sample != nil {
			sample(s)
		}
	}
	o.Observe(func(events []event.Timed) {
		for _, e := range events {
			r.event(e.Event, e.At.Sub(r.started))
		}
	})
	return nil
}

// Event records an event of any kind of session; for sessions in text it is the OnEvent of their options.
func (r *Recorder) Event(e event.Event) { r.event(e, time.Since(r.started)) }

func (r *Recorder) event(e event.Event, at time.Duration) {
	if _, ok := e.(event.TrackAdded); ok {
		e = event.TrackAdded{} // tracks have no form in JSON
	}
	data, err := r.encode(e)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.fail(fmt.Errorf("the event %s: %w", e.Name(), err))
		return
	}
	entry := replay.Entry{At: at.Milliseconds(), Event: e.Name(), Data: data}
	r.line(entry)
	r.turns.Add(entry)
	r.captions.add(at, e)
}

// encode returns the payload of an event, without secrets.
func (r *Recorder) encode(e event.Event) (json.RawMessage, error) {
	if d, ok := e.(event.Diagnostic); ok && !r.options.KeepSecrets {
		e = d.Redacted()
	}
	data, err := json.Marshal(e)
	if err != nil || r.options.KeepSecrets || bytes.Equal(data, []byte("{}")) {
		return data, err
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	return json.Marshal(fault.RedactValue(value))
}

// track records a track until it ends.
func (r *Recorder) track(t *webrtc.TrackRemote) {
	r.readers.Add(1)
	defer r.readers.Done()
	var stream *stream
	for f, err := range av.Frames(t) {
		r.mu.Lock()
		if err == nil && stream == nil {
			stream, err = newStream(f.Codec, time.Since(r.started))
		}
		if err == nil {
			err = r.movie.add(stream, f)
		}
		if err != nil {
			r.fail(err)
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		if r.options.OnFrame != nil {
			r.options.OnFrame(f)
		}
	}
}

func (r *Recorder) microphoneSample(s media.Sample) {
	at := time.Since(r.started)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if r.mic == nil {
		mic, err := newMicrophone(filepath.Join(r.dir, replay.MicrophoneFile))
		if err != nil {
			r.fail(err)
			return
		}
		r.mic = mic
		r.line(replay.Entry{At: at.Milliseconds(), File: replay.MicrophoneFile})
		mic.start = at
	}
	r.fail(r.mic.add(at, s))
}

// line writes a line of the events.
func (r *Recorder) line(value any) {
	if r.closed {
		return
	}
	text, err := json.Marshal(value)
	if err == nil {
		_, err = r.events.Write(append(text, '\n'))
	}
	r.fail(err)
}

// fail keeps the first error.
func (r *Recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Close completes the files. Close the session first: later events are not recorded. The error is the first one
// of the whole recording.
func (r *Recorder) Close() error {
	r.readers.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.err
	}
	r.fail(r.movie.finish())
	if r.mic != nil {
		r.fail(r.mic.close())
	}
	r.fail(r.captions.write(filepath.Join(r.dir, replay.CaptionsFile), r.options.KeepSecrets))
	turns, err := json.MarshalIndent(r.turns.Turns(), "", "  ")
	r.fail(err)
	r.fail(os.WriteFile(filepath.Join(r.dir, replay.TurnsFile), append(turns, '\n'), 0o600))
	r.closed = true
	r.fail(r.events.Close())
	return r.err
}
