package visitor_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/runtime/visitor"
)

// TestLargeNumbersSurvive natively; in a page see
// TestNumbersThatAPageCannotHold.
func TestLargeNumbersSurvive(t *testing.T) {
	c, s := newClient(t, visitor.Options{}, ok(`{"totalCount":0,"objects":[]}`))
	filter := visitor.Filter{"partnerIdEquals": int64(9007199254740993)}
	if _, err := c.Threads(t.Context(), visitor.ThreadQuery{Filter: filter}); err != nil || !strings.Contains(s.requests[0], `"partnerIdEquals":9007199254740993}`) {
		t.Errorf("asked %s, %v", s.requests, err)
	}
	var id visitor.ID
	if err := json.Unmarshal([]byte(`9007199254740993`), &id); err != nil || id != "9007199254740993" {
		t.Errorf("id %s, %v", id, err)
	}
}
