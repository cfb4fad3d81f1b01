package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

func intellects() *cli.Command {
	return group("intellects", "configures what answers: instructions, opening phrase, secrets",
		command("list", "", "lists the account's intellects", func(ctx context.Context, c *call, _ []string) error {
			return printList(c, c.Intellects.List(ctx),
				column[management.Intellect]{"INTELLECT", func(i *management.Intellect) string { return fmt.Sprint(i.ID) }},
				column[management.Intellect]{"NAME", func(i *management.Intellect) string { return i.Name }},
				column[management.Intellect]{"TOOLS", func(i *management.Intellect) string { return fmt.Sprint(len(i.ToolIDs)) }},
				column[management.Intellect]{"KNOWLEDGE", func(i *management.Intellect) string { return strings.Trim(fmt.Sprint(i.KnowledgeIDs), "[]") }},
				column[management.Intellect]{"OPENING", func(i *management.Intellect) string { return i.OpeningPhrase }},
			)
		}),
		command("get", "NUMBER", "shows an intellect; of its secrets the names alone", numbered(func(ctx context.Context, c *call, id int64, _ []string) error {
			i, err := c.Intellects.Get(ctx, id)
			return printRecord(c, i, err)
		})),
		command("create", "", "makes an intellect", func(ctx context.Context, c *call, _ []string) error {
			var in management.IntellectFields
			if err := readFields(c.flags.String("file"), "an intellect", &in); err != nil {
				return err
			}
			if name := c.text("name"); name != nil {
				in.Name = name
			}
			i, err := c.Intellects.Add(ctx, in)
			return printRecord(c, i, err)
		}, textFlag("name", "the intellect's `name`"), textFlag("file", "JSON `file` with its fields")),
		command("update", "NUMBER", "changes the fields that a JSON file has", numbered(func(ctx context.Context, c *call, id int64, _ []string) error {
			var in management.IntellectFields
			if err := readFields(c.flags.String("file"), "an intellect", &in); err != nil {
				return err
			}
			i, err := c.Intellects.Update(ctx, id, in)
			return printRecord(c, i, err)
		}), required(textFlag("file", "JSON `file` with fields"))),
		command("opening", "NUMBER [TEXT]", "sets the opening phrase; none restores the service's", numbered(func(ctx context.Context, c *call, id int64, args []string) error {
			return printDone(c, "opening phrase set", c.Intellects.SetOpeningPhrase(ctx, id, strings.Join(args, "")))
		})),
		command("secret", "NUMBER NAME", "sets a secret, whose value is read from standard input", numbered(func(ctx context.Context, c *call, id int64, args []string) error {
			value, err := io.ReadAll(c.stdin)
			if err != nil {
				return err
			}
			values := map[string]string{args[0]: string(bytes.TrimRight(value, "\r\n"))}
			return printDone(c, "secret "+args[0]+" set", c.Intellects.SetSecrets(ctx, id, values))
		})),
		command("audit", "NUMBER", "looks for what does not fit together in an intellect", numbered(func(ctx context.Context, c *call, id int64, _ []string) error {
			findings, err := c.Intellects.Audit(ctx, id)
			if err != nil {
				return err
			}
			return printFindings(c, findings)
		})),
		removal("NUMBER", "deletes an intellect", func(ctx context.Context, c *call, args []string, opts []management.Option) error {
			return numbered(func(ctx context.Context, c *call, id int64, _ []string) error {
				return printDone(c, "deleted intellect "+args[0], c.Intellects.Delete(ctx, id, opts...))
			})(ctx, c, args)
		}),
	)
}

// readFields reads the fields of an object, such as "an intellect", from a JSON file.
// Unknown names are refused, because they would be ignored silently. Without a path it
// reads nothing.
func readFields(path, object string, into any) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return usageError{path + " must be a JSON object with fields of " + object + ": " + err.Error()}
	}
	return nil
}
