//go:build !js

package management_test

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/management"
)

// must fails the test with the error of a step.
func must(t *testing.T, step string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
}

// TestRulesOnTheService: the client knows every event and operator of the local service.
func TestRulesOnTheService(t *testing.T) {
	c, _ := newClient(t, func(o *management.Options) { o.MessagingURL = o.AgenticURL })
	events, err := c.Lifecycle.Events(t.Context())
	must(t, "events", err)
	for _, e := range events {
		if !slices.Contains(management.EventTypes, e.EventType) {
			t.Errorf("the client does not know the event %s", e.EventType)
		}
	}
	fields, err := c.Lifecycle.DescribeFields(t.Context())
	must(t, "fields", err)
	for _, f := range fields {
		for _, operator := range f.Operators {
			if !slices.Contains(management.Operators, operator) {
				t.Errorf("the client does not know the operator %s", operator)
			}
		}
	}
	if len(events) == 0 || len(fields) == 0 {
		t.Errorf("events %v, fields %v", events, fields)
	}
}
