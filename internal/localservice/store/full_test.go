package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// TestDeletingNeedsNoRoom: a full database refuses what would make it larger, not what
// makes room.
func TestDeletingNeedsNoRoom(t *testing.T) {
	s := must.Get(OpenWithin(t.TempDir(), 2<<20, nil))(t)
	defer s.Close()
	ctx, partner := t.Context(), onlyPartner(t, s).ID
	text := Source{Type: TextSource, Name: "words", Content: strings.Repeat("words ", 10_000)}
	var ids []string
	for {
		k := Knowledge{Name: fmt.Sprint(len(ids)), Config: KnowledgeConfig{Sources: []Source{text}}, Passages: []Passage{{Body: text.Content}}}
		r, err := s.Knowledge().Create(ctx, partner, k)
		if IsFull(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	for _, id := range ids {
		if err := s.Knowledge().Delete(ctx, partner, id); err != nil {
			t.Fatalf("%s of %d: %v", id, len(ids), err)
		}
	}
}
