package main

import (
	"cmp"
	"context"
	"iter"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

// resource is what the client has for records of a kind. Creating differs from kind to kind.
type resource[T, Patch any, ID string | int64] interface {
	List(ctx context.Context, opts ...management.Option) iter.Seq2[*T, error]
	Get(ctx context.Context, id ID) (*T, error)
	Update(ctx context.Context, id ID, p Patch) (*T, error)
	Delete(ctx context.Context, id ID, opts ...management.Option) error
}

// records is a group of commands for records that are written from JSON files: T is the
// record, In a new one, Patch a change.
type records[T, In, Patch any, ID string | int64] struct {
	name, about string
	one         string // as in "makes a skill"
	columns     []column[T]

	of     func(*call) resource[T, Patch, ID]
	create func(*call, context.Context, In) (*T, error)

	// making is what create does, and flags are its flags beside -file, which then is
	// not required. Without them it makes one from a file.
	making string
	flags  []cli.Flag
	// shown is what of the record "get" shows.
	shown string
	// confirmations are the flags of delete beside -yes.
	confirmations []confirmation
}

func (r records[T, In, Patch, ID]) group(more ...*cli.Command) *cli.Command {
	_, kind, _ := strings.Cut(r.one, " ")
	word := "ID"
	if _, ok := any(*new(ID)).(int64); ok {
		word = "NUMBER"
	}
	file := textFlag("file", "JSON `file` with its fields")
	if r.flags == nil {
		required(file)
	}
	commands := []*cli.Command{
		command("list", "", "lists the account's "+r.name, func(ctx context.Context, c *call, _ []string) error {
			return printList(c, r.of(c).List(ctx), r.columns...)
		}),
		command("get", word, "shows "+r.one+r.shown, named(func(ctx context.Context, c *call, id ID, _ []string) error {
			record, err := r.of(c).Get(ctx, id)
			return printRecord(c, record, err)
		})),
		command("create", "", cmp.Or(r.making, "makes "+r.one), func(ctx context.Context, c *call, _ []string) error {
			var in In
			if err := readFields(c.flags.String("file"), r.one, &in); err != nil {
				return err
			}
			record, err := r.create(c, ctx, in)
			return printRecord(c, record, err)
		}, append(r.flags, file)...),
		command("update", word, "changes the fields that a JSON file has", named(func(ctx context.Context, c *call, id ID, _ []string) error {
			var patch Patch
			if err := readFields(c.flags.String("file"), r.one, &patch); err != nil {
				return err
			}
			record, err := r.of(c).Update(ctx, id, patch)
			return printRecord(c, record, err)
		}), required(textFlag("file", "JSON `file` with fields"))),
		removal(word, "deletes "+r.one, func(ctx context.Context, c *call, args []string, opts []management.Option) error {
			return named(func(ctx context.Context, c *call, id ID, _ []string) error {
				return printDone(c, "deleted "+kind+" "+args[0], r.of(c).Delete(ctx, id, opts...))
			})(ctx, c, args)
		}, r.confirmations...),
	}
	return group(r.name, r.about, append(commands, more...)...)
}

func tools() *cli.Command {
	return records[management.Tool, management.NewTool, management.ToolPatch, string]{
		name: "tools", about: "defines what agents can call", one: "a tool",
		columns: []column[management.Tool]{
			{"TOOL", func(t *management.Tool) string { return t.ID }},
			{"NAME", func(t *management.Tool) string { return t.Name }},
			{"TYPE", func(t *management.Tool) string { return t.Config.Type }},
			{"DESCRIPTION", func(t *management.Tool) string { return t.Config.Description }},
		},
		of: func(c *call) resource[management.Tool, management.ToolPatch, string] { return c.Tools },
		create: func(c *call, ctx context.Context, in management.NewTool) (*management.Tool, error) {
			return c.Tools.Add(ctx, in.Name, in.Config)
		},
		confirmations: []confirmation{force},
	}.group()
}

func skills() *cli.Command {
	return records[management.Skill, management.SkillInput, management.SkillPatch, string]{
		name: "skills", about: "keeps instructions that intellects share", one: "a skill",
		columns: []column[management.Skill]{
			{"SKILL", func(s *management.Skill) string { return s.ID }},
			{"NAME", func(s *management.Skill) string { return s.Name }},
			{"DESCRIPTION", func(s *management.Skill) string { return s.Description }},
		},
		of: func(c *call) resource[management.Skill, management.SkillPatch, string] { return c.Skills },
		create: func(c *call, ctx context.Context, in management.SkillInput) (*management.Skill, error) {
			return c.Skills.Add(ctx, in)
		},
		confirmations: []confirmation{force},
	}.group()
}

func insights() *cli.Command {
	return records[management.Insight, management.InsightInput, management.InsightPatch, string]{
		name: "insights", about: "defines what is found out about a conversation at its end", one: "an insight setting",
		columns: []column[management.Insight]{
			{"INSIGHT", func(i *management.Insight) string { return i.ID }},
			{"KEY", func(i *management.Insight) string { return i.Key }},
			{"TYPE", func(i *management.Insight) string { return i.ValueType }},
			{"STATUS", func(i *management.Insight) string { return i.Status }},
			{"TITLE", func(i *management.Insight) string { return i.Title }},
		},
		of: func(c *call) resource[management.Insight, management.InsightPatch, string] {
			return allInsights{c.Insights}
		},
		create: func(c *call, ctx context.Context, in management.InsightInput) (*management.Insight, error) {
			return c.Insights.Create(ctx, in)
		},
		confirmations: []confirmation{force},
	}.group()
}

// allInsights is Insights without the filter of its list.
type allInsights struct{ management.Insights }

func (i allInsights) List(ctx context.Context, opts ...management.Option) iter.Seq2[*management.Insight, error] {
	return i.Insights.List(ctx, management.InsightFilter{}, opts...)
}

func rules() *cli.Command {
	columns := []column[management.Rule]{
		{"RULE", func(r *management.Rule) string { return r.ID }},
		{"NAME", func(r *management.Rule) string { return r.Name }},
		{"EVENT", func(r *management.Rule) string { return r.EventType }},
		{"STATUS", func(r *management.Rule) string { return r.Status }},
		{"ACTIONS", func(r *management.Rule) string {
			types := make([]string, len(r.Actions))
			for n, a := range r.Actions {
				types[n] = a.Type
			}
			return strings.Join(types, ",")
		}},
	}
	return records[management.Rule, management.RuleInput, management.RulePatch, string]{
		name: "rules", about: "defines what is done on an event of a thread", one: "a rule", columns: columns,
		of: func(c *call) resource[management.Rule, management.RulePatch, string] { return c.Lifecycle },
		create: func(c *call, ctx context.Context, in management.RuleInput) (*management.Rule, error) {
			return c.Lifecycle.Create(ctx, in)
		},
	}.group(
		command("match", "THREAD EVENT [KEY...]", "lists the rules that an event of a thread would trigger, without running them", func(ctx context.Context, c *call, args []string) error {
			matched, err := c.Lifecycle.Match(ctx, args[0], args[1], args[2:]...)
			if err != nil {
				return err
			}
			return printList(c, each(matched), columns...)
		}),
		command("fields", "", "lists the fields that conditions can have", func(ctx context.Context, c *call, _ []string) error {
			fields, err := c.Lifecycle.DescribeFields(ctx)
			if err != nil {
				return err
			}
			return printList(c, each(fields),
				column[management.RuleField]{"FIELD", func(f *management.RuleField) string { return f.Field }},
				column[management.RuleField]{"TYPE", func(f *management.RuleField) string { return f.Type }},
			)
		}),
	)
}

func emails() *cli.Command {
	return records[management.EmailTemplate, management.EmailTemplateInput, management.EmailTemplatePatch, string]{
		name: "emails", about: "keeps the templates of e-mails", one: "an e-mail template",
		columns: []column[management.EmailTemplate]{
			{"EMAIL", func(e *management.EmailTemplate) string { return e.ID }},
			{"NAME", func(e *management.EmailTemplate) string { return e.Name }},
			{"LANGUAGE", func(e *management.EmailTemplate) string { return e.Language }},
			{"SUBJECT", func(e *management.EmailTemplate) string { return e.Subject }},
		},
		of: func(c *call) resource[management.EmailTemplate, management.EmailTemplatePatch, string] {
			return c.EmailTemplates
		},
		create: func(c *call, ctx context.Context, in management.EmailTemplateInput) (*management.EmailTemplate, error) {
			return c.EmailTemplates.Create(ctx, in)
		},
	}.group()
}
