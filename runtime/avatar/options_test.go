package avatar

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

func TestOptionsAreCheckedBeforeAnythingIsOpened(t *testing.T) {
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		o    Options
		want fault.Code
	}{
		"no token":              {Options{}, fault.BadRequest},
		"unknown region":        {Options{Token: "t", Region: text("mars")}, fault.BadRequest},
		"empty genieUrl":        {Options{Token: "t", GenieURL: text("")}, fault.BadRequest},
		"public http":           {Options{Token: "t", ConversationURL: "http://talk.example"}, fault.InsecureTransport},
		"public media http":     {Options{Token: "t", SRSBaseURL: "http://media.example"}, fault.InsecureTransport},
		"user in the address":   {Options{Token: "t", ConversationURL: "https://u:p@talk.example"}, fault.BadRequest},
		"mic mode":              {Options{Token: "t", MicStart: "later"}, fault.BadRequest},
		"ICE policy":            {Options{Token: "t", ICETransportPolicy: "host"}, fault.BadRequest},
		"reserved variable":     {Options{Token: "t", RequestVars: map[string]any{"sys__ks": "x"}}, fault.ValidationError},
		"nested variable":       {Options{Token: "t", RequestVars: map[string]any{"a": []any{}}}, fault.ValidationError},
		"unknown capability":    {Options{Token: "t", Capabilities: map[string]string{"fly": "on"}}, fault.UnknownCapability},
		"state of capability":   {Options{Token: "t", Capabilities: map[string]string{"avatar": "yes"}}, fault.BadRequest},
		"allowed with a switch": {Options{Token: "t", ConversationURL: "http://talk.example", AllowInsecureTransport: true}, ""},
	} {
		_, err := New(c.o, Deps{Plane: &fakePlane{}})
		if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestDefaultsAreTheProtocols(t *testing.T) {
	s, err := New(Options{Token: "djJ8NTUwMXxlbmNyeXB0ZWQ", Kickoff: &Kickoff{Text: "  "}}, Deps{Plane: &fakePlane{}})
	if err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot()
	if snap.PartnerID != "5501" {
		t.Errorf("partner = %q, want the token's", snap.PartnerID)
	}
	if snap.State != Idle || snap.Kickoff != nil || !snap.Capabilities.Interruptions || snap.Capabilities.TapToTalk {
		t.Errorf("snapshot = %+v", snap)
	}
	if *s.opts.GenieURL != "https://genie.nvp1.ovp.kaltura.com" || s.opts.ConversationURL != "https://conversation.avatar.us.kaltura.ai" {
		t.Errorf("hosts %s, %s", *s.opts.GenieURL, s.opts.ConversationURL)
	}
}
