package brain

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Turn is a question as it came to the brain.
type Turn struct {
	Text     string `json:"text"`
	ThreadID string `json:"threadId"`
	Spoken   bool   `json:"avatar"`            // the answer is spoken by an avatar
	Trigger  string `json:"trigger,omitempty"` // what began it, empty for the user's own words
	// Variables are the client's and the agent's, without the page context, which is
	// PageContext.
	Variables   map[string]any `json:"variables"`
	PageContext any            `json:"pageContext"`
}

const (
	// maxTurns and maxTurnBytes bound a [Journal].
	maxTurns     = 1000
	maxTurnBytes = 16 << 20
	// pageContext is the variable with what the visitor sees.
	pageContext = "page_context"
	// ownVariables is the prefix of the variables that the service adds.
	ownVariables = "sys__"
)

// Journal records the questions that it passes to another brain, for tests of pages.
type Journal struct {
	Brain

	mu    sync.Mutex
	turns []Turn
	bytes int // of all turns
}

// size is about how many bytes a turn has.
func (t *Turn) size() int {
	size := len(t.Text)
	for name, value := range t.Variables {
		text, _ := value.(string)
		size += len(name) + len(text)
	}
	seen, _ := t.PageContext.(string)
	return size + len(seen)
}

// Answer implements [Brain].
func (j *Journal) Answer(ctx context.Context, q *Question, out Sink) error {
	vars := maps.Clone(q.Vars)
	thread, _ := vars[ownVariables+"thread_id"].(string)
	maps.DeleteFunc(vars, func(name string, _ any) bool { return strings.HasPrefix(name, ownVariables) })
	seen := vars[pageContext]
	delete(vars, pageContext)
	j.mu.Lock()
	turn := Turn{Text: q.Text, ThreadID: thread, Spoken: q.Avatar, Trigger: q.Trigger, Variables: vars, PageContext: seen}
	j.turns = append(j.turns, turn)
	j.bytes += turn.size()
	for len(j.turns) > maxTurns || j.bytes > maxTurnBytes {
		j.bytes -= j.turns[0].size()
		j.turns[0] = Turn{} // which the list would keep in memory
		j.turns = j.turns[1:]
	}
	j.mu.Unlock()
	return j.Brain.Answer(ctx, q, out)
}

// Turns returns the newest questions, oldest first.
func (j *Journal) Turns() []Turn {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.turns)
}
