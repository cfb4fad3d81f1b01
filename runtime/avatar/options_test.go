package avatar

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/event"
	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

func TestOptionsAreCheckedBeforeAnythingIsOpened(t *testing.T) {
	text := func(s string) *string { return &s }
	level := func(f float64) *float64 { return &f }
	for name, c := range map[string]struct {
		o    Options
		want fault.Code
	}{
		"no token":              {Options{}, fault.BadRequest},
		"unknown kind of token": {Options{Options: session.Options{Token: "t", Kind: "ticket"}}, fault.BadRequest},
		"administrator's token": {Options{Options: session.Options{Token: "t", Kind: appinit.AdminToken}}, fault.WrongTokenScope},
		"what appInit gives":    {OptionsFor(&appinit.Result{KS: "t", Kind: appinit.AdminToken, GenieURL: "https://genie.example"}), fault.WrongTokenScope},
		"unknown region":        {Options{Options: session.Options{Token: "t", Region: text("mars")}}, fault.BadRequest},
		"empty genieUrl":        {Options{Options: session.Options{Token: "t", GenieURL: text("")}}, fault.BadRequest},
		"public http":           {Options{Options: session.Options{Token: "t"}, ConversationURL: "http://talk.example"}, fault.InsecureTransport},
		"public media http":     {Options{Options: session.Options{Token: "t"}, SRSBaseURL: "http://media.example"}, fault.InsecureTransport},
		"user in the address":   {Options{Options: session.Options{Token: "t"}, ConversationURL: "https://u:p@talk.example"}, fault.BadRequest},
		"mic mode":              {Options{Options: session.Options{Token: "t"}, MicStart: "later"}, fault.BadRequest},
		"ICE policy":            {Options{Options: session.Options{Token: "t"}, ICETransportPolicy: "host"}, fault.BadRequest},
		"unreachable level":     {Options{Options: session.Options{Token: "t"}, LocalVADThreshold: level(4080.5)}, fault.BadRequest},
		"highest level":         {Options{Options: session.Options{Token: "t"}, LocalVADThreshold: level(4080)}, ""},
		"reserved variable":     {Options{Options: session.Options{Token: "t", RequestVars: map[string]any{"sys__ks": "x"}}}, fault.ValidationError},
		"nested variable":       {Options{Options: session.Options{Token: "t", RequestVars: map[string]any{"a": []any{}}}}, fault.ValidationError},
		"unknown capability":    {Options{Options: session.Options{Token: "t", Capabilities: map[string]string{"fly": "on"}}}, fault.UnknownCapability},
		"state of capability":   {Options{Options: session.Options{Token: "t", Capabilities: map[string]string{"avatar": "yes"}}}, fault.BadRequest},
		"allowed with a switch": {Options{Options: session.Options{Token: "t", AllowInsecureTransport: true}, ConversationURL: "http://talk.example"}, ""},
	} {
		c.o.Media = instead(&fakeMedia{})
		_, err := New(c.o)
		if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestDefaultsAreTheProtocols(t *testing.T) {
	s := must.Get(New(Options{Media: instead(&fakeMedia{}), Options: session.Options{Token: "djJ8NTUwMXxlbmNyeXB0ZWQ", Kickoff: &event.Kickoff{Text: "  "}}}))(t)
	snap := s.Snapshot()
	expect.Equal(t, snap.PartnerID, "5501", "partner")
	if snap.State != Idle || snap.Kickoff != nil || !snap.Capabilities.Interruptions || snap.Capabilities.TapToTalk {
		t.Errorf("snapshot = %+v", snap)
	}
	if *s.opts.GenieURL != "https://genie.nvp1.ovp.kaltura.com" || s.opts.ConversationURL != "https://conversation.avatar.us.kaltura.ai" {
		t.Errorf("hosts %s, %s", *s.opts.GenieURL, s.opts.ConversationURL)
	}
}
