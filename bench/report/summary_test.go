package main

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestSummaryHasTheFiguresOfItsRows(t *testing.T) {
	var rows []figures.Row
	for _, name := range placeholder.FindAllStringSubmatch(summary, -1) {
		rows = append(rows, figures.Row{What: name[2], Unit: "ms", Ours: 1234, JavaScript: 567})
	}
	text := must.Get(summarise(rows))(t)
	if strings.ContainsAny(text, "{}") || !strings.Contains(text, "to the first frame: 1234 ms") || !strings.Contains(text, "needs 567 ms, 567 ms") {
		t.Error(text)
	}
	if _, err := summarise(rows[1:]); err == nil || !strings.Contains(err.Error(), rows[0].What) {
		t.Errorf("without a row: %v", err)
	}
}
