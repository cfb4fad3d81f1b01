package native

import (
	"database/sql"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/chat"
	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestAQuestionThatIsNotStoredIsRefused, and may be asked again: in text with 503, which is a
// retryable error, and live with an error segment. A trigger refuses questions as a full disk
// does.
func TestAQuestionThatIsNotStoredIsRefused(t *testing.T) {
	dir := t.TempDir()
	leaktest.Check(t)
	service := start(t, localservice.Options{Data: dir})
	db := must.Get(sql.Open("sqlite", filepath.Join(dir, "localservice.db")))(t)
	defer db.Close()
	run := func(statement string) {
		t.Helper()
		must.Get(db.Exec(statement))(t)
	}
	c := connectChat(t, chat.OptionsFor(arrive(t, service, "receptionist")))
	defer c.Close()
	say := func(text string) string {
		t.Helper()
		turn, err := c.SendText(t.Context(), text, chat.TurnOptions{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return turn.Text
	}
	say("My name is Sam")
	b := newBot(t, service, "receptionist")
	defer b.Close()
	must.Do(t, b.Connect(t.Context()))
	_, next := await(b.recorder, 0, anyOf[event.AvatarStartTalking])

	const refuse = ` ON messages WHEN NEW.role = 'human' BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END`
	run(`CREATE TRIGGER full BEFORE INSERT` + refuse)
	_, err := c.SendText(t.Context(), "What is my name?", chat.TurnOptions{})
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Code != fault.ServerError || refused.Status != http.StatusServiceUnavailable || !refused.Retryable ||
		refused.Headers["retry-after"] == "" || !strings.Contains(refused.Detail, "could not be stored") {
		t.Errorf("in text: %#v", err)
	}
	must.Get(b.Speak(t.Context(), "Is it live?"))(t)
	said, next := await(b.recorder, next, func(e event.BrainSegment) bool { return e.Type == converse.Error })
	if !strings.Contains(said.ContentString(), "could not be stored") || !said.IsFinal {
		t.Errorf("live: %+v", said)
	}

	run(`DROP TRIGGER full`)
	if text := say("What is my name?"); !strings.Contains(text, "Sam") {
		t.Errorf("asked again: %q", text)
	}
	must.Get(b.Speak(t.Context(), "And now?"))(t)
	await(b.recorder, next, anyOf[event.AvatarStartTalking])
	b.Disconnect(session.DisconnectOptions{})
	await(b.recorder, 0, anyOf[event.Ended])
}
