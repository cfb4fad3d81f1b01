package dialogue

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// wants is a brain that needs a tool to be allowed.
var wants = brainFunc(func(_ context.Context, _ *brain.Question, out brain.Sink) error {
	if out.Consented("mail") {
		return out.Say("allowed")
	}
	return out.AskConsent("mail", "Your mail")
})

// stateOf returns the state in the address of an interruption.
func stateOf(t *testing.T, seg converse.Segment) string {
	t.Helper()
	var content struct {
		AuthURL string `json:"auth_url"`
	}
	must.Do(t, json.Unmarshal([]byte(seg.ContentString()), &content))
	address, err := url.Parse(content.AuthURL)
	if err != nil || address.Path != ConsentPath || address.Host != "talk.test" {
		t.Fatalf("address %q, %v", content.AuthURL, err)
	}
	return address.Query().Get(ConsentState)
}

func TestConsentIsAskedForOnAPageOfTheService(t *testing.T) {
	f := open(t, wants)
	f.cfg.Site = func() string { return "http://talk.test" }
	who := f.caller(store.Tools, "ann")
	for _, avatar := range []bool{false, true} {
		result, segments := f.turn(who, TurnRequest{Text: "x", Context: Context{Avatar: avatar}})
		if got := types(segments); got != "think interruption thread share think" {
			t.Fatalf("segments %s", got)
		}
		state := stateOf(t, segments[1])
		if name, given, ok := f.AskedConsent(state); name != "Your mail" || given || !ok {
			t.Errorf("asked for %q, given %v, known %v", name, given, ok)
		}
		if !f.GiveConsent(state) {
			t.Error("the state is unknown")
		}
		if again, _ := f.turn(who, TurnRequest{Text: "x", ThreadID: result.ThreadID}); again.Text != "allowed" {
			t.Errorf("allowed, the answer is %q", again.Text)
		}
	}
	if _, _, ok := f.AskedConsent("made up"); ok || f.GiveConsent("made up") {
		t.Error("a state that was made up is known")
	}
}

func TestOldConsentsAreForgotten(t *testing.T) {
	f := open(t, wants)
	first := f.requestConsent(consent{threadID: "a", tool: "mail"})
	for range rememberedConsents {
		f.requestConsent(consent{threadID: "b", tool: "mail"})
	}
	if _, _, ok := f.AskedConsent(first); ok || len(f.consents.byState) != rememberedConsents {
		t.Errorf("%d are known, the oldest %v", len(f.consents.byState), ok)
	}
}

func TestStoppedTurnsSayForHowLong(t *testing.T) {
	f := open(t, brainFunc(func(ctx context.Context, _ *brain.Question, out brain.Sink) error {
		if err := out.Say("Once"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	for reason, cause := range map[string]error{"client gone": ErrClientGone, "aborted": ErrAborted, "cancelled": nil} {
		f.log.Reset()
		ctx, cancel := context.WithCancelCause(t.Context())
		f.Turn(ctx, f.caller(store.Receptionist, "ann"), TurnRequest{Text: "x"}, func(seg converse.Segment) error { //nolint:errcheck // the log is looked at
			if seg.Type.Spoken() {
				cancel(cause)
			}
			return nil
		})
		line := f.log.String()
		for _, want := range []string{`msg="turn stopped"`, "reason=", reason, "ended_at=", "stopped_after="} {
			if !strings.Contains(line, want) {
				t.Errorf("%s: no %s in %s", reason, want, line)
			}
		}
	}
}
