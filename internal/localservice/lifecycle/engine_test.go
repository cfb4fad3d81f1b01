package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/leaktest"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/localservice/store/storetest"
	"github.com/agentruntime/agentruntime/internal/must"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// scene is a store with one thread and its owner.
type scene struct {
	t       *testing.T
	store   *store.Store
	partner int64
	scope   store.Scope
	thread  store.Thread
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s, partner := storetest.Open(t)
	sc := &scene{t: t, store: s, partner: partner.ID}
	sc.scope = store.Scope{PartnerID: sc.partner, UserID: "ann"}
	sc.thread = sc.newThread("a1")
	return sc
}

func (sc *scene) newThread(agent string) store.Thread {
	sc.t.Helper()
	t := store.Thread{ID: uuid.NewString(), PartnerID: sc.partner, UserID: "ann", AgentID: agent, ThreadMetadata: store.ThreadMetadata{Analysis: map[string]any{}}, Vars: map[string]any{}}
	must.Do(sc.t, sc.store.CreateThread(sc.t.Context(), &t))
	return t
}

// summarised is a thread of an agent whose summaries are configured.
func (sc *scene) summarised(config store.SummaryConfig) store.Thread {
	sc.t.Helper()
	agents := must.Get(sc.store.Agents(sc.t.Context(), sc.partner))(sc.t)
	must.Get(store.Intellects(sc.store).Update(sc.t.Context(), sc.partner, fmt.Sprint(agents[0].ConfigID), func(in *store.Intellect) error {
		in.Summary = &config
		return nil
	}))(sc.t)
	thread := store.Thread{ID: uuid.NewString(), PartnerID: sc.partner, UserID: "ann", ConfigID: agents[0].ConfigID}
	must.Do(sc.t, sc.store.CreateThread(sc.t.Context(), &thread))
	return thread
}

func (sc *scene) say(threadID string, role store.Role, text string) {
	sc.t.Helper()
	content, _ := json.Marshal(text)
	m := store.Message{ID: uuid.NewString(), ThreadID: threadID, Role: role, Parts: []store.Part{{Type: "text", Content: content}}}
	must.Do(sc.t, sc.store.AddMessage(sc.t.Context(), &m))
}

func (sc *scene) complete(threadID string) {
	sc.t.Helper()
	must.Get(sc.store.CompleteThread(sc.t.Context(), sc.scope, threadID))(sc.t)
}

// work processes all events.
func (sc *scene) work(model Model) {
	sc.t.Helper()
	e := Engine{Store: sc.store, Model: model, Logger: slog.New(slog.DiscardHandler)}
	for {
		more := must.Get(e.drain(sc.t.Context()))(sc.t)
		if !more {
			return
		}
	}
}

func (sc *scene) reload(threadID string) store.Thread {
	sc.t.Helper()
	return must.Get(sc.store.Thread(sc.t.Context(), sc.scope, threadID))(sc.t)
}

func (sc *scene) setting(key string, kind store.ValueType, status string) string {
	sc.t.Helper()
	r := must.Get(store.InsightSettings(sc.store).Create(sc.t.Context(), sc.partner, store.InsightSetting{
		Key: key, Title: key, Prompt: "Find " + key + " of {{ sys__user_id }}.", ValueType: kind, Status: status,
	}))(sc.t)
	return r.ID
}

func (sc *scene) rule(r store.Rule) {
	sc.t.Helper()
	r.ObjectType = store.ThreadObject
	if r.Status == "" {
		r.Status = store.StatusActive
	}
	must.Get(store.Rules(sc.store).Create(sc.t.Context(), sc.partner, r))(sc.t)
}

func insightsOf(ids ...string) []store.RuleAction {
	return []store.RuleAction{{Type: store.InsightAction, InsightSettingIDs: ids}}
}

// fakeModel gives its replies in order, the last one again and again.
type fakeModel struct {
	mu      sync.Mutex
	replies []string
	err     error
	asked   [][2]string
}

func (m *fakeModel) Complete(_ context.Context, system, user string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, [2]string{system, user})
	if m.err != nil {
		return "", m.err
	}
	reply := m.replies[0]
	if len(m.replies) > 1 {
		m.replies = m.replies[1:]
	}
	return reply, nil
}

// TestSummary: a finished conversation is summed up once, by the configured model
// (service.md, Intellect).
func TestSummary(t *testing.T) {
	sc := newScene(t)
	sc.say(sc.thread.ID, store.Human, "Where is\nmy order?")
	sc.say(sc.thread.ID, store.AI, "On its way.")
	sc.complete(sc.thread.ID)
	sc.complete(sc.thread.ID)
	model := &fakeModel{replies: []string{"Here it is:\n```json\n{\"summary\": \"Ann asked for {{ sys__user_id }}.\"}\n```"}}
	sc.work(model)
	got := sc.reload(sc.thread.ID)
	want := "Ann asked for {{ sys__user_id }}." // a template in a value is text
	if s := got.Outcome.Summary; s == nil || s.Status != store.Available || s.Content != want || s.ContentType != "text" || s.CreatedAt.IsZero() {
		t.Errorf("summary %+v, want %q", s, want)
	}
	if got.Analysis["summary"] != want {
		t.Errorf("analysis %v", got.Analysis)
	}
	if len(model.asked) != 1 || model.asked[0][1] != "human: Where is my order?\nai: On its way.\n" {
		t.Errorf("the model was asked %q", model.asked)
	}
}

func TestSummaryOfAnIntellect(t *testing.T) {
	sc := newScene(t)
	thread := sc.summarised(store.SummaryConfig{
		Prompt: "Write to {{ sys__user_id }}.", Analysis: map[string]string{"topic": "The topic.", "mood": "The mood."},
		Template: "<b>{{ topic }}</b>: {{ mood }}", ContentType: "html",
	})
	sc.say(thread.ID, store.Human, "Hello")
	sc.complete(thread.ID)
	model := &fakeModel{replies: []string{`{"topic":"orders","mood":"good","extra":1}`}}
	sc.work(model)
	got := sc.reload(thread.ID)
	if s := got.Outcome.Summary; s == nil || s.Content != "<b>orders</b>: good" || s.ContentType != "html" {
		t.Errorf("summary %+v", s)
	}
	expect.Equal(t, fmt.Sprint(got.Analysis), "map[mood:good topic:orders]", "analysis %v", got.Analysis)
	for _, want := range []string{`"topic" (string): The topic.`, "Write to ann."} {
		if !strings.Contains(model.asked[0][0], want) {
			t.Errorf("the model was told %q, want %q in it", model.asked[0][0], want)
		}
	}
}

// TestAnswerWithoutASummary: a model that found something, but nothing of what the summary consists of, gave none.
func TestAnswerWithoutASummary(t *testing.T) {
	sc := newScene(t)
	thread := sc.summarised(store.SummaryConfig{Analysis: map[string]string{"summary": "A summary.", "mood": "The mood."}, Template: "In short: {{ summary }}"})
	sc.say(thread.ID, store.Human, "Hello")
	sc.complete(thread.ID)
	sc.work(&fakeModel{replies: []string{`{"mood":"good","summary":""}`}})
	got := sc.reload(thread.ID)
	if s := got.Outcome.Summary; s == nil || s.Status != store.NotAvailable || s.Content != "" {
		t.Errorf("summary %+v", s)
	}
	expect.Equal(t, fmt.Sprint(got.Analysis), "map[mood:good]", "analysis %v", got.Analysis)
}

// TestSummaryWithoutAModel: what needs a model is marked, and a conversation in which the
// user has said nothing is skipped.
func TestSummaryWithoutAModel(t *testing.T) {
	for name, tt := range map[string]struct {
		model Model
		role  store.Role
		want  store.Status
	}{
		"no model":        {nil, store.Human, store.NotAvailable},
		"it fails":        {&fakeModel{err: errors.New("no")}, store.Human, store.NotAvailable},
		"it writes prose": {&fakeModel{replies: []string{"I can't {do} that."}}, store.Human, store.NotAvailable},
		"it says nothing": {&fakeModel{replies: []string{`{"summary":""}`}}, store.Human, store.NotAvailable},
		"no human lines":  {&fakeModel{replies: []string{`{"summary":"x"}`}}, store.Opening, store.Skipped},
	} {
		sc := newScene(t)
		setting := sc.setting("mood", "string", store.StatusActive)
		sc.rule(store.Rule{EventType: store.SessionEnded, Actions: insightsOf(setting)})
		sc.say(sc.thread.ID, tt.role, "Hello")
		sc.complete(sc.thread.ID)
		sc.work(tt.model)
		got := sc.reload(sc.thread.ID)
		if s := got.Outcome.Summary; s == nil || s.Status != tt.want || s.Content != "" {
			t.Errorf("%s: summary %+v, want %s", name, s, tt.want)
		}
		if i := got.Outcome.Insights["mood"]; tt.want == store.NotAvailable && (i.Status != store.NotAvailable || i.SettingID != setting || i.Value != nil) {
			t.Errorf("%s: insight %+v", name, i)
		}
		expect.Equal(t, len(got.Analysis), 0, "%s: analysis %v", name, got.Analysis)
	}
}

// TestInsights: the rules for the end of a conversation extract the values of their
// settings, with the right types.
func TestInsights(t *testing.T) {
	sc := newScene(t)
	ids := []string{
		sc.setting("mood", "string", store.StatusActive), sc.setting("score", "number", store.StatusActive),
		sc.setting("solved", "boolean", store.StatusActive), sc.setting("topics", "string[]", store.StatusActive),
		sc.setting("marks", "number[]", store.StatusActive), sc.setting("off", "string", store.StatusDisabled),
	}
	sc.rule(store.Rule{EventType: store.SessionEnded, Conditions: []store.RuleTerm{{Field: agentID, Operator: Equals, Value: "a1"}}, Actions: insightsOf(ids...)})
	sc.rule(store.Rule{EventType: store.SessionEnded, Status: store.StatusDisabled, Actions: insightsOf(sc.setting("never", "string", store.StatusActive))})
	other := sc.newThread("a2")
	for _, id := range []string{sc.thread.ID, other.ID} {
		sc.say(id, store.Human, "Hello")
		sc.complete(id)
	}
	sc.work(&fakeModel{replies: []string{`{"summary":"s","mood":"good","score":"4.5","solved":true,"topics":["a","b"],"marks":[1,"x"],"off":"y","never":"z"}`}})
	got := sc.reload(sc.thread.ID)
	expect.Equal(t, fmt.Sprint(got.Analysis), "map[mood:good score:4.5 solved:true summary:s topics:[a b]]", "analysis %v", got.Analysis)
	if i := got.Outcome.Insights["marks"]; i.Status != store.NotAvailable {
		t.Errorf("a value of the wrong type: %+v", i)
	}
	if i := got.Outcome.Insights["score"]; i.Status != store.Available || i.Value != 4.5 || i.SettingID != ids[1] {
		t.Errorf("insight %+v", i)
	}
	if n := len(got.Outcome.Insights); n != 5 {
		t.Errorf("%d insights, want 5: %v", n, got.Outcome.Insights)
	}
	expect.Equal(t, len(sc.reload(other.ID).Outcome.Insights), 0, "a rule of another agent has run insights")
}

// TestAnalysisUpdatedSetsOffRules: a client's update and an insight trigger rules, with
// the keys that have changed; a chain of rules ends.
func TestAnalysisUpdatedSetsOffRules(t *testing.T) {
	sc := newScene(t)
	sc.say(sc.thread.ID, store.Human, "Hello")
	template := must.Get(store.EmailTemplates(sc.store).Create(t.Context(), sc.partner, store.EmailTemplate{Name: "Bye"}))(t).ID
	sc.rule(store.Rule{
		EventType: store.AnalysisUpdated, Conditions: []store.RuleTerm{{Field: changedKeys, Operator: Contains, Value: "mood"}},
		Actions: []store.RuleAction{{Type: store.EmailAction, EmailTemplateID: template, To: "a@b.example"}},
	})
	set := func(key string, value any) {
		t.Helper()
		must.Get(sc.store.UpdateThread(t.Context(), sc.scope, sc.thread.ID, func(t *store.Thread) error {
			t.Analysis[key] = value
			return nil
		}))(t)
		sc.work(nil)
	}
	set("other", "x")
	if got := sc.reload(sc.thread.ID).Outcome.Emails; len(got) != 0 {
		t.Errorf("a rule about another key has run: %v", got)
	}
	set("mood", "good")
	if got := sc.reload(sc.thread.ID).Outcome.Emails; got[template] != store.NotAvailable {
		t.Errorf("emails %v", got)
	}

	endless := sc.setting("n", "number", store.StatusActive)
	sc.rule(store.Rule{EventType: store.AnalysisUpdated, Actions: insightsOf(endless)})
	model := &fakeModel{replies: []string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`, `{"n":5}`}}
	must.Get(sc.store.UpdateThread(t.Context(), sc.scope, sc.thread.ID, func(t *store.Thread) error {
		t.Analysis["go"] = true
		return nil
	}))(t)
	sc.work(model)
	expect.Equal(t, len(model.asked), maxDepth, "how often the model was asked")
}

// TestEventsOutliveTheService: an event that was not processed when the service ended is
// processed by the next one, and a conversation that was deleted meanwhile is skipped.
func TestEventsOutliveTheService(t *testing.T) {
	dir := t.TempDir()
	s := must.Get(store.Open(dir))(t)
	partners := must.Get(s.Partners(t.Context()))(t)
	sc := &scene{t: t, store: s, partner: partners[0].ID, scope: store.Scope{PartnerID: partners[0].ID, UserID: "ann"}}
	kept, deleted := sc.newThread("a1"), sc.newThread("a1")
	for _, thread := range []store.Thread{kept, deleted} {
		sc.say(thread.ID, store.Human, "Hello")
		sc.complete(thread.ID)
	}
	must.Get(s.DeleteThreads(t.Context(), sc.scope, []string{deleted.ID}))(t)
	// The service ends while the model is being asked.
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	run := make(chan struct{})
	go func() {
		defer close(run)
		e := Engine{Store: s, Logger: slog.New(slog.DiscardHandler), Model: modelFunc(func(ctx context.Context) (string, error) {
			close(asked)
			<-ctx.Done()
			return "", ctx.Err()
		})}
		e.Run(ctx)
	}()
	<-asked
	cancel()
	<-run
	must.Do(t, s.Close())
	sc.store = must.Get(store.Open(dir))(t)
	defer sc.store.Close()
	model := &fakeModel{replies: []string{`{"summary":"s"}`}}
	sc.work(model)
	if s := sc.reload(kept.ID).Outcome.Summary; s == nil || s.Content != "s" || len(model.asked) != 1 {
		t.Errorf("summary %+v, the model was asked %d times", s, len(model.asked))
	}
	if left, err := sc.store.Events(t.Context(), 10); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

type modelFunc func(context.Context) (string, error)

func (f modelFunc) Complete(ctx context.Context, _, _ string) (string, error) { return f(ctx) }

func TestMatches(t *testing.T) {
	thread := &store.Thread{ID: "t1", AgentID: "a1", UserID: "ann", ConfigID: 1001, Title: "Orders", Status: "completed"}
	thread.Analysis = map[string]any{"score": 4.0, "tags": []any{"x"}}
	term := func(field, operator string, value any) []store.RuleTerm {
		return []store.RuleTerm{{Field: field, Operator: operator, Value: value}}
	}
	for _, tt := range []struct {
		terms []store.RuleTerm
		want  bool
	}{
		{nil, true},
		{term(agentID, Equals, "a1"), true},
		{term(agentID, Equals, "a2"), false},
		{term(agentID, NotEquals, "a2"), true},
		{term(agentID, In, []any{"a2", "a1"}), true},
		{term(agentID, NotIn, []any{"a1"}), false},
		{term("object.genie_id", Equals, "1001"), true},
		{term("object.genie_id", Equals, 1001.0), true},
		{term("object.title", Contains, "Ord"), true},
		{term(analysisPrefix+"score", Equals, 4.0), true},
		{term(analysisPrefix+"score", Equals, "4"), false},
		{term(analysisPrefix+"tags", Contains, "x"), true},
		{term(analysisPrefix+"tags", Contains, "y"), false},
		{term(analysisPrefix+"score", Exists, nil), true},
		{term(analysisPrefix+"none", Exists, nil), false},
		{term(analysisPrefix+"none", NotEquals, "x"), false},
		{append(term(agentID, Equals, "a1"), term("object.user_id", Equals, "bob")...), false},
	} {
		rule := &store.Rule{Status: store.StatusActive, ObjectType: store.ThreadObject, EventType: store.SessionEnded, Conditions: tt.terms}
		expect.Equal(t, Matches(rule, thread, store.Event{Type: store.SessionEnded}), tt.want, "%v", tt.terms)
		if Matches(rule, thread, store.Event{Type: store.AnalysisUpdated}) {
			t.Errorf("%v: matches another event", tt.terms)
		}
		for _, c := range tt.terms {
			expect.Equal(t, CheckTerm(c), nil, "%v", c)
		}
	}
	// A thread without an agent of its own matches no condition about one.
	unlabelled := &store.Thread{AgentID: store.DefaultAgentID}
	for _, operator := range []string{Equals, NotEquals, In, NotIn, Contains, Exists} {
		var value any = store.DefaultAgentID
		if slices.Contains([]string{In, NotIn}, operator) {
			value = []any{store.DefaultAgentID}
		}
		rule := &store.Rule{Status: store.StatusActive, ObjectType: store.ThreadObject, EventType: store.SessionEnded, Conditions: term(agentID, operator, value)}
		if Matches(rule, unlabelled, store.Event{Type: store.SessionEnded}) {
			t.Errorf("%s matches a thread whose agent is %q", operator, store.DefaultAgentID)
		}
	}
}
