package live

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/localservice/dialogue"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/signaling"
)

func TestPauseCutsAndShortResumeGoesOn(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		counting(f)
		f.send(signaling.PauseConversation, signaling.Empty{})
		got := f.expect(signaling.StvFinishedTalking)
		expect.Equal(t, got[0].payload, `{"agentContent":"One two"}`, "spoken")
		f.say("Are you there?")
		f.wait(DefaultPauseWindow - time.Second)
		f.expect() // quiet, and no reply
		f.send(signaling.ResumeConversation, signaling.Empty{})
		f.expect(signaling.ConversationResumed)
		f.wait(DefaultPauseWindow)
		f.expect() // the window is not running any more
		f.say("Hello again")
		f.expect(signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentEndTurn)
	})
}

func TestPauseWhileThinkingEndsTheTurn(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.brain.answer = saying(time.Minute, "Late.")
		f.open()
		f.say("Hello")
		f.conn.take()
		f.send(signaling.PauseConversation, signaling.Empty{})
		f.expect(signaling.AgentEndTurn)
		f.wait(90 * time.Second)
		f.expect()
	})
}

func TestResumeAfterExpiryReplaysTheLastLine(t *testing.T) {
	runSession(t, talkative(), Timing{PauseWindow: 30 * time.Second}, func(f *fixture) {
		counting(f)
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		f.send(signaling.PauseConversation, signaling.Empty{})
		f.conn.take()
		f.wait(30 * time.Second)
		f.expect(signaling.PauseSessionExpired, signaling.SessionReadyForResume)
		expect.Equal(t, f.media.open, 0, "peers are left")
		f.say("Hello?")
		f.expect()

		f.send(signaling.ResumeConversation, signaling.Empty{})
		f.send(signaling.StvNewSession, signaling.RoomRequest{RoomID: "room1"})
		f.send(signaling.CheckAvailability, signaling.Empty{})
		f.expect(signaling.ResumingSession, signaling.StvNewSession, signaling.ShowAgent, signaling.AskPermissions, signaling.AvailabilityResult)
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		f.expect(signaling.ASRReady)
		f.send(signaling.ApprovedPermissions, signaling.Approval{Room: "room1"})
		f.wait(5 * time.Second)
		got := f.conn.take()
		if got[0].name != signaling.ConversationResumed || got[1].name != signaling.GeneratingSpeech {
			t.Fatalf("got %v", got)
		}
		if id, _ := got[1].field("speechId").(string); !strings.HasSuffix(id, "-resume-replay") {
			t.Errorf("speechId %q", id)
		}
		if last := got[len(got)-1]; last.payload != `{"agentContent":"One two three four five."}` {
			t.Errorf("replayed %s", last.payload)
		}
	})
}

// TestPauseBeforeTheApprovalStillOpens: a page may keep its approval back until
// its user has read a notice, and that user may take a long break first.
func TestPauseBeforeTheApprovalStillOpens(t *testing.T) {
	runSession(t, talkative(), Timing{PauseWindow: 30 * time.Second}, func(f *fixture) {
		f.ready()
		f.send(signaling.PauseConversation, signaling.Empty{})
		f.wait(30 * time.Second)
		f.send(signaling.ResumeConversation, signaling.Empty{})
		f.send(signaling.StvNewSession, signaling.RoomRequest{})
		f.conn.take()
		f.send(signaling.ApprovedPermissions, signaling.Approval{})
		f.wait(5 * time.Second)
		got := f.conn.take()
		if len(got) == 0 || got[0].name != signaling.ConversationResumed || got[len(got)-1].name != signaling.StvFinishedTalking {
			t.Fatalf("got %v", got)
		}
		if last := got[len(got)-1].field("agentContent"); last != f.s.openingPhrase {
			t.Errorf("said %q, want the opening %q", last, f.s.openingPhrase)
		}
		f.say("Hello")
		f.expect(signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentEndTurn)
	})
}

func TestPauseExpiresByCommand(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		expect.Error(t, f.s.Command(f.t.Context(), "expire-pause", &Request{}), ErrNotPaused, "error")
		f.send(signaling.PauseConversation, signaling.Empty{})
		must.Do(t, f.s.Command(f.t.Context(), "expire-pause", &Request{}))
		f.expect(signaling.PauseSessionExpired, signaling.SessionReadyForResume)
	})
}

// TestAPauseDropsATapWindow: what was said in it is not part of the next one.
func TestAPauseDropsATapWindow(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		f.send(signaling.TapToTalkStart, signaling.Empty{})
		f.send(signaling.PauseConversation, signaling.Empty{})
		f.send(signaling.ResumeConversation, signaling.Empty{})
		f.send(signaling.TapToTalkStart, signaling.Empty{})
		expect.Equal(t, f.media.mic.window(), "open drop open", "windows")
	})
}

func TestNewVideoSessionGoesOnWithTheUtterance(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		counting(f) // 250 of 500 samples were played
		old := f.media.downlink
		f.send(signaling.StvNewSession, signaling.RoomRequest{})
		got := f.expect(signaling.StvNewSession, signaling.ShowAgent, signaling.AskPermissions)
		expect.Equal(t, got[0].field("session_id"), "stv2", "reply %s", got[0].payload)
		if old == f.media.downlink || f.media.open != 1 {
			t.Error("the old downlink is still there")
		}
		expect.Equal(t, f.media.downlink.samples, 250, "the new one plays samples")
		f.wait(5 * time.Second)
		if last := f.conn.last(); last.payload != `{"agentContent":"One two three four five."}` {
			t.Errorf("end %v", last)
		}
	})
}

// TestAgentsOwnTimeLimit: the limit of the service, or of the agent without one, is told of
// before it ends the conversation.
func TestAgentsOwnTimeLimit(t *testing.T) {
	agent := talkative()
	agent.MaxConversation = 90 * time.Second
	for limit, run := range map[time.Duration]func(test func(*fixture)){
		5 * time.Minute: func(test func(*fixture)) {
			runSession(t, talkative(), Timing{Conversation: 5 * time.Minute, Warning: time.Minute}, test)
		},
		agent.MaxConversation: func(test func(*fixture)) { runSession(t, agent, Timing{}, test) },
	} {
		run(func(f *fixture) {
			f.open()
			f.wait(limit - time.Minute)
			if got := f.expect(signaling.ConversationTimeWarning); got[0].payload != `{"remainingTime":60}` {
				t.Errorf("got %s", got[0].payload)
			}
			f.wait(time.Minute)
			f.expect(signaling.ConversationTimeExpired, signaling.ConversationEnded)
			f.expectGone()
		})
	}
}

func TestSilentUserIsCheckedOnAndLeft(t *testing.T) {
	openSession(t, talkative(), Timing{WakeUp: 20 * time.Second, Goodbye: 10 * time.Second}, func(f *fixture) {
		f.wait(16 * time.Second) // the opening ended 4.25 s ago
		got := f.conn.take()
		if id, _ := got[0].field("speechId").(string); !strings.HasSuffix(id, signaling.SuffixWakeUp) {
			t.Fatalf("got %v", got)
		}
		f.wait(15 * time.Second)
		var names []string
		for _, e := range f.conn.take() {
			names = append(names, e.name)
		}
		if n := len(names); n < 2 || names[n-1] != signaling.ConversationEnded || names[n-2] != signaling.StvFinishedTalking {
			t.Errorf("got %q", names)
		}
	})
}

// TestAnInterruptionIsNotALastSignOfLife: a noise may cut what the agent says, and nobody be there.
func TestAnInterruptionIsNotALastSignOfLife(t *testing.T) {
	runSession(t, talkative(), Timing{Goodbye: 10 * time.Second}, func(f *fixture) {
		counting(f)
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		f.media.mic.speaking.Store(true)
		f.media.started()
		f.wait(15 * time.Second)
		if f.conn.gone() {
			t.Fatal("the agent hangs up while the user speaks")
		}
		f.media.mic.speaking.Store(false)
		f.wait(25 * time.Second)
		if !f.conn.gone() {
			t.Error("the agent waits for ever")
		}
	})
}

// TestAnswerToACheckInIsASignOfLife: the text itself is dropped, because a
// check-in can't be interrupted, but it shows that the visitor is still there.
func TestAnswerToACheckInIsASignOfLife(t *testing.T) {
	openSession(t, talkative(), Timing{WakeUp: 20 * time.Second, Goodbye: 10 * time.Second}, func(f *fixture) {
		f.wait(16 * time.Second)
		f.say("Yes!")
		f.wait(15 * time.Second)
		if f.conn.gone() {
			t.Error("left all the same")
		}
		expect.Len(t, f.brain.questions(), 0, "answered")
	})
}

func TestTapToTalk(t *testing.T) {
	profile := talkative()
	profile.TapToTalk = true
	runSession(t, profile, Timing{}, func(f *fixture) {
		f.join()
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		counting(f)
		if !f.media.tapOnly {
			t.Error("the microphone is open although only the button counts")
		}
		f.send(signaling.TapToTalkStart, signaling.Empty{})
		f.expect(signaling.AgentInterrupted, signaling.StvFinishedTalking)
		f.wait(time.Second)
		f.send(signaling.TapToTalkEnd, signaling.Empty{})
		f.wait(tapSettles - time.Millisecond)
		expect.Equal(t, f.media.mic.window(), "open", "window before its last words are in")
		f.wait(time.Millisecond)
		expect.Equal(t, f.media.mic.window(), "open close", "window")
		f.media.ended("", true)
		synctest.Wait()
		f.expect() // an empty window is no turn
		f.media.ended("what now", true)
		synctest.Wait()
		got := f.expect(signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentEndTurn)
		if id, _ := got[0].field("speechId").(string); !strings.HasSuffix(id, "-tap-to-talk") {
			t.Errorf("speechId %q", id)
		}

		f.send(signaling.TapToTalkStart, signaling.Empty{})
		f.wait(longestTap + tapSettles)
		expect.Equal(t, f.media.mic.window(), "open close open close", "a window without an end")
	})
}

func TestMutedMicrophoneIsNotHeard(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		f.send(signaling.MuteUser, signaling.Empty{})
		if !f.media.mic.muted {
			t.Error("the microphone does not know")
		}
		f.media.started()
		synctest.Wait()
		f.expect(signaling.ASRReady)
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		if !f.media.mic.muted {
			t.Error("a new peer forgets it")
		}
		f.send(signaling.UnmuteUser, signaling.Empty{})
		f.media.started()
		synctest.Wait()
		f.expect(signaling.ASRReady, signaling.UserStartedTalking)
	})
}

func TestBadMicrophoneOfferIsAnswered(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.ASRInit, signaling.ASRInitRequest{})
		f.send(signaling.ASROffer, signaling.Offer{})
		got := f.expect(signaling.ASRReady, signaling.ASRError)
		if got[1].payload != `{"error":"offer refused"}` {
			t.Errorf("got %s", got[1].payload)
		}
	})
}

func TestStillsAreBounded(t *testing.T) {
	profile := talkative()
	profile.ScreenShare = true
	openSession(t, profile, Timing{}, func(f *fixture) {
		picture := append([]byte("\xff\xd8\xff"), make([]byte, 1000)...)
		f.send(signaling.ScreenShareShot, still{picture})
		f.send(signaling.ScreenShareShot, still{picture}) // too soon
		f.wait(time.Second)
		f.send(signaling.ScreenShareShot, still{append([]byte("\xff\xd8\xff"), make([]byte, maxStill)...)})
		f.send(signaling.ScreenShareShot, still{[]byte("<svg/>")})
		info := must.Get(f.s.Info(f.t.Context()))(t)
		if info.StillsAccepted != 1 || info.StillsRefused != 3 {
			t.Errorf("accepted %d, refused %d", info.StillsAccepted, info.StillsRefused)
		}
		f.say("What do you see?")
		f.say("And now?")
		expect.Equal(t, len(f.brain.asked[0].Screen), len(picture), "the brain sees bytes")
		if !f.brain.asked[0].Context.ScreenShare || f.brain.asked[1].Screen != nil {
			t.Error("the second turn sees the same still again")
		}
		f.send(signaling.ScreenShareShot, still{picture})
		f.brain.answer = saying(time.Minute, "A tree.")
		f.say("And what")
		f.say("is on the left?") // the same turn
		if last := f.brain.asked[len(f.brain.asked)-1]; last.Text != "And what\nis on the left?" || len(last.Screen) != len(picture) {
			t.Errorf("%q is asked about %d bytes", last.Text, len(last.Screen))
		}
	})
}

// TestCameraStillsReachTheBrain when the agent analyses them, beside those of the screen,
// and are no screen share.
func TestCameraStillsReachTheBrain(t *testing.T) {
	profile := talkative()
	profile.CameraAnalysis = true
	openSession(t, profile, Timing{}, func(f *fixture) {
		picture := []byte("\x89PNG\r\n\x1a\n picture")
		f.send(signaling.CameraShot, still{picture})
		f.send(signaling.ScreenShareShot, still{picture}) // is not enabled
		f.say("What do you see?")
		f.say("And now?")
		if got := f.brain.asked[0]; string(got.Camera) != string(picture) || got.Screen != nil || got.Context.ScreenShare {
			t.Errorf("the brain sees %q and %q", got.Camera, got.Screen)
		}
		if f.brain.asked[1].Camera != nil {
			t.Error("the second turn sees the same still again")
		}
	})
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.CameraShot, still{[]byte("\xff\xd8\xff")})
		f.say("What do you see?")
		if f.brain.asked[0].Camera != nil {
			t.Error("an agent without camera analysis sees a still")
		}
	})
}

func TestClickStartsATurn(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.HTMLElementClick, signaling.HTMLClick{HTMLText: "Buy"})
		got := f.expect(signaling.AgentStartSpeech, signaling.AgentTurnToTalk, signaling.AgentEndTurn)
		expect.Equal(t, got[1].payload, `{}`, "turn")
		if r := f.brain.asked[0]; r.Trigger != "html-element-click" || r.Text != "Buy" {
			t.Errorf("asked %q by %q", r.Text, r.Trigger)
		}
	})
}

func TestFormIsStoredWithTheThread(t *testing.T) {
	openSession(t, talkative(), Timing{}, func(f *fixture) {
		f.send(signaling.FormLeadInfo, map[string]any{"email": "sam@example.com"})
		form, _ := f.brain.analysis[dialogue.FormKey].(map[string]any)
		expect.Equal(t, form["email"], "sam@example.com", "stored %v", f.brain.analysis)
	})
}

func TestDebugEventsOnlyOnRequest(t *testing.T) {
	for query, want := range map[string]bool{"debugMode=true": true, "debugMode=1": true, "debugMode=yes": false, "": false} {
		t.Run(query, func(t *testing.T) {
			runSessionAs(t, query, talkative(), Timing{}, func(f *fixture) {
				f.open()
				f.say("Hello")
				got := false
				for _, e := range f.conn.take() {
					got = got || strings.HasPrefix(e.name, "debug_")
				}
				expect.Equal(t, got, want, "debug events")
			})
		})
	}
}

// TestSlotWithoutAViewer: a picture that has no viewer for 30 s gives up its slot; the
// session stays and may ask for another.
func TestSlotWithoutAViewer(t *testing.T) {
	runSession(t, talkative(), Timing{}, func(f *fixture) {
		f.media.viewerLost.Store(new(time.Now()))
		f.ready()
		f.wait(DefaultUnwatched - time.Millisecond)
		expect.Equal(t, f.slots(), 1, "slots are taken before the time")
		f.wait(time.Millisecond)
		if f.slots() != 0 || f.media.open != 0 {
			t.Errorf("%d slots and %d peers are left", f.slots(), f.media.open)
		}
		f.media.viewerLost.Store(nil)
		f.send(signaling.StvNewSession, signaling.RoomRequest{RoomID: "room1"})
		f.wait(2*DefaultUnwatched + time.Second)
		expect.Equal(t, f.slots(), 1, "slots are taken by a session with a viewer")
		for _, back := range []bool{true, false} {
			f.media.viewerLost.Store(new(time.Now()))
			f.wait(DefaultUnwatched - time.Millisecond)
			expect.Equal(t, f.slots(), 1, "slots are taken before the time after a lost viewer")
			if back {
				f.media.viewerLost.Store(nil)
			}
			f.wait(DefaultUnwatched / 2)
			expect.Equal(t, f.slots(), map[bool]int{true: 1, false: 0}[back], "viewer back %v slots are taken", back)
		}
	})
}

// slots are those that are taken.
func (f *fixture) slots() int {
	return f.hub.calls.Total()
}
