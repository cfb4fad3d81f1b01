package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

func feedback() *cli.Command {
	return group("feedback", "reads and gives ratings of answers",
		command("list", "", "lists ratings with their comments; without a flag those of every message of the account", func(ctx context.Context, c *call, _ []string) error {
			filter := management.FeedbackFilter{
				MessageIDs: c.list("message"), ThreadID: c.flags.String("thread"), AgentID: c.flags.String("agent"),
			}
			if value := c.text("rating"); value != nil {
				positive, err := positive(*value)
				if err != nil {
					return err
				}
				filter.Positive = &positive
			}
			rows, err := c.Feedback.List(ctx, filter)
			if err != nil {
				return err
			}
			return printList(c, each(rows),
				column[management.FeedbackRow]{"MESSAGE", func(f *management.FeedbackRow) string { return f.MessageID }},
				column[management.FeedbackRow]{"RATING", func(f *management.FeedbackRow) string { return rating(&f.IsPositive) }},
				column[management.FeedbackRow]{"USER", func(f *management.FeedbackRow) string { return f.UserID }},
				column[management.FeedbackRow]{"COMMENT", func(f *management.FeedbackRow) string { return f.Comment }},
			)
		},
			listFlag("message", "`id` of a message"),
			textFlag("thread", "`id` of the thread"),
			textFlag("agent", "`id` of the agent; takes a request for each of its threads"),
			textFlag("rating", "`word`: good or bad"),
		),
		command("add", "MESSAGE RATING", "rates an answer as good or bad", func(ctx context.Context, c *call, args []string) error {
			positive, err := positive(args[1])
			if err != nil {
				return err
			}
			return printDone(c, "rated as "+args[1], c.Feedback.Add(ctx, management.FeedbackInput{
				MessageID: args[0], IsPositive: positive, Comment: c.flags.String("comment"),
			}))
		}, textFlag("comment", "a `text`")),
	)
}

// positive reads a rating.
func positive(text string) (bool, error) {
	if text != "good" && text != "bad" {
		return false, usageError{"the rating must be good or bad"}
	}
	return text == "good", nil
}
