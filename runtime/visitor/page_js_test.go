//go:build js && wasm

package visitor_test

import (
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/json"

	"github.com/agentruntime/agentruntime/runtime/fault"
	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// The tests of this package run in a page too, because this file is there: in a
// page JSON is the browser's (internal/json), and its numbers are.
func TestNumbersThatAPageCannotHold(t *testing.T) {
	c, s := newClient(t, visitor.Options{})
	filter := visitor.Filter{"partnerIdEquals": int64(9007199254740993)}
	if _, err := c.Threads(t.Context(), visitor.ThreadQuery{Filter: filter}); !errors.Is(err, fault.ValidationError) || len(s.requests) != 0 {
		t.Errorf("a filter: %v after %d requests", err, len(s.requests))
	}
	// As any script of the page would see it.
	var id visitor.ID
	if err := json.Unmarshal([]byte(`9007199254740993`), &id); err != nil || id != "9007199254740992" {
		t.Errorf("an id: %s, %v", id, err)
	}
}
