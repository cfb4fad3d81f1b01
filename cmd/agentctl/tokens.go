package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

func tokens() *cli.Command {
	config := numberFlag("config", "`number` of the intellect; default that of the agent")
	agent := func() *cli.StringFlag { return textFlag("agent", "`id` of the agent") }
	visitor := func() *cli.StringFlag { return textFlag("user", "`id` of the user; default an anonymous visitor") }
	return group("tokens", "mints and ends tokens",
		mint("admin", "mints an admin token and prints it", required(textFlag("user", "`id` of the user, who owns what the token creates")), "1h", func(ctx context.Context, c *call, in management.TokenInput) (management.Token, error) {
			return c.Tokens.Admin(ctx, management.AdminTokenInput{UserID: in.UserID, TTL: in.TTL})
		}),
		mint("conversation", "mints a token for talking to an intellect and prints it", visitor(), "30m", func(ctx context.Context, c *call, in management.TokenInput) (management.Token, error) {
			return c.Tokens.Conversation(ctx, in)
		}, required(numberFlag("config", "`number` of the intellect")), agent()),
		mint("agent", "mints a visitor's token for talking to an agent and prints it", visitor(), "30m", func(ctx context.Context, c *call, in management.TokenInput) (management.Token, error) {
			return c.Tokens.Agent(ctx, in)
		}, config, required(agent())),
		command("widget", "WIDGETID", "exchanges a widget id for a token and prints it", func(ctx context.Context, c *call, args []string) error {
			token, err := c.Tokens.Widget(ctx, args[0])
			return printToken(c, token, err)
		}),
		command("end", "", "revokes the token read from standard input", func(ctx context.Context, c *call, _ []string) error {
			text, err := io.ReadAll(c.stdin)
			if err != nil {
				return err
			}
			return printDone(c, "ended", c.Tokens.End(ctx, management.RawToken(string(bytes.TrimSpace(text)))))
		}),
	)
}

// mint is a command that makes a token; ttl is the default of the flag with that name, and flags are the flags besides it and user.
func mint(name, about string, user *cli.StringFlag, ttl string, do func(context.Context, *call, management.TokenInput) (management.Token, error), flags ...cli.Flag) *cli.Command {
	flags = append(flags, user, timeFlag("ttl", "`duration` for which it is valid, as in 45m; default "+ttl))
	return command(name, "", about, func(ctx context.Context, c *call, _ []string) error {
		token, err := do(ctx, c, management.TokenInput{
			UserID: c.flags.String("user"), TTL: c.flags.Duration("ttl"), ConfigID: c.flags.Int64("config"), AgentID: c.flags.String("agent"),
		})
		return printToken(c, token, err)
	}, flags...)
}

// printToken prints a token's text: alone, for use in a script, or in JSON with its kind
// and expiry.
func printToken(c *call, t management.Token, err error) error {
	if err != nil {
		return err
	}
	if !c.json {
		_, err := fmt.Fprintln(c.stdout, t.KS())
		return err
	}
	view := struct {
		KS        string     `json:"ks"`
		Kind      string     `json:"kind"`
		ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	}{KS: t.KS(), Kind: string(t.Kind)}
	if !t.ExpiresAt.IsZero() {
		view.ExpiresAt = &t.ExpiresAt
	}
	return printRecord(c, view, nil)
}
