package avatar

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// slowMic is granted late, but not after the end of the context, as [media.Engine] promises.
type slowMic struct {
	fakeMedia
	granted time.Duration
}

func (m *slowMic) StartMic(ctx context.Context) error {
	time.Sleep(m.granted)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return m.fakeMedia.StartMic(ctx)
}

func (m *slowMic) SwitchMic(ctx context.Context, _ string) error {
	m.StopMic()
	return m.StartMic(ctx)
}

// TestAMicrophoneSwitchedAfterTheEndStaysOff: a switch that is slower than the end of the session.
func TestAMicrophoneSwitchedAfterTheEndStaysOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, media := fakeservice.New(t), &slowMic{granted: time.Second}
		s := must.Get(New(Options{
			MicStart: MicDeferred, Media: instead(media),
			Options: session.Options{Token: "token", HTTPClient: fakeservice.Reach(&fakeHTTP{status: 200}, service.Dial)},
		}))(t)
		must.Do(t, s.Connect(t.Context()))
		must.Do(t, s.StartMic(t.Context()))
		time.AfterFunc(media.granted/2, func() { s.Disconnect(session.DisconnectOptions{}) })
		expect.Error(t, s.SwitchMic(t.Context(), "another"), fault.InvalidState, "the switch")
		if media.MicStarted() || s.Snapshot().MicStarted {
			t.Error("the microphone is on")
		}
	})
}

func TestStartMicIsSeenWhenItReturns(t *testing.T) {
	run(t, Options{MicStart: MicDeferred}, func(r *rig) {
		r.mustConnect()
		if r.Snapshot().MicStarted {
			t.Fatal("started by itself")
		}
		if err := r.StartMic(context.Background()); err != nil || !r.Snapshot().MicStarted {
			t.Errorf("%v, started %v", err, r.Snapshot().MicStarted)
		}
	})
}

func TestAMicrophoneThatIsLostWarns(t *testing.T) {
	connected(t, func(r *rig, _ *fakeservice.Socket) {
		r.media.StopMic()
		r.micReports(media.Event{Kind: media.MicEnded, Err: fault.New(fault.MicNotFound, "unplugged")})
		if w := all[event.Warning](r); len(w) != 1 || w[0].Code != fault.MicNotFound || r.Snapshot().MicStarted {
			t.Errorf("warnings %+v, started %v", w, r.Snapshot().MicStarted)
		}
	})
}

// TestTheVisitorsSpeechEndsBeforeTheSession, because a page may stop to listen at the end, and levels that were
// measured before it begin no speech after it.
func TestTheVisitorsSpeechEndsBeforeTheSession(t *testing.T) {
	for name, end := range map[string]func(*rig, *fakeservice.Socket){
		"the page's":    func(r *rig, _ *fakeservice.Socket) { r.Disconnect(session.DisconnectOptions{}) },
		"the service's": func(_ *rig, s *fakeservice.Socket) { s.Say(signaling.ConversationEnded, signaling.Empty{}) },
		"a failure's":   func(_ *rig, s *fakeservice.Socket) { s.Drop(socketio.ServerDisconnect) },
	} {
		t.Run(name, func(t *testing.T) {
			connected(t, func(r *rig, s *fakeservice.Socket) {
				r.micReports(media.Event{Kind: media.Level, Level: 1})
				end(r, s)
				r.micReports(media.Event{Kind: media.Level, Level: 1})
				r.micReports(media.Event{Kind: media.Level})
				synctest.Wait()
				expect.List(t, all[event.LocalSpeakingChanged](r), []event.LocalSpeakingChanged{{Speaking: true}, {Speaking: false}}, "changes")
				names := r.heardNames()
				if last := slices.Index(names, "ended"); !slices.Contains(names[:last], "localSpeakingChanged") || slices.Contains(names[last:], "localSpeakingChanged") {
					t.Errorf("events %q", names)
				}
			})
		})
	}
}
