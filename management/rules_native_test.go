//go:build !js

package management_test

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/management"
)

// TestRulesOnTheService: the client knows every event and operator of the local service.
func TestRulesOnTheService(t *testing.T) {
	c, _ := newClient(t, func(o *management.Options) { o.MessagingURL = o.AgenticURL })
	events := must.Get(c.Lifecycle.Events(t.Context()))(t)
	for _, e := range events {
		if !slices.Contains(management.EventTypes, e.EventType) {
			t.Errorf("the client does not know the event %s", e.EventType)
		}
	}
	fields := must.Get(c.Lifecycle.DescribeFields(t.Context()))(t)
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
