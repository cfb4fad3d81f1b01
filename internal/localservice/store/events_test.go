package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestEventsAreStoredWithWhatTheyTell: the end of a conversation, once, and new values of
// its analysis; what changes nothing is no event (service.md, Threads and Events).
func TestEventsAreStoredWithWhatTheyTell(t *testing.T) {
	s := open(t)
	scope := Scope{PartnerID: onlyPartner(t, s).ID, UserID: "ann"}
	thread, idle := newThread(t, s, scope), newThread(t, s, scope)
	events := func() (list []string) {
		t.Helper()
		all := must.Get(s.Events(t.Context(), 10))(t)
		for _, e := range all {
			if e.ThreadID == idle.ID {
				e.Type = "idle " + e.Type
			}
			list = append(list, fmt.Sprint(e.Type, e.Keys, e.Depth))
			must.Do(t, s.DropEvent(t.Context(), e.Seq))
		}
		return list
	}
	set := func(change func(*Thread)) {
		t.Helper()
		must.Get(s.UpdateThread(t.Context(), scope, thread.ID, func(t *Thread) error { change(t); return nil }))(t)
	}
	want := func(what string, want ...string) {
		t.Helper()
		if got := events(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: events %q, want %q", what, got, want)
		}
	}
	want("at first")
	set(func(t *Thread) { t.Analysis = map[string]any{"mood": "good", "n": 1.0} })
	want("two new values", "analysis_updated[mood n] 0")
	set(func(t *Thread) { t.Analysis["mood"] = "good" })
	set(func(t *Thread) { t.Title = "x" })
	want("no new value")
	set(func(t *Thread) { t.Analysis["n"], t.Depth = 2.0, 2 })
	want("a consequence of another event", "analysis_updated[n] 2")
	set(func(t *Thread) { t.Analysis = map[string]any{} })
	want("a cleared analysis")
	for n := range 2 {
		expect.Equal(t, must.Get(s.CompleteThread(t.Context(), scope, thread.ID))(t), (n == 0), "completion %d is the first", n)
		must.Get(s.CompleteIdle(t.Context(), time.Now().Add(time.Minute), nil))(t)
	}
	want("two ends", "session_ended[] 0", "idle session_ended[] 0")
	set(func(t *Thread) { t.Analysis = map[string]any{"a": 1.0} })
	select {
	case <-s.NewEvents():
	default:
		t.Error("new events were not announced")
	}
}

// TestKnowledgeOfAPartner: a search reaches the named records only, a record's passages
// are replaced and go with it, and an agent never answers from another partner's record.
func TestKnowledgeOfAPartner(t *testing.T) {
	s := open(t)
	ctx, partner := t.Context(), onlyPartner(t, s).ID
	create := func(partner int64, body string) int64 {
		t.Helper()
		r := must.Get(s.Knowledge().Create(ctx, partner, Knowledge{Name: body, Passages: []Passage{{Title: "t", Body: body + " apples", EntryID: "e1", Line: 3}}}))(t)
		return r.Number()
	}
	one, two, foreign := create(partner, "one"), create(partner, "two"), create(7, "foreign")
	search := func(records ...int64) (bodies []string) {
		t.Helper()
		hits := must.Get(s.SearchKnowledge(ctx, records, "apples", 9))(t)
		for _, h := range hits {
			if h.EntryID != "e1" || h.Line != 3 {
				t.Errorf("hit %+v", h)
			}
			bodies = append(bodies, h.Body)
		}
		return bodies
	}
	expect.Equal(t, fmt.Sprint(search(one), search(one, two), search()), "[one apples] [one apples two apples] []", "found")
	if hits, err := s.SearchPartner(ctx, partner, "apples", 9); err != nil || len(hits) != 2 {
		t.Errorf("in all records of the partner: %v, %v", hits, err)
	}
	rename := func(passages []Passage) {
		t.Helper()
		must.Get(s.Knowledge().Update(ctx, partner, fmt.Sprint(one), func(k *Knowledge) error {
			k.Name, k.Passages = "new", passages
			return nil
		}))(t)
	}
	rename(nil)
	expect.Equal(t, len(search(one)), 1, "passages after an update without passages")
	rename([]Passage{})
	expect.Equal(t, len(search(one)), 0, "passages after they were replaced by none")
	agents := must.Get(s.Agents(ctx, partner))(t)
	stored := s.Intellects()
	stored.references = nil // as in data of an older version
	must.Get(stored.Update(ctx, partner, fmt.Sprint(agents[0].ConfigID), func(in *Intellect) error {
		in.KnowledgeIDs = []int64{foreign, two, 99, DocumentsID}
		return nil
	}))(t)
	agent, err := s.AgentByConfig(ctx, partner, agents[0].ConfigID)
	if err != nil || fmt.Sprint(agent.Profile.KnowledgeIDs) != fmt.Sprint([]int64{two, DocumentsID}) {
		t.Errorf("the agent answers from %v, %v", agent.Profile.KnowledgeIDs, err)
	}
	must.Do(t, s.Knowledge().Delete(ctx, partner, fmt.Sprint(two)))
	expect.Equal(t, len(search(two)), 0, "passages of a record that was deleted")
}
