// Package native proves that the sessions of the page run without one: the same
// avatar.Session and agent.Session, with pion and sockets, against the local
// service. It is also the shortest example of a bot.
package native

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"

	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/localservice/servicetest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// patience is how long an event may take on a machine that is busy.
const patience = 30 * time.Second

// bot is a session and its recorded events.
type bot struct {
	*avatar.Session
	*recorder

	video, audio atomic.Int64 // RTP packets
}

// recorder records the events of a session.
type recorder struct {
	t       *testing.T
	mu      sync.Mutex
	events  []event.Event
	changed chan struct{}
}

func newRecorder(t *testing.T) *recorder { return &recorder{t: t, changed: make(chan struct{}, 1)} }

// arrive makes a conversation token for the agent.
func arrive(t *testing.T, service *localservice.Service, agent string) *appinit.Result {
	t.Helper()
	return must.Get(tryArrive(t, service, agent))(t)
}

func tryArrive(t *testing.T, service *localservice.Service, agent string) (*appinit.Result, error) {
	t.Helper()
	info := service.Info()
	who, ok := info.Agent(agent)
	if !ok {
		t.Fatalf("no agent %q", agent)
	}
	return appinit.Init(t.Context(), appinit.Options{
		WidgetID: who.WidgetID,
		Config:   appinit.Config{AgenticURL: &info.AgenticURL, GenieURL: &info.GenieURL, OVPURL: &info.OVPURL},
	})
}

func newBot(t *testing.T, service *localservice.Service, agent string) *bot {
	t.Helper()
	return botOf(t, arrive(t, service, agent))
}

func botOf(t *testing.T, init *appinit.Result) *bot {
	t.Helper()
	b := &bot{recorder: newRecorder(t)}
	o := avatar.OptionsFor(init)
	o.AllowPrivateHosts = true
	o.MicStart = avatar.MicDeferred
	o.Platform = media.Platform{
		OnTrack:        b.count,
		OpenMicrophone: func(string) (media.Source, error) { return av.FromFile("../testdata/speech.ogg") },
	}
	o.OnEvent = b.record
	b.Session = must.Get(avatar.New(o))(t)
	return b
}

func (b *bot) count(track *webrtc.TrackRemote) {
	n := &b.audio
	if track.Kind() == webrtc.RTPCodecTypeVideo {
		n = &b.video
	}
	for {
		if _, _, err := track.ReadRTP(); err != nil {
			return
		}
		n.Add(1)
	}
}

func (h *recorder) record(e event.Event) {
	h.mu.Lock()
	h.events = append(h.events, e)
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// heard returns how many events there were.
func (h *recorder) heard() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.events)
}

// await returns the first event of type T, from index from on, for which ok returns true,
// and the index after it.
func await[T event.Event](h *recorder, from int, ok func(T) bool) (T, int) {
	h.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		h.mu.Lock()
		for i := from; i < len(h.events); i++ {
			if e, is := h.events[i].(T); is && ok(e) {
				h.mu.Unlock()
				return e, i + 1
			}
		}
		h.mu.Unlock()
		select {
		case <-h.changed:
		case <-limit.C:
			var none T
			h.t.Fatalf("no %s within %v; %d events heard", none.Name(), patience, h.heard())
		}
	}
}

func anyOf[T event.Event](T) bool { return true }

func start(t *testing.T, o localservice.Options) *localservice.Service {
	t.Helper()
	return servicetest.Start(t, o)
}

func TestASessionWithoutAPage(t *testing.T) {
	leaktest.Check(t)
	service := start(t, localservice.Options{Script: []byte(script)})
	b := newBot(t, service, "receptionist")

	must.Do(t, b.Connect(t.Context()))
	ready, _ := await(b.recorder, 0, anyOf[event.MediaReady])
	if ready.Mode != event.Video || ready.Degraded {
		t.Errorf("media ready: %+v", ready)
	}
	_, next := await(b.recorder, 0, func(e event.AvatarStopTalking) bool { return e.Text != "" })

	// A typed turn.
	if sent, err := b.Speak(t.Context(), "What is the password?"); !sent || err != nil {
		t.Fatalf("speak: %v, %v", sent, err)
	}
	answer, next := await(b.recorder, next, anyOf[event.AvatarStopTalking])
	if !strings.Contains(answer.Text, "swordfish") {
		t.Errorf("the answer was %q", answer.Text)
	}
	b.checkCaptions(answer.Text)

	// A spoken one: the file is the microphone, the script gives the words.
	must.Do(t, b.StartMic(t.Context()))
	_, next = await(b.recorder, next, anyOf[event.UserStartedTalking])
	heard, next := await(b.recorder, next, func(e event.Transcript) bool { return e.Type == "user" })
	if heard.Text != "Say it again please" {
		t.Errorf("heard %q", heard.Text)
	}
	await(b.recorder, next, anyOf[event.AvatarStartTalking])

	video, audio := b.video.Load(), b.audio.Load()
	if video == 0 || audio == 0 {
		t.Errorf("%d video and %d voice packets", video, audio)
	}
	t.Logf("%d video and %d voice packets, timings %v", video, audio, b.Snapshot().Timings)

	b.Disconnect(session.DisconnectOptions{})
	done, _ := await(b.recorder, 0, anyOf[event.SessionCompleted])
	if !done.Sent || done.Reason != "disconnect" {
		t.Errorf("completed: %+v", done)
	}
	await(b.recorder, 0, anyOf[event.Ended])
	b.Close()
}

// checkCaptions compares the words that were timed with what was spoken.
func (b *bot) checkCaptions(spoken string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var words []string
	last := int64(-1)
	for _, e := range b.events {
		tr, ok := e.(event.Transcript)
		if !ok || tr.Type != "partial" || tr.SpeechID == nil || !strings.Contains(*tr.SpeechID, "-transcript-") {
			continue
		}
		for _, w := range tr.Words {
			if w.StartMs < last {
				b.t.Errorf("%q starts at %d ms, before the word in front of it", w.Word, w.StartMs)
			}
			last = w.StartMs
			words = append(words, w.Word)
		}
	}
	if got, want := strings.Join(words, " "), strings.Join(strings.Fields(spoken), " "); got != want {
		b.t.Errorf("captions %q, spoken %q", got, want)
	}
}

const script = `
hear:
  - Say it again please
rules:
  - when: {contains: password}
    steps:
      - say: The password is swordfish.
  - when: {contains: again}
    steps:
      - say: It still is swordfish.
`
