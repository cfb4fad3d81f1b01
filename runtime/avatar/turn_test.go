package avatar

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/internal/socketio"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

const (
	marker = `{"text":"","isFinal":false,"isSpeechStart":true}`
	hello  = `{"text":"Hello","isFinal":true}`
)

func delta(seg converse.Segment) string {
	seg.Role = "assistant"
	if seg.Content == nil {
		seg.Content = ""
	}
	b, err := json.Marshal(seg)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func brain(s *fakeservice.Socket, speechID string, seg converse.Segment) {
	s.Say(signaling.AgentRawText, signaling.RawText{SpeechID: speechID, TurnID: "t-1", Delta: delta(seg)})
}

func TestATypedTurnIsAMarkerAndAText(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		if ok, err := r.Speak(context.Background(), "Hello"); !ok || err != nil {
			r.t.Fatal(ok, err)
		}
		expect.List(t, s.Payloads(signaling.TextEntered), []string{marker, hello}, "sent")
		if !r.Snapshot().ResponsePending {
			t.Error("no response is pending")
		}
	})
}

// TestTextIsHeldDuringTheOpening also holds the kickoff in front, and sends
// everything as one turn before the application gets the event of the end
// (protocol §7.7, session §O5).
func TestTextIsHeldDuringTheOpening(t *testing.T) {
	run(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}}, func(r *rig) {
		s := r.connectOnly()
		one := r.speakLater("One")
		two := r.speakLater("Two")
		if got := s.Payloads(signaling.TextEntered); len(got) != 0 {
			t.Fatalf("sent during the opening: %v", got)
		}
		r.Forget()
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Welcome."})
		if !<-one || !<-two {
			t.Error("a held text was not sent")
		}
		want := []string{marker, `{"text":"Begin\nOne\nTwo","isFinal":true}`}
		expect.List(t, s.Payloads(signaling.TextEntered), want, "sent")
		r.wantEvents("responsePending", "avatarStopTalking")
		if !r.Snapshot().Kickoff.Sent {
			t.Error("the kickoff is not marked as sent")
		}
	})
}

func TestAHeldTextCanBeTakenBack(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		s := r.connectOnly()
		ctx, cancel := context.WithCancel(context.Background())
		failed := make(chan error, 1)
		go func() {
			_, err := r.Speak(ctx, "Never mind")
			failed <- err
		}()
		synctest.Wait()
		cancel()
		expect.Error(t, <-failed, fault.Aborted, "err")
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		synctest.Wait()
		expect.Len(t, s.Payloads(signaling.TextEntered), 0, "sent")
	})
}

func TestTheKickoffsEchoIsCutOnce(t *testing.T) {
	for _, c := range []struct {
		echo bool
		want []string
	}{
		{false, []string{"and more", "Begin"}},
		{true, []string{"Begin and more", "Begin"}},
	} {
		connectedWith(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin", Echo: c.echo}}}, func(r *rig, s *fakeservice.Socket) {
			s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: "Begin and more"})
			s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: "Begin"})
			var got []string
			for _, tr := range all[event.Transcript](r) {
				got = append(got, tr.Text)
			}
			expect.List(t, got, c.want, "echo %v: heard", c.echo)
		})
	}
}

func TestSpeakIsRefused(t *testing.T) {
	run(t, Options{MaxTurnsPerMinute: 2, BeforeSend: func(_ context.Context, text string, _ SendInfo) (string, error) {
		if text == "secret" {
			return "", errors.New("no secrets")
		}
		return text + "!", nil
	}}, func(r *rig) {
		expect.Fail(r.Speak(context.Background(), "x"))(t, fault.InvalidState, "before connect")
		s := r.mustConnect()
		expect.Fail(r.Speak(context.Background(), "  "))(t, fault.BadRequest, "empty")
		expect.Fail(r.Speak(context.Background(), "secret"))(t, fault.GuardrailBlocked, "guarded")
		for range 2 {
			if _, err := r.Speak(context.Background(), "Hi"); err != nil {
				t.Error(err)
			}
		}
		expect.Equal(t, s.Payloads(signaling.TextEntered)[1], `{"text":"Hi!","isFinal":true}`, "the guard's text was not sent")
		expect.Fail(r.Speak(context.Background(), "Hi"))(t, fault.RateLimited, "third in a minute")
		time.Sleep(time.Minute)
		if _, err := r.Speak(context.Background(), "Hi"); err != nil {
			t.Errorf("a minute later: %v", err)
		}
		r.must(r.StartTapToTalk())
		synctest.Wait()
		expect.Fail(r.Speak(context.Background(), "x"))(t, fault.InvalidState, "during a tap window")
		expect.Error(t, r.Interrupt(), fault.InvalidState, "interrupt during a tap window")
	})
}

// TestATextThatWasNotSentDoesNotCount for the limit of turns in a minute, whether its caller took
// it back or the session ended before it.
func TestATextThatWasNotSentDoesNotCount(t *testing.T) {
	run(t, Options{MaxTurnsPerMinute: 1}, func(r *rig) {
		r.connectOnly() // the opening can't be interrupted
		ctx, cancel := context.WithTimeout(context.Background(), second)
		defer cancel()
		if _, err := r.Speak(ctx, "taken back"); !errors.Is(err, fault.Aborted) {
			t.Errorf("err = %v", err)
		}
		waits := r.speakLater("Hi")
		if _, err := r.Speak(context.Background(), "Hi"); !errors.Is(err, fault.RateLimited) {
			t.Errorf("beside one that waits: %v", err)
		}
		r.Disconnect(session.DisconnectOptions{})
		if <-waits {
			t.Error("sent after the end")
		}
		r.must(r.SetToken("token"))
		s := r.mustConnect()
		if !<-r.speakLater("Hello") || len(s.Texts()) != 1 {
			t.Errorf("sent %+v", s.Texts())
		}
	})
}

// TestSpeakEndsWithItsContextWhileBeforeSendRuns: the text is not sent when the function returns later.
func TestSpeakEndsWithItsContextWhileBeforeSendRuns(t *testing.T) {
	var decide chan struct{}
	slow := func(_ context.Context, text string, _ SendInfo) (string, error) {
		<-decide
		return text, nil
	}
	run(t, Options{BeforeSend: slow}, func(r *rig) {
		decide = make(chan struct{}) // of this bubble
		s := r.mustConnect()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		result := make(chan error, 1)
		go func() {
			_, err := r.Speak(ctx, "Hi")
			result <- err
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case err := <-result:
			if !errors.Is(err, fault.Timeout) {
				t.Errorf("%v, want a timeout", err)
			}
		default:
			t.Error("it still waits for the function")
		}
		close(decide)
		synctest.Wait()
		expect.Len(t, s.Payloads(signaling.TextEntered), 0, "sent")
	})
}

// TestASpokenTurnAsTheProtocolShowsIt plays the trace of protocol §7.5.
func TestASpokenTurnAsTheProtocolShowsIt(t *testing.T) {
	const id = "Qw7z-transcript-What is new"
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		s.Say(signaling.UserStartedTalking, signaling.Empty{})
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: id, TurnID: "t-12", IsNewTurn: true})
		brain(s, id, converse.Segment{Type: converse.Think, ThreadID: "5f0c", MessageID: "m-9", SegmentStart: true})
		brain(s, id, converse.Segment{Type: converse.Avatar, Content: "Two things changed."})
		s.Say(signaling.GeneratingSpeech, signaling.Sentence{Text: "Two things changed.", SpeechID: id})
		s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: "What is new today?"})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{Text: "Two things", SpeechID: id, DurationMs: 800})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{Text: "changed.", SpeechID: id, DurationMs: 400})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{Text: "late words", SpeechID: "0000-transcript-old", DurationMs: 500})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{SpeechID: id, DurationMs: 1})
		s.Say(signaling.StvStartedTalking, signaling.Empty{})
		brain(s, id, converse.Segment{Type: converse.Think, IsFinal: true})
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: id, TurnID: "t-12"})
		s.Say(signaling.StvFinishedGenerating, signaling.FinishedGenerating{SpeechID: id})
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Two things changed."})
		r.wantEvents(
			"userStartedTalking", "turnStart",
			"responsePending", "brainSegment",
			"responseSettled", "brainSegment",
			"transcript",                // final
			"transcript",                // user
			"speechChunk", "transcript", // partial
			"speechChunk", "transcript",
			"speechChunk", "speechChunk", // stale, sentinel
			"avatarStartTalking",
			"brainSegment", "turnEnd",
			"avatarStopTalking", "turnTimings",
		)
		expect.Equal(t, r.Snapshot().ThreadID, "5f0c", "thread")
		ids := event.Utterance{SpeechID: id, TurnID: "t-12"}
		if start, stop := all[event.AvatarStartTalking](r)[0].Utterance, all[event.AvatarStopTalking](r)[0].Utterance; start != ids || stop != ids {
			t.Errorf("the talk is of %v, then of %v, want %v", start, stop, ids)
		}
		var words []event.Word
		for _, tr := range all[event.Transcript](r) {
			words = append(words, tr.Words...)
		}
		want := []event.Word{{Word: "Two"}, {Word: "things", StartMs: 400}, {Word: "changed.", StartMs: 800}}
		if !reflect.DeepEqual(words, want) {
			t.Errorf("words = %v, want %v", words, want)
		}
	})
}

// TestTheEndOfATurnNamesItsTurn, whichever of the two events about it comes first.
func TestTheEndOfATurnNamesItsTurn(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "one", TurnID: "t-1", IsNewTurn: true})
		s.Say(signaling.StvFinishedGenerating, signaling.FinishedGenerating{SpeechID: "one"})
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "one", TurnID: "t-1"})
		synctest.Wait()
		if got := all[event.TurnEnded](r); len(got) != 1 || got[0].TurnID != "t-1" {
			t.Errorf("ends %+v, want one of t-1", got)
		}
	})
}

// TestATypedBargeInAsksOnce: what the service still sends of the utterance that a text has
// cut does not settle the response to that text.
func TestATypedBargeInAsksOnce(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		answer := func(speech, turn string) {
			s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: speech, TurnID: turn, IsNewTurn: true})
			s.Say(signaling.AgentTurnToTalk, signaling.TurnToTalk{UserTranscription: "question"})
			brain(s, speech, converse.Segment{Type: converse.Avatar, Content: "An answer."})
			s.Say(signaling.GeneratingSpeech, signaling.Sentence{Text: "An answer.", SpeechID: speech})
			s.Say(signaling.StvStartedTalking, signaling.Empty{})
			synctest.Wait()
		}
		answer("one", "t-1")
		r.say("question")
		brain(s, "one", converse.Segment{Type: converse.Avatar, Content: "More of it."})
		s.Say(signaling.AgentInterrupted, signaling.Empty{})
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "An"})
		s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: "one", TurnID: "t-1"})
		synctest.Wait()
		if !r.Snapshot().ResponsePending {
			t.Error("the response was settled by the utterance before it")
		}
		answer("two", "t-2")
		expect.Equal(t, len(all[event.ResponsePending](r)), 2, "responses were pending for two questions")
		if start := all[event.AvatarStartTalking](r); len(start) != 2 || start[1].TurnID != "t-2" {
			t.Errorf("start = %+v", start)
		}
	})
}

func TestABargeInClearsTheTurn(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		s.Say(signaling.StvStartedTalking, signaling.Empty{})
		synctest.Wait()
		if !r.Snapshot().Speaking {
			t.Fatal("the avatar does not talk")
		}
		r.must(r.Interrupt())
		s.Say(signaling.AgentInterrupted, signaling.Empty{})
		synctest.Wait()
		if r.Snapshot().Speaking {
			t.Error("the avatar still talks")
		}
		expect.List(t, s.Payloads(signaling.TextEntered), []string{marker}, "sent")
	})
}

func TestASilentOpeningIsLabelled(t *testing.T) {
	const id = "Zz09-approved-permissions"
	run(t, Options{}, func(r *rig) {
		s := r.connectOnly()
		s.Say(signaling.GeneratingSpeech, signaling.Sentence{Text: "<blank>", SpeechID: id})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{SpeechID: id, DurationMs: 1})
		s.Say(signaling.StvStartedTalking, signaling.Empty{})
		synctest.Wait()
		if r.Snapshot().Speaking {
			t.Error("a silent opening is speech")
		}
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		synctest.Wait()
		expect.Len(t, all[event.AvatarStartTalking](r), 0, "start")
		if tr := all[event.Transcript](r); len(tr) != 1 || tr[0].Text != SilentOpeningLabel {
			t.Errorf("transcripts = %+v", tr)
		}
		if stop := all[event.AvatarStopTalking](r); len(stop) != 1 || stop[0].Text != SilentOpeningLabel {
			t.Errorf("stop = %+v", stop)
		}
	})
}

// TestASpokenOpeningIsNotLabelledSilent by the chunks without text that may end it.
func TestASpokenOpeningIsNotLabelledSilent(t *testing.T) {
	const id = "Zz09-approved-permissions"
	run(t, Options{}, func(r *rig) {
		s := r.connectOnly()
		s.Say(signaling.GeneratingSpeech, signaling.Sentence{Text: "Hello.", SpeechID: id})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{Text: "Hello.", SpeechID: id, DurationMs: 300})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{SpeechID: id, DurationMs: 20})
		s.Say(signaling.StvSpeechChunk, signaling.SpeechChunk{SpeechID: id, DurationMs: 1})
		synctest.Wait()
		for _, chunk := range all[event.SpeechChunk](r) {
			if chunk.Text == SilentOpeningLabel {
				t.Errorf("chunk %+v", chunk)
			}
		}
		for _, transcript := range all[event.Transcript](r) {
			expect.Equal(t, transcript.Text, "Hello.", "transcript %+v", transcript)
		}
	})
}

func TestTheDisclosureHoldsTheStart(t *testing.T) {
	run(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}, RequireDisclosureAck: true}, func(r *rig) {
		s := r.connectOnly()
		expect.Equal(t, len(s.Payloads(signaling.ApprovedPermissions)), 0, "approved before the acknowledgement")
		expect.Fail(r.Speak(context.Background(), "x"))(t, fault.DisclosureRequired, "speak")
		r.AcknowledgeDisclosure()
		r.AcknowledgeDisclosure()
		synctest.Wait()
		expect.Equal(t, len(s.Payloads(signaling.ApprovedPermissions)), 1, "approvals")
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		synctest.Wait()
		expect.Len(t, s.Payloads(signaling.TextEntered), 2, "kickoff")
	})
}

// TestTheDisclosureIsAcknowledgedAtAnyTime: also while the socket is down, or the service resumes.
func TestTheDisclosureIsAcknowledgedAtAnyTime(t *testing.T) {
	for name, c := range map[string]struct{ before, after func(*fakeservice.Socket) }{
		"the socket is down": {
			func(s *fakeservice.Socket) { s.Drop(socketio.TransportClose) },
			func(s *fakeservice.Socket) { s.Back(true) },
		},
		"the session is lost": {func(s *fakeservice.Socket) { s.Drop(socketio.TransportClose) }, func(s *fakeservice.Socket) { s.Back(false) }},
		"the service resumes": {
			func(s *fakeservice.Socket) { s.Say(signaling.ResumingSession, signaling.Empty{}) },
			func(s *fakeservice.Socket) { s.Say(signaling.ConversationResumed, signaling.Empty{}) },
		},
	} {
		run(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}, RequireDisclosureAck: true}, func(r *rig) {
			s := r.connectOnly()
			c.before(s)
			synctest.Wait()
			r.AcknowledgeDisclosure()
			c.after(s)
			synctest.Wait()
			if n := len(s.Payloads(signaling.ApprovedPermissions)); n != 1 || r.Snapshot().State != Connected {
				t.Errorf("%s: %d approvals, %s", name, n, r.Snapshot().State)
			}
			s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
			synctest.Wait()
			if got := s.Texts(); len(got) != 1 || got[0].Text != "Begin" {
				t.Errorf("%s: kickoff %v", name, got)
			}
		})
	}
}

func TestToolsRunOncePerTurnInOrder(t *testing.T) {
	connectedWith(t, Options{AgentActions: ActionPolicy{Tools: []string{"open_doc", "show_chart"}}}, func(r *rig, s *fakeservice.Socket) {
		var mu sync.Mutex // handlers of different calls run side by side
		var ran []string
		handler := func(_ context.Context, c event.ToolCall) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, c.Name+string(c.Args))
			return "done", nil
		}
		for _, name := range []string{"open_doc", "show_chart", "erase"} {
			must.Get(r.OnToolCall(name, handler, converse.ArgsSchema{"id": {Type: "int"}}))(t)
		}
		r.Forget()
		s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: "a", IsNewTurn: true})
		for range 2 {
			brain(s, "a", converse.Segment{Type: converse.Tool, Content: `open_doc {"id":1}{"id":2}`})
		}
		brain(s, "a", converse.Segment{Type: converse.ToolResponse, Content: "show_chart responded with size 113"})
		brain(s, "a", converse.Segment{Type: converse.Tool, Content: `erase {"id":3}`})
		brain(s, "a", converse.Segment{Type: converse.Tool, Content: `open_doc {"id":"x"}`})
		synctest.Wait()
		slices.Sort(ran)
		expect.List(t, ran, []string{`open_doc{"id":2}`, `show_chart{"id":1}`}, "ran")
		expect.Equal(t, len(all[event.ToolCallResult](r)), 2, "results")
		if d := all[event.AgentActionDenied](r); len(d) != 1 || d[0].ToolName != "erase" {
			t.Errorf("denied %+v", d)
		}
		expect.Equal(t, len(all[event.ToolCallInvalid](r)), 1, "invalid")
	})
}

func TestASpiralIsBrokenAndTheQuestionAskedAgain(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.say("Why?")
		for i := range 30 {
			brain(s, "a", converse.Segment{Type: converse.Tool, Content: `look {"n":` + string(rune('0'+i%10)) + `}`})
		}
		synctest.Wait()
		expect.Equal(t, len(all[event.ToolSpiralDetected](r)), 1, "soft signals")
		expect.Equal(t, len(all[event.ToolSpiralRecovering](r)), 1, "hard signals")
		if r.service.Dialled() != 2 || r.Snapshot().State != Connected {
			t.Fatalf("%d sockets, state %s", r.service.Dialled(), r.Snapshot().State)
		}
		again := r.service.Socket(1)
		again.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		synctest.Wait()
		want := []string{marker, `{"text":"Please answer in words only this turn, without calling any tool. Why?","isFinal":true}`}
		expect.List(t, again.Payloads(signaling.TextEntered), want, "asked again with")
	})
}

func TestAStalledBrainIsReportedUntilItSpeaks(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.say("Hello")
		time.Sleep(25 * second)
		brain(s, "a", converse.Segment{Type: converse.Avatar, Content: "Hi"})
		time.Sleep(60 * second)
		expect.List(t, all[event.BrainStalled](r), []event.BrainStalled{{AfterMs: 12000, Count: 1}, {AfterMs: 12000, Count: 2}}, "stalls")
	})
}

func TestAnEmptyTurnWithVariablesWarnsOnce(t *testing.T) {
	connectedWith(t, Options{Options: session.Options{RequestVars: map[string]any{"b": 1, "a": "secret"}}}, func(r *rig, s *fakeservice.Socket) {
		r.Forget()
		for _, id := range []string{"a", "b"} {
			s.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: id, IsNewTurn: true})
			s.Say(signaling.AgentEndTurn, signaling.EndTurn{SpeechID: id})
		}
		w := all[event.Warning](r)
		if len(w) != 1 || w[0].Code != fault.EmptyTurnWithRequestVars || !slices.Equal(w[0].RequestVarKeys, []string{"a", "b"}) {
			t.Errorf("warnings = %+v", w)
		}
	})
}

func TestVariablesAreSentWhole(t *testing.T) {
	connectedWith(t, Options{Options: session.Options{RequestVars: map[string]any{"name": "Sam"}}, ContextID: "991", ContextType: "category"}, func(r *rig, s *fakeservice.Socket) {
		r.must(r.UpdateRequestVars(map[string]any{"tier": 2}))
		r.must(r.SetDynamicPrompt(map[string]any{"slide": 3, "__proto__": 1}))
		expect.Error(t, r.UpdateRequestVars(map[string]any{"sys__ks": "x"}), fault.ValidationError, "reserved")
		synctest.Wait()
		want := []string{
			`{"capabilities":{"avatar":"on","generate_followup_questions":"on"},"request_vars":{"name":"Sam","tier":2},"contextId":"991","contextType":"category"}`,
			`{"capabilities":{"avatar":"on","generate_followup_questions":"on"},"request_vars":{"name":"Sam","page_context":"{\"slide\":3}","tier":2},"contextId":"991","contextType":"category"}`,
		}
		expect.List(t, s.Payloads(signaling.UpdateGenieContext), want, "sent")
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
		expect.Equal(t, len(r.turn.ended), maxEnded, "turns in mind")
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
		expect.Len(t, all[event.Warning](r), 0, "warnings")
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
		expect.List(t, got, []string{"one", "two"}, "shown")
	})
}
