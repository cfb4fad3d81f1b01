package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/brain"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
	"github.com/agentruntime/agentruntime/internal/template"
)

const (
	// atOnce is how many events are processed at a time; with a model, each waits for its
	// replies.
	atOnce = 4
	// maxDepth bounds a chain of rules that trigger each other.
	maxDepth = 3
	// maxLines is how many messages of a conversation, the last ones, a model receives.
	maxLines = 400
	// maxTranscript bounds the text of these messages, in bytes.
	maxTranscript = 200_000
	// retry is how long the engine waits after the store has failed.
	retry = time.Second
)

// Model is a language model that answers one question.
type Model interface {
	Complete(ctx context.Context, system, user string) (string, error)
}

// Engine processes the events of threads.
type Engine struct {
	Store  *store.Store
	Model  Model // without one, results that need a model are marked as not available
	Logger *slog.Logger
}

// Run processes events until ctx ends, those of an earlier run of the service first. An
// event that is being processed when ctx ends is processed again in the next run.
func (e *Engine) Run(ctx context.Context) {
	for ctx.Err() == nil {
		more, err := e.drain(ctx)
		if more {
			continue
		}
		var again <-chan time.Time // never, unless the store has failed
		if err != nil && ctx.Err() == nil {
			e.Logger.Error("events of threads were not worked on", "err", err)
			again = time.After(retry)
		}
		select {
		case <-e.Store.NewEvents():
		case <-again:
		case <-ctx.Done():
		}
	}
}

// drain processes the oldest events, and reports whether there may be more.
func (e *Engine) drain(ctx context.Context) (bool, error) {
	events, err := e.Store.Events(ctx, atOnce)
	if err != nil {
		return false, err
	}
	errs := make([]error, len(events))
	var work sync.WaitGroup
	for i, event := range events {
		work.Go(func() {
			if errs[i] = e.handle(ctx, event); errs[i] == nil {
				errs[i] = e.Store.DropEvent(ctx, event.Seq)
			}
		})
	}
	work.Wait()
	err = errors.Join(errs...)
	return err == nil && len(events) > 0, err
}

// handle processes an event: it writes the summary of an ended conversation, and runs the
// matching rules.
func (e *Engine) handle(ctx context.Context, event store.Event) error {
	log := e.Logger.With("thread", store.ThreadLabel(event.ThreadID), "event", string(event.Type))
	if event.Depth >= maxDepth {
		log.Warn("rules set each other off: the event is dropped")
		return nil
	}
	scope := store.Scope{PartnerID: event.PartnerID, Admin: true}
	thread, err := e.Store.Thread(ctx, scope, event.ThreadID)
	if errors.Is(err, store.ErrNotFound) { // deleted meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	job := &job{Engine: e, log: log, scope: scope, thread: thread, event: event}
	if event.Type == store.SessionEnded {
		if err := job.summarize(ctx); err != nil {
			return fmt.Errorf("summary: %w", err)
		}
	}
	rules, err := Matching(ctx, e.Store, &thread, event)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if err := job.run(ctx, &rule); err != nil {
			return fmt.Errorf("rule %s: %w", rule.ID, err)
		}
	}
	return nil
}

// Matching returns the rules that an event of a thread triggers.
func Matching(ctx context.Context, s *store.Store, t *store.Thread, event store.Event) ([]store.Record[store.Rule], error) {
	all, _, err := store.Rules(s).List(ctx, t.PartnerID, store.Query{})
	var rules []store.Record[store.Rule]
	for _, r := range all {
		if Matches(&r.Body, t, event) {
			rules = append(rules, r)
		}
	}
	return rules, err
}

// job is the work on one event.
type job struct {
	*Engine
	log    *slog.Logger
	scope  store.Scope
	thread store.Thread
	event  store.Event

	transcript string // "" until it was read
	human      bool   // the user has said something
}

// read reads the conversation once.
func (j *job) read(ctx context.Context) error {
	if j.transcript != "" {
		return nil
	}
	history, err := j.Store.History(ctx, j.thread.ID, maxLines)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, m := range history {
		j.human = j.human || m.Role == store.Human
		fmt.Fprintf(&lines, "%s: %s\n", m.Role, strings.Join(strings.Fields(m.Text()), " "))
	}
	j.transcript = lines.String()
	if len(j.transcript) > maxTranscript {
		j.transcript = strings.ToValidUTF8(j.transcript[len(j.transcript)-maxTranscript:], "")
	}
	return nil
}

// update changes the thread. The events of that change are one step deeper in the chain
// of events.
func (j *job) update(ctx context.Context, change func(*store.Thread)) error {
	t, err := j.Store.UpdateThread(ctx, j.scope, j.thread.ID, func(t *store.Thread) error {
		t.Depth = j.event.Depth + 1
		change(t)
		return nil
	})
	if errors.Is(err, store.ErrNotFound) { // deleted meanwhile
		return nil
	}
	if len(t.Changed) > 0 {
		j.log.Info(string(store.AnalysisUpdated), "keys", t.Changed)
	}
	return err
}

// summarize stores a summary of the conversation, as its intellect configures it
// (service.md, Intellect).
func (j *job) summarize(ctx context.Context) error {
	if err := j.read(ctx); err != nil {
		return err
	}
	config := store.DefaultSummary()
	agent, err := j.Store.AgentByConfig(ctx, j.thread.PartnerID, j.thread.ConfigID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if agent.Profile.Summary != nil {
		config = completed(*agent.Profile.Summary)
	}
	summary := store.Summary{CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}
	var found map[string]any
	switch {
	case !j.human:
		summary.Status = store.Skipped
	default:
		var asks []ask
		for key, what := range config.Analysis {
			asks = append(asks, ask{key: key, what: j.render(what)})
		}
		if found, err = j.extract(ctx, j.render(config.Prompt), asks); err != nil {
			return err
		}
		summary.Status = store.NotAvailable
		if answers(config.Template, found) {
			summary.Status, summary.ContentType = store.Available, config.ContentType
			summary.Content = brain.Render(config.Template, found)
		}
	}
	j.log.Info("conversation summed up", "status", string(summary.Status))
	return j.update(ctx, func(t *store.Thread) {
		t.Outcome.Summary = &summary
		for key, v := range found {
			t.Analysis[key] = v
		}
	})
}

// answers reports whether values were found for a template, of which it names at least one.
func answers(text string, found map[string]any) bool {
	names := template.Names(text)
	return found != nil && (len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return found[name] != nil }))
}

// completed fills in what a configuration leaves out (service.md, Intellect).
func completed(c store.SummaryConfig) store.SummaryConfig {
	d := store.DefaultSummary()
	if len(c.Analysis) == 0 {
		c.Analysis = d.Analysis
	}
	c.Template = cmp.Or(c.Template, d.Template)
	c.ContentType = cmp.Or(c.ContentType, d.ContentType)
	return c
}

// render fills in the templates of prompts. What users have said is not among the
// variables: it is in the transcript.
func (j *job) render(prompt string) string {
	vars := map[string]any{}
	for name, v := range j.thread.Vars {
		vars[name] = v
	}
	vars["sys__thread_id"], vars["sys__user_id"] = j.thread.ID, j.thread.UserID
	vars["sys__context_id"] = j.thread.ContextID
	return brain.Render(prompt, vars)
}

// run executes the actions of a rule.
func (j *job) run(ctx context.Context, rule *store.Record[store.Rule]) error {
	j.log.Info("rule applies", "rule", rule.ID)
	for _, action := range rule.Body.Actions {
		switch action.Type {
		case store.InsightAction:
			if err := j.insights(ctx, action.InsightSettingIDs); err != nil {
				return err
			}
		case store.EmailAction:
			j.log.Warn("an email is not sent: this service has no mail", "template", action.EmailTemplateID)
			err := j.update(ctx, func(t *store.Thread) {
				if t.Outcome.Emails == nil {
					t.Outcome.Emails = map[string]store.Status{}
				}
				t.Outcome.Emails[action.EmailTemplateID] = store.NotAvailable
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// insights extracts the values that the insight settings describe. Settings that don't
// exist or are disabled are skipped.
func (j *job) insights(ctx context.Context, ids []string) error {
	if err := j.read(ctx); err != nil {
		return err
	}
	settings, err := store.InsightSettings(j.Store).Usable(ctx, j.thread.PartnerID, ids)
	if err != nil {
		return err
	}
	var asks []ask
	byKey := map[string]string{}
	for _, s := range settings {
		if s.Body.Status == store.StatusActive {
			asks = append(asks, ask{s.Body.Key, j.render(s.Body.Prompt), s.Body.ValueType})
			byKey[s.Body.Key] = s.ID
		}
	}
	if len(asks) == 0 {
		return nil
	}
	found, err := j.extract(ctx, "", asks)
	if err != nil {
		return err
	}
	j.log.Info("insights", "asked", len(asks), "found", len(found))
	return j.update(ctx, func(t *store.Thread) {
		if t.Outcome.Insights == nil {
			t.Outcome.Insights = map[string]store.Insight{}
		}
		for key, id := range byKey {
			insight := store.Insight{Status: store.NotAvailable, SettingID: id}
			if v, ok := found[key]; ok {
				insight.Status, insight.Value = store.Available, v
				t.Analysis[key] = v
			}
			t.Outcome.Insights[key] = insight
		}
	})
}
