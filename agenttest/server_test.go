//go:build !js

package agenttest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/agenttest"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/av"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

const menu = `
rules:
  - when: {contains: menu}
    steps: [{say: Soup of the day.}]
`

// patience is how long an event may take on a busy machine.
const patience = 30 * time.Second

func TestATurnInText(t *testing.T) {
	server := agenttest.NewServer(t)
	server.Script(menu)
	init := server.AppInit("receptionist")
	s := must.Get(chat.New(chat.Options{Options: session.Options{Token: init.KS, GenieURL: &init.GenieURL}}))(t)
	defer s.Close()
	must.Do(t, s.Connect(t.Context()))
	turn, err := s.SendText(t.Context(), "The menu, please", chat.TurnOptions{})
	if err != nil || turn.Text != "Soup of the day." {
		t.Errorf("got %q, %v", turn.Text, err)
	}
	if turns := server.Turns(); len(turns) != 1 || turns[0].Text != "The menu, please" || turns[0].Spoken {
		t.Errorf("turns %+v", turns)
	}
	s.Close()
	if ended, err := server.Completed(t.Context()); err != nil || !slices.Contains(ended, s.Snapshot().ThreadID) {
		t.Errorf("completed %q, %v", ended, err)
	}
}

// TestABotSpeaks: the service takes the words of what it hears from the test, and a bot that
// has lost the network comes back.
func TestABotSpeaks(t *testing.T) {
	server := agenttest.NewServer(t)
	server.Script(menu)
	events := make(chan event.Event, 1000)
	var mic av.Microphone
	o := avatar.OptionsFor(server.AppInit("silent"))
	o.AllowPrivateHosts = true
	o.Platform.OpenMicrophone = mic.Open
	o.OnEvent = func(e event.Event) { events <- e }
	s := must.Get(avatar.New(o))(t)
	defer s.Close()
	must.Do(t, s.Connect(t.Context()))

	server.Hear("What is on the menu?")
	speech := must.Get(av.FromFile("../e2e/testdata/speech.wav"))(t)
	must.Do(t, mic.Say(t.Context(), speech))
	await(t, events, func(e event.Event) bool {
		done, ok := e.(event.AvatarStopTalking)
		return ok && strings.Contains(done.Text, "Soup of the day")
	})

	mend := server.Cut()
	await(t, events, func(e event.Event) bool { _, ok := e.(event.Reconnecting); return ok })
	mend()
	await(t, events, func(e event.Event) bool { _, ok := e.(event.Reconnected); return ok })
}

func TestAnUnknownAgentIsNotFound(t *testing.T) {
	server := agenttest.NewServer(t)
	if _, err := server.Service.AppInit(t.Context(), "nobody"); !errors.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
	if err := server.SetScript("rules: [{wen: 1}]"); err == nil {
		t.Error("a misspelt script was accepted")
	}
}

func await(t *testing.T, events <-chan event.Event, is func(event.Event) bool) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case e := <-events:
			if is(e) {
				return
			}
		case <-late:
			t.Fatal("the event did not come")
		}
	}
}
