package chat

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

// TestANewSessionChecksItsOptions has the options of a chat; those of every session are tested in package avatar.
func TestANewSessionChecksItsOptions(t *testing.T) {
	bad, hostless := "mars", "http://agents.example"
	for name, test := range map[string]struct {
		options Options
		want    fault.Code
	}{
		"region":             {Options{Options: session.Options{Token: "t", Region: &bad}}, fault.BadRequest},
		"on error segments":  {Options{Options: session.Options{Token: "t"}, OnErrorSegment: "return"}, fault.BadRequest},
		"a logger that dies": {Options{Options: session.Options{Token: "t", GenieURL: &hostless, Log: func(string, string, map[string]any) { panic("bug") }}}, fault.InsecureTransport},
	} {
		if s, err := New(test.options); !errors.Is(err, test.want) || s != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Options{Options: session.Options{Token: "t"}}); err != nil {
		t.Error(err)
	}
}
