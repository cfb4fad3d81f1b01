package chat

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/session"
)

func TestANewSessionChecksItsOptions(t *testing.T) {
	bad, hostless := "mars", "http://agents.example"
	for name, test := range map[string]struct {
		options Options
		want    fault.Code
	}{
		"no token":           {Options{}, fault.BadRequest},
		"region":             {Options{Options: session.Options{Token: "t", Region: &bad}}, fault.BadRequest},
		"address":            {Options{Options: session.Options{Token: "t", GenieURL: &bad}}, fault.BadRequest},
		"insecure address":   {Options{Options: session.Options{Token: "t", GenieURL: &hostless}}, fault.InsecureTransport},
		"reserved variable":  {Options{Options: session.Options{Token: "t", RequestVars: map[string]any{"sys__ks": "x"}}}, fault.ValidationError},
		"nested variable":    {Options{Options: session.Options{Token: "t", RequestVars: map[string]any{"a": []any{}}}}, fault.ValidationError},
		"capability":         {Options{Options: session.Options{Token: "t", Capabilities: map[string]string{"fly": "on"}}}, fault.UnknownCapability},
		"state":              {Options{Options: session.Options{Token: "t", Capabilities: map[string]string{"avatar": "yes"}}}, fault.BadRequest},
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
