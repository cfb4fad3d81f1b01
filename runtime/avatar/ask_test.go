package avatar

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestAskReturnsTheAnswerToItsText: not the end of the utterance that the text cuts.
func TestAskReturnsTheAnswerToItsText(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		socket := r.service.Socket(0)
		socket.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Hello."})
		utter := func(id, text string, end bool) {
			socket.Say(signaling.AgentStartSpeech, signaling.StartSpeech{SpeechID: id, TurnID: "turn " + id, IsNewTurn: true})
			socket.Say(signaling.StvStartedTalking, signaling.Empty{})
			if end {
				socket.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: text})
			}
		}
		utter("old", "", false)
		synctest.Wait()
		var answer Answer
		var err error
		done := make(chan struct{})
		go func() { defer close(done); answer, err = r.Ask(context.Background(), "And now?") }()
		synctest.Wait()
		socket.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "What was cut"})
		utter("new", "Now this.", true)
		<-done
		if err != nil || answer.Text != "Now this." || answer.SpeechID != "new" || answer.TurnID != "turn new" {
			t.Errorf("got %+v, %v", answer, err)
		}
	})
}

func TestAskEndsWithTheSessionAndTheContext(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		r.mustConnect()
		r.service.Socket(0).Say(signaling.StvFinishedTalking, signaling.FinishedTalking{AgentContent: "Hello."})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), second)
		defer cancel()
		expect.Fail(r.Ask(ctx, "Hello?"))(t, fault.Timeout, "at the deadline")
		failed := make(chan error, 1)
		go func() { _, err := r.Ask(context.Background(), "Hello?"); failed <- err }()
		synctest.Wait()
		r.Disconnect(session.DisconnectOptions{})
		if err := <-failed; !errors.Is(err, fault.NetworkError) { // the service has not confirmed the text
			t.Errorf("at the end: %v", err)
		}
		expect.Fail(r.Ask(context.Background(), "Hello?"))(t, fault.InvalidState, "after the end")
	})
}

// TestEventsEndWithTheSession: a loop gets every event until Close, also when it is slow.
func TestEventsEndWithTheSession(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		var got []event.Event
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e := range r.Session.Events(context.Background()) {
				got = append(got, e)
			}
		}()
		synctest.Wait()
		r.mustConnect()
		r.Close()
		<-done
		if recorded := len(r.Recorded()); len(got) == 0 || len(got) != recorded {
			t.Errorf("the loop got %d events, the listener %d", len(got), recorded)
		}
		for range r.Session.Events(context.Background()) {
			t.Error("an event after Close")
		}
	})
}

// TestATextIsOfOneConversation: what the application allows after the end is not sent in the next conversation.
func TestATextIsOfOneConversation(t *testing.T) {
	o := Options{BeforeSend: func(_ context.Context, text string, _ SendInfo) (string, error) {
		time.Sleep(second)
		return text, nil
	}}
	connectedWith(t, o, func(r *rig, _ *fakeservice.Socket) {
		outcome := make(chan error, 1)
		go func() { _, err := r.Speak(context.Background(), "Hello"); outcome <- err }()
		synctest.Wait()
		r.Disconnect(session.DisconnectOptions{})
		r.must(r.SetToken("next"))
		s := r.mustConnect()
		expect.Error(t, <-outcome, fault.InvalidState, "outcome")
		expect.Len(t, s.Payloads(signaling.TextEntered), 0, "texts in the next conversation")
	})
}
