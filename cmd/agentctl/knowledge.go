package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

func knowledge() *cli.Command {
	return group("knowledge", "keeps the texts from which agents answer",
		command("list", "", "lists the account's knowledge records", func(ctx context.Context, c *call, _ []string) error {
			return printList(c, c.Knowledge.List(ctx),
				column[management.KnowledgeRecord]{"RECORD", func(r *management.KnowledgeRecord) string { return fmt.Sprint(r.ID) }},
				column[management.KnowledgeRecord]{"NAME", func(r *management.KnowledgeRecord) string { return r.Name }},
				column[management.KnowledgeRecord]{"SOURCES", func(r *management.KnowledgeRecord) string { return fmt.Sprint(len(r.Config.Sources)) }},
				column[management.KnowledgeRecord]{"INDEXED", func(r *management.KnowledgeRecord) string { return strconv.FormatBool(r.Indexed()) }},
			)
		}),
		command("get", "NUMBER", "lists the sources of a record; -json shows all of it", named(func(ctx context.Context, c *call, id int64, _ []string) error {
			r, err := c.Knowledge.Get(ctx, id)
			if err != nil || c.json {
				return printRecord(c, r, err)
			}
			return printList(c, each(r.Config.Sources),
				column[management.Source]{"ENTRY", func(s *management.Source) string { return s.EntryID }},
				column[management.Source]{"NAME", func(s *management.Source) string { return s.Name }},
				column[management.Source]{"TYPE", func(s *management.Source) string { return s.Type }},
				column[management.Source]{"BYTES", func(s *management.Source) string { return fmt.Sprint(len(s.Content)) }},
				column[management.Source]{"INDEXED", func(s *management.Source) string { return strconv.FormatBool(s.Indexed()) }},
			)
		})),
		command("create", "NAME [FILE...]", "makes a record, with the texts of files", func(ctx context.Context, c *call, args []string) error {
			sources, err := sources(args[1:])
			if err != nil {
				return err
			}
			r, err := c.Knowledge.Add(ctx, args[0])
			if err != nil || len(sources) == 0 {
				return printRecord(c, r, err)
			}
			filled, err := c.Knowledge.Update(ctx, r.ID, management.KnowledgePatch{Config: &management.KnowledgeConfig{Sources: sources}})
			if err != nil { // the record exists: it is printed too, so that it can be filled or deleted
				return errors.Join(err, printRecord(c, r, nil))
			}
			return printRecord(c, filled, nil)
		}),
		command("update", "NUMBER", "changes what the flags name", named(func(ctx context.Context, c *call, id int64, _ []string) error {
			r, err := c.Knowledge.Update(ctx, id, management.KnowledgePatch{
				Name: c.text("name"), Description: c.text("description"), Tags: c.list("tag"),
			})
			return printRecord(c, r, err)
		}), textFlag("name", "the record's `name`"), emptyFlag("description", "what is in it, as a `text`; an empty one removes it"), listFlag("tag", "a `tag`, in place of those that it has")),
		command("add", "NUMBER FILE...", "adds the texts of files to a record", named(func(ctx context.Context, c *call, id int64, args []string) error {
			return eachSource(ctx, c, id, args, "added", "is there already", c.Knowledge.AddSource)
		})),
		command("remove", "NUMBER FILE...", "removes the texts of files from a record", named(func(ctx context.Context, c *call, id int64, args []string) error {
			return eachSource(ctx, c, id, args, "removed", "is not there", c.Knowledge.RemoveSource)
		})),
		command("search", "TEXT...", "looks for places in the account's texts", func(ctx context.Context, c *call, args []string) error {
			found, err := c.Knowledge.Search(ctx, management.SearchInput{
				Query: strings.Join(args, " "), TopN: int(c.flags.Int64("top")), IncludeSources: new(true),
			})
			if err != nil {
				return err
			}
			return printList(c, each(found.Chapters),
				column[management.Chapter]{"TITLE", func(p *management.Chapter) string { return p.Title }},
				column[management.Chapter]{"HEADING", func(p *management.Chapter) string { return p.Heading }},
				column[management.Chapter]{"TEXT", func(p *management.Chapter) string { return p.Text }},
			)
		}, numberFlag("top", "how many `places`, at most 50; default 5")),
		removal("NUMBER", "deletes a record with its texts", func(ctx context.Context, c *call, args []string, opts []management.Option) error {
			return named(func(ctx context.Context, c *call, id int64, _ []string) error {
				return printDone(c, "deleted knowledge record "+args[0], c.Knowledge.Delete(ctx, id, opts...))
			})(ctx, c, args)
		}, force),
	)
}

// sources reads files as the texts of a knowledge record: as Markdown or plain text,
// depending on their names.
func sources(paths []string) ([]management.Source, error) {
	list := make([]management.Source, len(paths))
	for n, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(text)) == 0 {
			return nil, usageError{path + " must have a text in it"}
		}
		list[n] = management.FileSource(filepath.Base(path), string(text))
	}
	return list, nil
}

// eachSource adds or removes the texts of files, one after the other.
func eachSource(
	ctx context.Context, c *call, id int64, paths []string, done, not string,
	do func(context.Context, int64, management.Source) (bool, error),
) error {
	list, err := sources(paths) // before the first change
	if err != nil {
		return err
	}
	for _, s := range list {
		applied, err := do(ctx, id, s)
		what := done + " " + s.Name
		if !applied {
			what = s.Name + " " + not
		}
		if err := printDone(c, what, err); err != nil {
			return err
		}
	}
	return nil
}
