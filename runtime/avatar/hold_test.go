package avatar

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestTextWaitsForTheEndOfAPause: a service that pauses takes texts and never
// answers them (field.md #32).
func TestTextWaitsForTheEndOfAPause(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		if err := r.Pause(); err != nil {
			t.Fatal(err)
		}
		left := r.speakLater("Hello")
		if got := s.Payloads(signaling.TextEntered); len(got) != 0 {
			t.Fatalf("sent during the pause: %v", got)
		}
		if err := r.Resume(context.Background()); err != nil {
			t.Fatal(err)
		}
		if !<-left {
			t.Error("the text did not leave")
		}
		names := s.Names()
		want := []string{signaling.ResumeConversation, signaling.TextEntered, signaling.TextEntered}
		if got := names[len(names)-3:]; !slices.Equal(got, want) {
			t.Errorf("sent %v, want %v at the end", got, want)
		}
	})
}

func TestHeldTextsAreBounded(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.connectOnly() // the opening holds
		for range maxTexts {
			r.speakLater("x")
		}
		if _, err := r.Speak(context.Background(), "one more"); !errors.Is(err, fault.RateLimited) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestAKickoffThatNeverLeftIsNotMarkedSent(t *testing.T) {
	run(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}}, func(r *rig) {
		r.connectOnly()
		r.Disconnect(session.DisconnectOptions{}) // during the opening
		synctest.Wait()
		if r.Snapshot().Kickoff.Sent {
			t.Fatal("marked as sent")
		}
		if err := r.SetToken("fresh"); err != nil {
			t.Fatal(err)
		}
		for range 2 { // lives
			s := r.mustConnect()
			if got, first := len(s.Payloads(signaling.TextEntered)), r.service.Dialled() == 2; got == 0 && first || got != 0 && !first {
				t.Errorf("connection %d: %d texts", r.service.Dialled(), got)
			}
			r.Disconnect(session.DisconnectOptions{})
			if err := r.SetToken("fresh"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
	})
}

func TestAKickoffThatIsRefusedWarns(t *testing.T) {
	o := Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}, BeforeSend: func(context.Context, string, SendInfo) (string, error) { panic("bug") }}
	run(t, o, func(r *rig) {
		s := r.mustConnect()
		if w := all[event.Warning](r); len(w) != 1 || w[0].Code != fault.KickoffFailed {
			t.Errorf("warnings = %+v", w)
		}
		if got := s.Payloads(signaling.TextEntered); len(got) != 0 || r.Snapshot().State != Connected {
			t.Errorf("sent %v in state %s", got, r.Snapshot().State)
		}
	})
}

// TestPropertiesFollowCallsAtOnce, as a page that has only one thread expects.
func TestPropertiesFollowCallsAtOnce(t *testing.T) {
	connected(t, func(r *rig, _ *fakeservice.Socket) {
		r.Mute()
		if r.Snapshot().MicEnabled {
			t.Error("not muted")
		}
		if err := errors.Join(r.StartTapToTalk(), r.EndTapToTalk(), r.Pause()); err != nil {
			t.Error(err)
		}
		if !r.Snapshot().Paused {
			t.Error("not paused")
		}
		r.Disconnect(session.DisconnectOptions{})
		if state := r.Snapshot().State; state != Disconnected {
			t.Errorf("state %s", state)
		}
	})
}

// TestEveryTurnEndsOnce, also when the two reports of one turn have those of
// another between them.
func TestEveryTurnEndsOnce(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "a"})
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "b"})
		s.Say(signaling.StvFinishedGenerating, signaling.FinishedGenerating{SpeechID: "a"})
		s.Say(signaling.StvFinishedGenerating, signaling.FinishedGenerating{SpeechID: "b"})
		if got := all[event.TurnEnded](r); len(got) != 2 || *got[0].SpeechID != "a" || *got[1].SpeechID != "b" {
			t.Errorf("ended %+v", got)
		}
		for range 100 { // the number of remembered turns is bounded
			s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: session.RandomID(8)})
			synctest.Wait()
		}
		if n := len(r.turn.ended); n != maxEnded {
			t.Errorf("%d turns in mind", n)
		}
	})
}

// TestAnOpeningIsNoEmptyTurn, nor is a turn that was cut or heard.
func TestAnOpeningIsNoEmptyTurn(t *testing.T) {
	run(t, Options{Options: session.Options{RequestVars: map[string]any{"a": 1}}}, func(r *rig) {
		s := r.connectOnly()
		s.Say(signaling.StvFinishedGenerating, signaling.FinishedGenerating{SpeechID: "1Yev-approved-permissions"})
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "cut", IsNewTurn: true})
		s.Say(signaling.AgentInterrupted, signaling.Empty{})
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "cut"})
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "heard", IsNewTurn: true})
		s.Say(signaling.StvStartedTalking, signaling.Empty{})
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "heard"})
		if w := all[event.Warning](r); len(w) != 0 {
			t.Errorf("warnings = %+v", w)
		}
	})
}

// TestCaptionsOfACutUtteranceEnd: what is under way when the visitor interrupts
// arrives late.
func TestCaptionsOfACutUtteranceEnd(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "a", IsNewTurn: true})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{Text: "one", SpeechID: "a", DurationMs: 300})
		s.Say(signaling.AgentInterrupted, signaling.Empty{})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{Text: "late", SpeechID: "a", DurationMs: 300})
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "b", IsNewTurn: true})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{Text: "two", SpeechID: "b", DurationMs: 300})
		var got []string
		for _, tr := range all[event.Transcript](r) {
			got = append(got, tr.Text)
		}
		if !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("shown %q", got)
		}
	})
}

// TestTheEndIsTheLastWord: open turns are settled before the event ended (session
// §O6, O8).
func TestTheEndIsTheLastWord(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		if _, err := r.Speak(context.Background(), "Hello"); err != nil {
			t.Fatal(err)
		}
		r.Forget()
		s.Drop(socketio.ServerDisconnect)
		r.wantEvents("connectivityChanged", "responseSettled", "turnTimings", "turnUnconfirmed", "stateChange:disconnected", "ended")
	})
}

// TestThePolicyKnowsWidgetsByEitherName (protocol §4.4.2), and drops the
// later fragments of a widget that it refused.
func TestThePolicyKnowsWidgetsByEitherName(t *testing.T) {
	o := Options{AgentActions: ActionPolicy{Navigate: new(bool)}}
	run(t, o, func(r *rig) {
		s := r.mustConnect()
		r.Forget()
		brain(s, "a", converse.Segment{Type: "show-link", Content: "url: x"})
		brain(s, "a", converse.Segment{Type: converse.WidgetPiece, Metadata: &converse.Metadata{RuntimeName: "show-link-tool"}, Content: "url: "})
		brain(s, "a", converse.Segment{Type: converse.WidgetPiece, Content: "x"})
		brain(s, "a", converse.Segment{Type: converse.WidgetPiece, Metadata: &converse.Metadata{RuntimeName: "followups-tool"}, Content: "["})
		brain(s, "a", converse.Segment{Type: converse.WidgetPiece, Content: "]"})
		if d := all[event.AgentActionDenied](r); len(d) != 2 || d[0].Type != "navigate" || d[1].Type != "navigate" {
			t.Errorf("denied %+v", d)
		}
		var got []string
		for _, b := range all[event.BrainSegment](r) {
			got = append(got, b.ContentString())
		}
		if !slices.Equal(got, []string{"[", "]"}) {
			t.Errorf("passed %q", got)
		}
	})
}

// TestANavigationCanBeRefused: a segment of the type navigate is an action like a link that is
// shown (page-helpers G.3), refused by the policy and by the hook, which gets where it leads.
func TestANavigationCanBeRefused(t *testing.T) {
	there := func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		brain(s, "a", converse.Segment{Type: converse.Navigate, Content: json.RawMessage(`{"url":"/a"}`)})
		s.Say(signaling.AgentRawText, signaling.RawText{SpeechID: "a", TurnID: "t-1", Delta: `{"role":"assistant","type":"navigate","payload":"/b"}`})
		brain(s, "a", converse.Segment{Type: converse.Avatar, Content: "Here."})
		if d := all[event.AgentActionDenied](r); len(d) != 2 || d[0].Type != "navigate" || d[1].Type != "navigate" {
			t.Errorf("denied %+v", d)
		}
		if b := all[event.BrainSegment](r); len(b) != 1 || b[0].Type != converse.Avatar {
			t.Errorf("passed %+v", b)
		}
	}
	run(t, Options{AgentActions: ActionPolicy{Navigate: new(bool)}}, func(r *rig) { there(r, r.mustConnect()) })
	var asked []string
	veto := func(_ context.Context, action AgentAction) error {
		payload, err := json.Marshal(action.Payload)
		asked = append(asked, action.Type+" "+string(payload))
		return cmp.Or(err, errors.New("no"))
	}
	run(t, Options{OnAgentAction: veto}, func(r *rig) { there(r, r.mustConnect()) })
	if !slices.Equal(asked, []string{`navigate {"url":"/a"}`, `navigate "/b"`}) {
		t.Errorf("asked about %q", asked)
	}
}

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
		s, err := New(Options{
			MicStart: MicDeferred, Media: instead(media),
			Options: session.Options{Token: "token", HTTPClient: fakeservice.Reach(&fakeHTTP{status: 200}, service.Dial)},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.StartMic(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(media.granted/2, func() { s.Disconnect(session.DisconnectOptions{}) })
		if err := s.SwitchMic(t.Context(), "another"); !errors.Is(err, fault.InvalidState) {
			t.Errorf("the switch: %v", err)
		}
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

// TestCapacityIsAskedAgainDuringAConnect (protocol §2.6).
func TestCapacityIsAskedAgainDuringAConnect(t *testing.T) {
	run(t, Options{Limits: signaling.Limits{Overall: 10 * time.Minute}}, func(r *rig) {
		var mu sync.Mutex
		var asked []time.Duration
		began := time.Now()
		delete(r.service.Answer, signaling.StvNewSession)
		r.service.Answer[signaling.CheckAvailability] = func(s *fakeservice.Socket, _ fakeservice.Event) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, time.Since(began))
			s.Say(signaling.AvailabilityResult, signaling.Availability{Available: len(asked) == 3})
			if len(asked) == 3 {
				s.Say(signaling.StvNewSession, signaling.StvNewSessionReply{SessionID: "s", Status: "ok"})
				s.Say(signaling.ShowAgent, signaling.Empty{})
				s.Say(signaling.AskPermissions, signaling.Empty{})
			}
		}
		r.connectOnly()
		mu.Lock()
		defer mu.Unlock()
		within := func(got, want time.Duration) bool {
			return got >= want*85/100 && got <= want*115/100
		}
		if len(asked) != 3 || !within(asked[1]-asked[0], 30*second) || !within(asked[2]-asked[1], 45*second) {
			t.Errorf("asked after %v", asked)
		}
	})
}

// TestTheTokenIsInNothingThatLeaves checks the events, log and audit of a session whose
// service repeats the token wherever it can.
func TestTheTokenIsInNothingThatLeaves(t *testing.T) {
	const token = "djJ8NTUwMXxTZWNyZXRTZWNyZXRTZWNyZXRTZWNyZXRTZWNyZXRTZWNyZXRTZWNyZXQ"
	var mu sync.Mutex
	var log []string
	note := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		log = append(log, string(b))
	}
	o := Options{
		Options: session.Options{
			Token:        token,
			ThreadID:     "5f0c",
			Log:          func(level, message string, data map[string]any) { note([]any{level, message, data}) },
			OnAuditEvent: func(e event.Audit) { note(e) },
		},
		OnAgentAction: func(context.Context, AgentAction) error {
			return errors.New("refused with " + token)
		},
	}
	run(t, o, func(r *rig) {
		s := r.mustConnect()
		brain(s, "a", clientTool("open", `{}`))
		s.Say(signaling.UnsupportedClient, signaling.Unsupported{Code: token})
		s.Say(signaling.VoiceError, signaling.PeerError{Error: "KS " + token})
		s.Push(socketio.Event{Kind: socketio.ConnectError, Err: errors.New("bad auth " + token)})
		r.media.Down.Notify(media.Event{Kind: media.AttachFailed, Media: "video", Err: errors.New(token)})
		r.media.OnSubscribe = func(context.Context, string) error { return errors.New("POST with " + token) }
		r.media.Down.Notify(media.Event{Kind: media.ICEState, Channel: event.ChannelSTV, State: "failed"})
		time.Sleep(2 * time.Minute)
		r.Disconnect(session.DisconnectOptions{})
		synctest.Wait()
		for _, e := range r.Recorded() {
			note(map[string]any{e.Name(): e})
		}
		note(r.Snapshot())
		note(r.opts.Token)
		if len(log) < 15 {
			t.Errorf("only %d notes", len(log))
		}
		for _, line := range log {
			if strings.Contains(line, token) {
				t.Errorf("the token is in %s", line)
			}
		}
	})
}
