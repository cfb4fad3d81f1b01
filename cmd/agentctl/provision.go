package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

func provision() *cli.Command {
	return command("provision", "", "makes an agent that pages can use, in one call: an intellect, an avatar and the agent", func(ctx context.Context, c *call, _ []string) error {
		var brief management.Brief
		if err := readFields(c.flags.String("file"), "an agent to provision", &brief); err != nil {
			return err
		}
		for name, to := range map[string]*string{
			"description": &brief.Description, "name": &brief.DisplayName, "directive": &brief.Directive, "opening": &brief.OpeningPhrase,
		} {
			if text := c.text(name); text != nil {
				*to = *text
			}
		}
		var opts []management.Option
		if key := c.flags.String("key"); key != "" {
			opts = append(opts, management.IdempotencyKey(key))
		}
		made, err := c.Provision(ctx, brief, opts...)
		for _, problem := range made.Problems {
			fmt.Fprintln(c.stderr, "agentctl: warning:", explain(problem))
		}
		if made.IntellectID == 0 {
			return err
		}
		// What exists after a failure is printed too, because nothing is removed.
		return errors.Join(err, printRecord(c, made, nil))
	},
		textFlag("description", "`text` that says what the agent is for, from which the service makes the rest; in place of -directive"),
		textFlag("name", "the agent's `name`"),
		textFlag("directive", "`instructions` of the agent, a template; together with -name"),
		textFlag("opening", "`phrase` with which it begins"),
		textFlag("file", "JSON `file` with these and more fields"),
		textFlag("key", "idempotency `key`: the same call again continues where the first one failed"),
	)
}
