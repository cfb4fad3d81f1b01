package avatar

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/fakeservice"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/media"
	"github.com/agentruntime/agentruntime/runtime/session"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

// TestAPreparedConnectionKnowsItsThread, so that the end of its conversation can be reported.
func TestAPreparedConnectionKnowsItsThread(t *testing.T) {
	run(t, Options{}, func(r *rig) {
		join := r.service.Answer[signaling.Join]
		r.service.Answer[signaling.Join] = func(s *fakeservice.Socket, p fakeservice.Event) {
			delta, err := json.Marshal(converse.Segment{Role: "assistant", Type: converse.InitResponse, Content: "", ThreadID: "thread-1"})
			if err != nil {
				t.Error(err)
			}
			s.Say(signaling.AgentRawText, signaling.RawText{Delta: string(delta)})
			join(s, p)
		}
		r.must(r.Prepare(context.Background()))
		expect.Len(t, all[event.BrainSegment](r), 0, "preparing emitted")
		r.mustConnect()
		expect.Equal(t, r.Snapshot().ThreadID, "thread-1", "thread")
		if got := all[event.BrainSegment](r); len(got) != 1 || got[0].ThreadID != "thread-1" {
			t.Errorf("segments %+v", got)
		}
		r.Disconnect(session.DisconnectOptions{})
		if got := all[event.SessionCompleted](r); len(got) != 1 || !got[0].Sent {
			t.Errorf("completed %+v", got)
		}
	})
}

// TestAnAcknowledgementDuringAPauseCountsWhenThatEnds: the service gets both the resume and
// the approval, so that the opening is spoken and texts are sent.
func TestAnAcknowledgementDuringAPauseCountsWhenThatEnds(t *testing.T) {
	run(t, Options{RequireDisclosureAck: true}, func(r *rig) {
		s := r.connectOnly()
		r.must(r.Pause())
		r.AcknowledgeDisclosure()
		left := r.speakLater("Hello")
		r.must(r.Resume(context.Background()))
		names := s.Names()
		want := []string{signaling.PauseConversation, signaling.ResumeConversation, signaling.ApprovedPermissions}
		expect.List(t, names[len(names)-3:], want, "sent")
		s.Say(signaling.StvFinishedTalking, signaling.FinishedTalking{})
		if !<-left {
			t.Error("the text did not leave")
		}
	})
}

// TestALateConfirmationDoesNotEndAPause that began after the resume that it confirms.
func TestALateConfirmationDoesNotEndAPause(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.must(errors.Join(r.Pause(), r.Resume(context.Background()), r.Pause()))
		s.Say(signaling.ConversationResumed, signaling.Empty{})
		left := r.speakLater("Hello")
		if !r.Snapshot().Paused || len(all[event.Resumed](r)) != 0 || len(s.Payloads(signaling.TextEntered)) != 0 {
			t.Errorf("paused %v, events %+v, sent %q", r.Snapshot().Paused, all[event.Resumed](r), s.Payloads(signaling.TextEntered))
		}
		r.must(r.Resume(context.Background()))
		s.Say(signaling.ConversationResumed, signaling.Empty{})
		if !<-left || r.Snapshot().Paused || len(all[event.Resumed](r)) != 1 {
			t.Errorf("paused %v, events %+v", r.Snapshot().Paused, all[event.Resumed](r))
		}
	})
}

// TestMediaReleasedDuringAnAnnouncedResumeAreMadeAgain: the session is not paused, so that no call
// would make them.
func TestMediaReleasedDuringAnAnnouncedResumeAreMadeAgain(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		first := r.media.Subscriber
		s.Say(signaling.ResumingSession, signaling.Empty{})
		s.Say(signaling.PauseSessionExpired, signaling.Empty{})
		synctest.Wait()
		s.Say(signaling.ConversationResumed, signaling.Empty{})
		time.Sleep(2 * r.opts.Limits.HealthTick)
		synctest.Wait()
		if state := r.Snapshot().State; state != Connected || !first.Closed || r.media.Subscriber == first {
			t.Errorf("%s, the picture was closed: %v", state, first.Closed)
		}
		r.Forget()
		r.media.Subscriber.Notify(media.Event{Kind: media.PeerState, Channel: event.ChannelSTV, State: "failed"})
		expect.Len(t, all[event.MediaRecovering](r), 1, "the new media are not watched")
	})
}

// TestEachAnnouncedResumeHasItsOwnLimit, also if it follows another.
func TestEachAnnouncedResumeHasItsOwnLimit(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		limit := r.opts.Limits.Recover
		s.Say(signaling.ResumingSession, signaling.Empty{})
		s.Say(signaling.ConversationResumed, signaling.Empty{})
		time.Sleep(limit - second)
		s.Say(signaling.ResumingSession, signaling.Empty{})
		for _, step := range []struct {
			wait time.Duration
			want State
		}{{2 * second, Resuming}, {limit, Connected}} {
			time.Sleep(step.wait)
			synctest.Wait()
			if state := r.Snapshot().State; state != step.want {
				t.Errorf("%s, want %s", state, step.want)
			}
		}
	})
}

// TestAPauseClosesTheTapWindow: otherwise typing is refused for ever.
func TestAPauseClosesTheTapWindow(t *testing.T) {
	connected(t, func(r *rig, s *fakeservice.Socket) {
		r.must(r.StartMic(context.Background()))
		r.must(errors.Join(r.StartTapToTalk(), r.Pause()))
		if r.Snapshot().TapToTalkActive || len(all[event.TapToTalkEnded](r)) != 1 || r.Snapshot().ResponsePending {
			t.Errorf("snapshot %+v, ended %d times", r.Snapshot(), len(all[event.TapToTalkEnded](r)))
		}
		names := s.Names()
		want := []string{signaling.TapToTalkStart, signaling.TapToTalkEnd, signaling.PauseConversation}
		expect.List(t, names[len(names)-3:], want, "sent")
	})
}

// TestATapIsATurn: the service owes an answer when the window closes, and what waited for that leaves.
func TestATapIsATurn(t *testing.T) {
	run(t, Options{Options: session.Options{Kickoff: &event.Kickoff{Text: "Begin"}}}, func(r *rig) {
		r.HoldKickoff(true)
		s := r.mustConnect()
		r.Forget()
		r.must(r.StartTapToTalk())
		r.HoldKickoff(false)
		r.wantEvents("tapToTalkStarted")
		r.must(r.EndTapToTalk())
		r.wantEvents("tapToTalkStarted", "tapToTalkEnded", "responsePending")
		names := s.Names()
		want := []string{signaling.TapToTalkStart, signaling.TapToTalkEnd, signaling.TextEntered, signaling.TextEntered}
		if got := names[len(names)-4:]; !slices.Equal(got, want) || r.Snapshot().TapToTalkActive {
			t.Errorf("sent %q, want %q at the end", got, want)
		}
	})
	connected(t, func(r *rig, _ *fakeservice.Socket) {
		r.must(r.StartTapToTalk())
		r.must(r.EndTapToTalk())
		if !r.Snapshot().ResponsePending {
			t.Error("no answer is awaited")
		}
		time.Sleep(12 * second)
		expect.Len(t, all[event.BrainStalled](r), 1, "stalls")
	})
}
