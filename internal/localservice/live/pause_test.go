package live

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentruntime/agentruntime/runtime/control"
)

func TestPauseCutsAndShortResumeGoesOn(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		counting(st)
		st.send(control.PauseConversation, control.Empty{})
		got := st.expect(control.StvFinishedTalking)
		if got[0].payload != `{"agentContent":"One two"}` {
			t.Errorf("spoken %s", got[0].payload)
		}
		st.say("Are you there?")
		st.wait(DefaultPauseWindow - time.Second)
		st.expect() // quiet, and no reply
		st.send(control.ResumeConversation, control.Empty{})
		st.expect(control.ConversationResumed)
		st.wait(DefaultPauseWindow)
		st.expect() // the window is not running any more
		st.say("Hello again")
		st.expect(control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentEndTurn)
	})
}

func TestPauseWhileThinkingEndsTheTurn(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.brain.answer = saying(time.Minute, "Late.")
		st.open()
		st.say("Hello")
		st.conn.take()
		st.send(control.PauseConversation, control.Empty{})
		st.expect(control.AgentEndTurn)
		st.wait(90 * time.Second)
		st.expect()
	})
}

func TestResumeAfterExpiryReplaysTheLastLine(t *testing.T) {
	play(t, talkative(), Timing{PauseWindow: 30 * time.Second}, func(st *stage) {
		counting(st)
		st.send(control.ASRInit, control.ASRInitRequest{})
		st.send(control.PauseConversation, control.Empty{})
		st.conn.take()
		st.wait(30 * time.Second)
		st.expect(control.PauseSessionExpired, control.SessionReadyForResume)
		if st.media.open != 0 {
			t.Errorf("%d peers are left", st.media.open)
		}
		st.say("Hello?")
		st.expect()

		st.send(control.ResumeConversation, control.Empty{})
		st.send(control.StvNewSession, control.RoomRequest{RoomID: "room1"})
		st.send(control.CheckAvailability, control.Empty{})
		st.expect(control.ResumingSession, control.StvNewSession, control.ShowAgent, control.AskPermissions, control.AvailabilityResult)
		st.send(control.ASRInit, control.ASRInitRequest{})
		st.expect(control.ASRReady)
		st.send(control.ApprovedPermissions, control.Approval{Room: "room1"})
		st.wait(5 * time.Second)
		got := st.conn.take()
		if got[0].name != control.ConversationResumed || got[1].name != control.GeneratingSpeech {
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
	play(t, talkative(), Timing{PauseWindow: 30 * time.Second}, func(st *stage) {
		st.ready()
		st.send(control.PauseConversation, control.Empty{})
		st.wait(30 * time.Second)
		st.send(control.ResumeConversation, control.Empty{})
		st.send(control.StvNewSession, control.RoomRequest{})
		st.conn.take()
		st.send(control.ApprovedPermissions, control.Approval{})
		st.wait(5 * time.Second)
		got := st.conn.take()
		if len(got) == 0 || got[0].name != control.ConversationResumed || got[len(got)-1].name != control.StvFinishedTalking {
			t.Fatalf("got %v", got)
		}
		if last := got[len(got)-1].field("agentContent"); last != st.s.openingPhrase {
			t.Errorf("said %q, want the opening %q", last, st.s.openingPhrase)
		}
		st.say("Hello")
		st.expect(control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentEndTurn)
	})
}

func TestResumeWithoutPauseIsHarmless(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.send(control.ResumeConversation, control.Empty{})
		st.expect(control.ConversationResumed)
		st.say("Hello")
		st.expect(control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentEndTurn)
	})
}

func TestPauseExpiresByCommand(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		if err := st.s.ExpirePause(st.t.Context()); !errors.Is(err, ErrNotPaused) {
			t.Errorf("error %v, want %v", err, ErrNotPaused)
		}
		st.send(control.PauseConversation, control.Empty{})
		if err := st.s.ExpirePause(st.t.Context()); err != nil {
			t.Fatal(err)
		}
		st.expect(control.PauseSessionExpired, control.SessionReadyForResume)
	})
}

func TestPauseDuringTheOpeningReleasesHeldText(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.ready()
		st.send(control.ApprovedPermissions, control.Approval{})
		st.conn.take()
		st.send(control.PauseConversation, control.Empty{})
		st.expect(control.StvFinishedTalking)
	})
}

func TestNewVideoSessionGoesOnWithTheUtterance(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		counting(st) // 250 of 500 samples were heard
		old := st.media.downlink
		st.send(control.StvNewSession, control.RoomRequest{})
		got := st.expect(control.StvNewSession, control.ShowAgent, control.AskPermissions)
		if got[0].field("session_id") != "stv2" {
			t.Errorf("reply %s", got[0].payload)
		}
		if old == st.media.downlink || st.media.open != 1 {
			t.Error("the old downlink is still there")
		}
		if n := st.media.downlink.samples; n != 250 {
			t.Errorf("the new one plays %d samples, want 250", n)
		}
		st.wait(5 * time.Second)
		if last := st.conn.last(); last.payload != `{"agentContent":"One two three four five."}` {
			t.Errorf("end %v", last)
		}
	})
}

func TestTimeLimitWarnsThenEnds(t *testing.T) {
	play(t, talkative(), Timing{Conversation: 5 * time.Minute, Warning: time.Minute}, func(st *stage) {
		st.open()
		st.wait(4 * time.Minute)
		if got := st.expect(control.ConversationTimeWarning); got[0].payload != `{"remainingTime":60}` {
			t.Errorf("got %s", got[0].payload)
		}
		st.wait(time.Minute)
		st.expect(control.ConversationTimeExpired, control.ConversationEnded)
		if !st.conn.gone() {
			t.Error("the socket was left open")
		}
	})
}

func TestSilentUserIsCheckedOnAndLeft(t *testing.T) {
	play(t, talkative(), Timing{WakeUp: 20 * time.Second, Goodbye: 10 * time.Second}, func(st *stage) {
		st.open()
		st.wait(16 * time.Second) // the opening ended 4.25 s ago
		got := st.conn.take()
		if id, _ := got[0].field("speechId").(string); !strings.HasSuffix(id, control.SuffixWakeUp) {
			t.Fatalf("got %v", got)
		}
		st.wait(15 * time.Second)
		var names []string
		for _, e := range st.conn.take() {
			names = append(names, e.name)
		}
		if n := len(names); n < 2 || names[n-1] != control.ConversationEnded || names[n-2] != control.StvFinishedTalking {
			t.Errorf("got %q", names)
		}
	})
}

// TestAnswerToACheckInIsASignOfLife: the text itself is dropped, because a
// check-in can't be interrupted, but nobody is left who types.
func TestAnswerToACheckInIsASignOfLife(t *testing.T) {
	play(t, talkative(), Timing{WakeUp: 20 * time.Second, Goodbye: 10 * time.Second}, func(st *stage) {
		st.open()
		st.wait(16 * time.Second)
		st.say("Yes!")
		st.wait(15 * time.Second)
		if st.conn.gone() {
			t.Error("left all the same")
		}
		if q := st.brain.questions(); len(q) != 0 {
			t.Errorf("answered %q", q)
		}
	})
}

func TestTapToTalk(t *testing.T) {
	profile := talkative()
	profile.TapToTalk = true
	play(t, profile, Timing{}, func(st *stage) {
		st.join()
		st.send(control.ASRInit, control.ASRInitRequest{})
		counting(st)
		if !st.media.tapOnly {
			t.Error("the microphone is open although only the button counts")
		}
		st.send(control.TapToTalkStart, control.Empty{})
		st.expect(control.AgentInterrupted, control.StvFinishedTalking)
		st.wait(time.Second)
		st.send(control.TapToTalkEnd, control.Empty{})
		st.wait(tapSettles - time.Millisecond)
		if got := st.media.mic.window(); got != "open" {
			t.Errorf("window %q before its last words are in", got)
		}
		st.wait(time.Millisecond)
		if got := st.media.mic.window(); got != "open close" {
			t.Errorf("window %q", got)
		}
		st.media.handler.SpeechRecognized("")
		synctest.Wait()
		st.expect() // an empty window is no turn
		st.media.handler.SpeechRecognized("what now")
		synctest.Wait()
		got := st.expect(control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentEndTurn)
		if id, _ := got[0].field("speechId").(string); !strings.HasSuffix(id, "-tap-to-talk") {
			t.Errorf("speechId %q", id)
		}

		st.send(control.TapToTalkStart, control.Empty{})
		st.wait(longestTap + tapSettles)
		if got := st.media.mic.window(); got != "open close open close" {
			t.Errorf("a window without an end: %q", got)
		}
	})
}

func TestMutedMicrophoneIsNotHeard(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.send(control.ASRInit, control.ASRInitRequest{})
		st.send(control.MuteUser, control.Empty{})
		if !st.media.mic.muted {
			t.Error("the microphone does not know")
		}
		st.media.handler.SpeechStarted()
		synctest.Wait()
		st.expect(control.ASRReady)
		st.send(control.ASRInit, control.ASRInitRequest{})
		if !st.media.mic.muted {
			t.Error("a new peer forgets it")
		}
		st.send(control.UnmuteUser, control.Empty{})
		st.media.handler.SpeechStarted()
		synctest.Wait()
		st.expect(control.ASRReady, control.UserStartedTalking)
	})
}

func TestBadMicrophoneOfferIsAnswered(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.send(control.ASRInit, control.ASRInitRequest{})
		st.send(control.ASROffer, control.Offer{})
		got := st.expect(control.ASRReady, control.ASRError)
		if got[1].payload != `{"error":"offer refused"}` {
			t.Errorf("got %s", got[1].payload)
		}
	})
}

func TestStillsAreBounded(t *testing.T) {
	profile := talkative()
	profile.ScreenShare = true
	play(t, profile, Timing{}, func(st *stage) {
		st.open()
		picture := append([]byte("\xff\xd8\xff"), make([]byte, 1000)...)
		st.send(control.ScreenShareShot, still{picture})
		st.send(control.ScreenShareShot, still{picture}) // too soon
		st.wait(time.Second)
		st.send(control.ScreenShareShot, still{append([]byte("\xff\xd8\xff"), make([]byte, maxStill)...)})
		st.send(control.ScreenShareShot, still{[]byte("<svg/>")})
		info, err := st.s.Info(st.t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if info.StillsAccepted != 1 || info.StillsRefused != 3 {
			t.Errorf("accepted %d, refused %d", info.StillsAccepted, info.StillsRefused)
		}
		st.say("What do you see?")
		st.say("And now?")
		if n := len(st.brain.asked[0].Image); n != len(picture) {
			t.Errorf("the brain sees %d bytes, want %d", n, len(picture))
		}
		if !st.brain.asked[0].Context.ScreenShare || st.brain.asked[1].Image != nil {
			t.Error("the second turn sees the same still again")
		}
	})
}

func TestClickStartsATurn(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.send(control.HTMLElementClick, control.HTMLClick{HTMLText: "Buy"})
		got := st.expect(control.AgentStartSpeech, control.AgentTurnToTalk, control.AgentEndTurn)
		if got[1].payload != `{}` {
			t.Errorf("turn %s", got[1].payload)
		}
		if r := st.brain.asked[0]; r.Trigger != "html-element-click" || r.Text != "Buy" {
			t.Errorf("asked %q by %q", r.Text, r.Trigger)
		}
	})
}

func TestFormIsStoredWithTheThread(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.open()
		st.send(control.FormLeadInfo, map[string]any{"email": "sam@example.com"})
		form, _ := st.brain.analysis[formKey].(map[string]any)
		if form["email"] != "sam@example.com" {
			t.Errorf("stored %v", st.brain.analysis)
		}
	})
}

func TestDebugEventsOnlyOnRequest(t *testing.T) {
	for query, want := range map[string]bool{"debugMode=true": true, "debugMode=1": true, "debugMode=yes": false, "": false} {
		t.Run(query, func(t *testing.T) {
			playAs(t, query, talkative(), Timing{}, func(st *stage) {
				st.open()
				st.say("Hello")
				got := false
				for _, e := range st.conn.take() {
					got = got || strings.HasPrefix(e.name, "debug_")
				}
				if got != want {
					t.Errorf("debug events %v, want %v", got, want)
				}
			})
		})
	}
}

// TestSlotWithoutAViewer: a picture that nobody comes for gives up its slot after
// 30 s; the session stays and may ask for another.
func TestSlotWithoutAViewer(t *testing.T) {
	play(t, talkative(), Timing{}, func(st *stage) {
		st.media.unwatched = true
		st.ready()
		st.wait(DefaultUnwatched - time.Millisecond)
		if st.slots() != 1 {
			t.Errorf("%d slots are taken before the time, want 1", st.slots())
		}
		st.wait(time.Millisecond)
		if st.slots() != 0 || st.media.open != 0 {
			t.Errorf("%d slots and %d peers are left", st.slots(), st.media.open)
		}
		st.media.unwatched = false
		st.send(control.StvNewSession, control.RoomRequest{RoomID: "room1"})
		st.wait(2 * DefaultUnwatched)
		if st.slots() != 1 {
			t.Errorf("%d slots are taken by a session with a viewer, want 1", st.slots())
		}
	})
}

// slots are those that are taken.
func (st *stage) slots() int {
	st.hub.mu.Lock()
	defer st.hub.mu.Unlock()
	return st.hub.calls
}
