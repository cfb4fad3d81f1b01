package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// errSeveralAgents is returned for several agents: the service filters by one (service.md,
// "Threads").
var errSeveralAgents = fault.New(fault.ValidationError, "threads can be filtered by one agent only; run the command once for each agent")

func threads() *cli.Command {
	return group("threads", "reads what was said",
		command("list", "", "lists what was talked about", func(ctx context.Context, c *call, _ []string) error {
			filter := management.ThreadFilter{UserID: c.text("user"), Status: c.flags.String("status")}
			if since := c.flags.Duration("since"); since > 0 {
				filter.UpdatedFrom = time.Now().Add(-since)
			}
			switch agents := c.list("agent"); {
			case len(agents) > 1:
				return errSeveralAgents
			case len(agents) == 1:
				filter.AgentID = agents[0]
			}
			return printList(c, c.Threads.List(ctx, filter),
				column[management.Thread]{"THREAD", func(t *management.Thread) string { return t.ID }},
				column[management.Thread]{"TITLE", func(t *management.Thread) string { return t.Title }},
				column[management.Thread]{"STATUS", func(t *management.Thread) string { return t.Status }},
				column[management.Thread]{"AGENT", func(t *management.Thread) string { return t.AgentID }},
				column[management.Thread]{"UPDATED", func(t *management.Thread) string { return string(t.UpdatedAt) }},
			)
		},
			&cli.StringSliceFlag{Name: "agent", Usage: "`id` of the agent, one only", Validator: noneBlank},
			emptyFlag("user", "`id` of the user; an empty one is anonymous visitors"),
			textFlag("status", "`state`: active or completed"),
			timeFlag("since", "changed within this `duration`, as in 24h"),
		),
		command("get", "ID", "shows a thread with its analysis", func(ctx context.Context, c *call, args []string) error {
			t, err := c.Threads.Get(ctx, args[0])
			return printRecord(c, t, err)
		}),
		command("transcript", "ID", "prints what was said", func(ctx context.Context, c *call, args []string) error {
			t, err := c.Threads.Transcript(ctx, args[0])
			if err != nil || c.json {
				return printRecord(c, t, err)
			}
			return printText(c, t.Text)
		}),
		command("messages", "ID", "lists the messages of a thread with their ratings", func(ctx context.Context, c *call, args []string) error {
			return printList(c, c.Messages.List(ctx, management.MessageFilter{ThreadID: args[0]}),
				column[management.Message]{"MESSAGE", func(m *management.Message) string { return m.ID }},
				column[management.Message]{"BY", func(m *management.Message) string { return m.Type }},
				column[management.Message]{"RATING", func(m *management.Message) string { return rating(m.IsPositive) }},
				column[management.Message]{"TEXT", func(m *management.Message) string { return m.Text() }},
			)
		}),
		command("rename", "ID TITLE", "gives a thread a title", func(ctx context.Context, c *call, args []string) error {
			t, err := c.Threads.Rename(ctx, args[0], args[1])
			return printRecord(c, t, err)
		}),
		command("push", "ID TEXT", "puts a message of the agent into a thread; a live session says it", func(ctx context.Context, c *call, args []string) error {
			pushed, err := c.Threads.Push(ctx, args[0], management.PushInput{Content: args[1], SystemMessage: c.flags.Bool("system")})
			return printRecord(c, pushed, err)
		}, boolFlag("system", "for the model alone, not spoken")),
		removal("ID...", "deletes threads with their messages", func(ctx context.Context, c *call, args []string, opts []management.Option) error {
			deleted, err := c.Threads.Delete(ctx, args, opts...)
			if err != nil {
				return err
			}
			if err := printList(c, each(deleted), column[management.Thread]{"DELETED", func(t *management.Thread) string { return t.ID }}); err != nil {
				return err
			}
			// The service leaves them out without an error.
			left := slices.DeleteFunc(slices.Clone(args), func(id string) bool {
				return slices.ContainsFunc(deleted, func(t management.Thread) bool { return t.ID == id })
			})
			if len(left) > 0 {
				return fault.New(fault.NotFound, "these threads were not deleted, because there are none: "+strings.Join(left, ", "))
			}
			return nil
		}),
		command("report", "", "prints the first 500 messages as CSV, with what users have written; -summary counts them", func(ctx context.Context, c *call, _ []string) error {
			if c.flags.Bool("summary") {
				s, err := c.Messages.ReportSummary(ctx, management.MessageFilter{})
				return printRecord(c, s, err)
			}
			report, err := c.Messages.Report(ctx, management.MessageFilter{})
			if err == nil {
				_, err = c.stdout.Write(report)
			}
			return err
		}, boolFlag("summary", "print figures instead")),
	)
}

func rating(positive *bool) string {
	switch {
	case positive == nil:
		return ""
	case *positive:
		return "good"
	}
	return "bad"
}
