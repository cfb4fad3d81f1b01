package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/management"
)

// command is one command of agentctl.
type command struct {
	name string // one word or two
	args string // its arguments as in the help: WORD, [WORD] and WORD...
	// about is its line of help.
	about string
	// prepare declares the command's flags and returns its action.
	prepare func(*flag.FlagSet) action
}

// action runs a command with its arguments, whose number has been checked.
type action func(ctx context.Context, c *cli, args []string) error

// arity returns how many arguments a command takes; most is -1 for no limit.
func (c *command) arity() (least, most int) {
	for word := range strings.FieldsSeq(c.args) {
		if strings.HasSuffix(strings.Trim(word, "[]"), "...") {
			most = -1
		}
		if !strings.HasPrefix(word, "[") {
			least++
		}
		if most >= 0 {
			most++
		}
	}
	return least, most
}

// plain is a command without flags.
func plain(do action) func(*flag.FlagSet) action {
	return func(*flag.FlagSet) action { return do }
}

// removal is a command that deletes. It must be confirmed by -yes; more adds other flags.
func removal(do func(ctx context.Context, c *cli, args []string, opts []management.Option) error, more ...confirmation) func(*flag.FlagSet) action {
	return func(f *flag.FlagSet) action {
		all := append([]confirmation{{"yes", "delete for good", management.ConfirmPermanent}}, more...)
		given := make([]*bool, len(all))
		for n, flag := range all {
			given[n] = f.Bool(flag.name, false, flag.about)
		}
		return func(ctx context.Context, c *cli, args []string) error {
			var opts []management.Option
			for n, flag := range all {
				if *given[n] {
					opts = append(opts, flag.option)
				}
			}
			return do(ctx, c, args, opts)
		}
	}
}

// confirmation is a flag that sets an option of the client.
type confirmation struct {
	name, about string
	option      management.Option
}

var (
	force          = confirmation{"force", "delete even if an intellect still uses it", management.Force}
	allowProtected = confirmation{"allow-protected", "delete even if a tag marks it as in production", management.AllowProtected}
)

// texts collects a flag that may be repeated.
func texts(f *flag.FlagSet, name, about string) *[]string {
	list := new([]string)
	f.Func(name, about+"; may be repeated", func(text string) error {
		*list = append(*list, text)
		return nil
	})
	return list
}

// given returns value, the value of a flag, or nil when the flag was not given.
func given[T any](f *flag.FlagSet, name string, value *T) *T {
	found := false
	f.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	if !found {
		return nil
	}
	return value
}

// number reads the id of an intellect or a knowledge record.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, usageError{strconv.Quote(text) + " must be a number"}
	}
	return n, nil
}

// numbered is an action on something whose id is a number, its first argument.
func numbered(do func(ctx context.Context, c *cli, id int64, args []string) error) action {
	return func(ctx context.Context, c *cli, args []string) error {
		id, err := number(args[0])
		if err != nil {
			return err
		}
		return do(ctx, c, id, args[1:])
	}
}

// fields reads an intellect's fields from a JSON file. Unknown names are refused, because
// they would be ignored silently.
func fields(path string) (f management.IntellectFields, err error) {
	if path == "" {
		return f, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return f, usageError{path + " must be a JSON object with fields of an intellect: " + err.Error()}
	}
	return f, nil
}

// source reads a file as a text of a knowledge record: as Markdown or plain text, depending
// on its name.
func source(path string) (management.Source, error) {
	text, err := os.ReadFile(path)
	return management.FileSource(filepath.Base(path), string(text)), err
}

var agentColumns = []column[management.Agent]{
	{"AGENT", func(a *management.Agent) string { return a.ID }},
	{"NAME", func(a *management.Agent) string { return a.DisplayName }},
	{"INTELLECT", func(a *management.Agent) string { return fmt.Sprint(a.Intellect.ID) }},
	{"TAGS", func(a *management.Agent) string { return strings.Join(a.AdminTags, ",") }},
	{"UPDATED", func(a *management.Agent) string { return string(a.UpdatedAt) }},
}

var findingColumns = []column[management.Finding]{
	{"SEVERITY", func(f *management.Finding) string { return string(f.Severity) }},
	{"CODE", func(f *management.Finding) string { return f.Code }},
	{"OBJECT", func(f *management.Finding) string { return f.Object }},
	{"FIELD", func(f *management.Finding) string { return f.Field }},
	{"DETAIL", func(f *management.Finding) string { return f.Detail }},
}

// commands are all commands, in the order of the help.
var commands = []command{
	{"agents list", "", "lists the account's agents", func(f *flag.FlagSet) action {
		search := f.String("search", "", "`part` of the name or the id")
		tags := texts(f, "tag", "admin `tag` that they have")
		order := f.String("order", "", "+createdAt, -createdAt, +updatedAt or -updatedAt")
		return func(ctx context.Context, c *cli, _ []string) error {
			return printList(c, c.Agents.List(ctx, management.AgentFilter{SearchValue: *search, AdminTagsIn: *tags, OrderBy: *order}), agentColumns...)
		}
	}},
	{"agents get", "ID", "shows an agent", plain(func(ctx context.Context, c *cli, args []string) error {
		a, err := c.Agents.Get(ctx, args[0])
		return printRecord(c, a, err)
	})},
	{"agents create", "", "makes an agent of an intellect and avatars", func(f *flag.FlagSet) action {
		name := f.String("name", "", "the agent's `name`, required")
		intellect := f.Int64("intellect", 0, "`number` of the intellect, required")
		avatars := texts(f, "avatar", "`id` of an avatar")
		tags := texts(f, "tag", "admin `tag`")
		return func(ctx context.Context, c *cli, _ []string) error {
			a, err := c.Agents.Create(ctx, management.AgentInput{
				DisplayName: *name, Intellect: management.IntellectRef{ID: *intellect}, AvatarIDs: *avatars, AdminTags: *tags,
			})
			return printRecord(c, a, err)
		}
	}},
	{"agents update", "ID", "changes what the flags name", func(f *flag.FlagSet) action {
		name := f.String("name", "", "the agent's `name`")
		intellect := f.Int64("intellect", 0, "`number` of the intellect")
		avatars := texts(f, "avatar", "`id` of an avatar")
		tags := texts(f, "tag", "admin `tag`")
		return func(ctx context.Context, c *cli, args []string) error {
			patch := management.AgentPatch{DisplayName: given(f, "name", name), AvatarIDs: *avatars, AdminTags: *tags}
			if id := given(f, "intellect", intellect); id != nil {
				patch.Intellect = &management.IntellectRef{ID: *id}
			}
			a, err := c.Agents.Update(ctx, args[0], patch)
			return printRecord(c, a, err)
		}
	}},
	{"agents delete", "ID", "deletes an agent, not its avatars and its intellect", removal(func(ctx context.Context, c *cli, args []string, opts []management.Option) error {
		return printDone(c, "deleted agent "+args[0], c.Agents.Delete(ctx, args[0], opts...))
	}, allowProtected)},
	{"agents widget", "ID", "prints the widget id with which a page shows the agent", plain(func(ctx context.Context, c *cli, args []string) error {
		id, err := c.Application.ResolveWidgetID(ctx, args[0])
		return printRecord(c, map[string]string{"agentId": args[0], "widgetId": id}, err)
	})},

	{"avatars list", "", "lists the account's avatars", plain(func(ctx context.Context, c *cli, _ []string) error {
		return printList(c, c.Avatars.List(ctx),
			column[management.Avatar]{"AVATAR", func(a *management.Avatar) string { return a.ID }},
			column[management.Avatar]{"NAME", func(a *management.Avatar) string { return a.Name }},
			column[management.Avatar]{"VOICE", func(a *management.Avatar) string { return a.Voice.ID }},
		)
	})},
	{"avatars get", "ID", "shows an avatar", plain(func(ctx context.Context, c *cli, args []string) error {
		a, err := c.Avatars.Get(ctx, args[0])
		return printRecord(c, a, err)
	})},
	{"avatars create", "", "makes an avatar of a voice and a visual of the catalog", func(f *flag.FlagSet) action {
		name := f.String("name", "", "the avatar's `name`")
		voice := f.String("voice", "", "`itemId` of a voice, required")
		visual := f.String("visual", "", "`itemId` of a visual")
		return func(ctx context.Context, c *cli, _ []string) error {
			in := management.AvatarInput{Name: *name, Voice: management.AvatarVoice{ID: *voice}}
			if *visual != "" {
				in.Visual = &management.AvatarVisual{ID: *visual}
			}
			a, err := c.Avatars.Create(ctx, in)
			return printRecord(c, a, err)
		}
	}},
	{"avatars delete", "ID", "deletes an avatar", removal(func(ctx context.Context, c *cli, args []string, opts []management.Option) error {
		return printDone(c, "deleted avatar "+args[0], c.Avatars.Delete(ctx, args[0], opts...))
	})},

	{"intellects list", "", "lists the account's intellects", plain(func(ctx context.Context, c *cli, _ []string) error {
		return printList(c, c.Intellects.List(ctx),
			column[management.Intellect]{"INTELLECT", func(i *management.Intellect) string { return fmt.Sprint(i.ID) }},
			column[management.Intellect]{"NAME", func(i *management.Intellect) string { return i.Name }},
			column[management.Intellect]{"TOOLS", func(i *management.Intellect) string { return fmt.Sprint(len(i.ToolIDs)) }},
			column[management.Intellect]{"KNOWLEDGE", func(i *management.Intellect) string { return strings.Trim(fmt.Sprint(i.KnowledgeIDs), "[]") }},
			column[management.Intellect]{"OPENING", func(i *management.Intellect) string { return i.OpeningPhrase }},
		)
	})},
	{"intellects get", "NUMBER", "shows an intellect; of its secrets the names alone", plain(numbered(func(ctx context.Context, c *cli, id int64, _ []string) error {
		i, err := c.Intellects.Get(ctx, id)
		return printRecord(c, i, err)
	}))},
	{"intellects create", "", "makes an intellect", func(f *flag.FlagSet) action {
		name := f.String("name", "", "the intellect's `name`")
		file := f.String("file", "", "JSON `file` with its fields")
		return func(ctx context.Context, c *cli, _ []string) error {
			in, err := fields(*file)
			if err != nil {
				return err
			}
			if name := given(f, "name", name); name != nil {
				in.Name = name
			}
			i, err := c.Intellects.Add(ctx, in)
			return printRecord(c, i, err)
		}
	}},
	{"intellects update", "NUMBER", "changes the fields that a JSON file has", func(f *flag.FlagSet) action {
		file := f.String("file", "", "JSON `file` with fields, required")
		return numbered(func(ctx context.Context, c *cli, id int64, _ []string) error {
			if *file == "" {
				return usageError{"intellects update needs -file"}
			}
			in, err := fields(*file)
			if err != nil {
				return err
			}
			i, err := c.Intellects.Update(ctx, id, in)
			return printRecord(c, i, err)
		})
	}},
	{"intellects opening", "NUMBER [TEXT]", "sets the opening phrase; none restores the service's", plain(numbered(func(ctx context.Context, c *cli, id int64, args []string) error {
		return printDone(c, "opening phrase set", c.Intellects.SetOpeningPhrase(ctx, id, strings.Join(args, "")))
	}))},
	{"intellects secret", "NUMBER NAME", "sets a secret, whose value is read from standard input", plain(numbered(func(ctx context.Context, c *cli, id int64, args []string) error {
		value, err := io.ReadAll(c.stdin)
		if err != nil {
			return err
		}
		values := map[string]string{args[0]: string(bytes.TrimRight(value, "\r\n"))}
		return printDone(c, "secret "+args[0]+" set", c.Intellects.SetSecrets(ctx, id, values))
	}))},
	{"intellects audit", "NUMBER", "looks for what does not fit together in an intellect", plain(numbered(func(ctx context.Context, c *cli, id int64, _ []string) error {
		findings, err := c.Intellects.Audit(ctx, id)
		if err != nil {
			return err
		}
		return printFindings(c, findings)
	}))},
	{"intellects delete", "NUMBER", "deletes an intellect", removal(func(ctx context.Context, c *cli, args []string, opts []management.Option) error {
		return numbered(func(ctx context.Context, c *cli, id int64, _ []string) error {
			return printDone(c, "deleted intellect "+args[0], c.Intellects.Delete(ctx, id, opts...))
		})(ctx, c, args)
	})},

	{"knowledge list", "", "lists the account's knowledge records", plain(func(ctx context.Context, c *cli, _ []string) error {
		return printList(c, c.Knowledge.List(ctx),
			column[management.KnowledgeRecord]{"RECORD", func(r *management.KnowledgeRecord) string { return fmt.Sprint(r.ID) }},
			column[management.KnowledgeRecord]{"NAME", func(r *management.KnowledgeRecord) string { return r.Name }},
			column[management.KnowledgeRecord]{"SOURCES", func(r *management.KnowledgeRecord) string { return fmt.Sprint(len(r.Config.Sources)) }},
			column[management.KnowledgeRecord]{"INDEXED", func(r *management.KnowledgeRecord) string { return strconv.FormatBool(r.Indexed()) }},
		)
	})},
	{"knowledge get", "NUMBER", "lists the sources of a record; -json shows all of it", plain(numbered(func(ctx context.Context, c *cli, id int64, _ []string) error {
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
	}))},
	{"knowledge create", "NAME [FILE...]", "makes a record, with the texts of files", plain(func(ctx context.Context, c *cli, args []string) error {
		sources, err := sources(args[1:])
		if err != nil {
			return err
		}
		r, err := c.Knowledge.Add(ctx, args[0])
		if err == nil && len(sources) > 0 {
			r, err = c.Knowledge.Update(ctx, r.ID, management.KnowledgePatch{Config: &management.KnowledgeConfig{Sources: sources}})
		}
		return printRecord(c, r, err)
	})},
	{"knowledge add", "NUMBER FILE...", "adds the texts of files to a record", plain(numbered(func(ctx context.Context, c *cli, id int64, args []string) error {
		return eachSource(ctx, c, id, args, "added", "is there already", c.Knowledge.AddSource)
	}))},
	{"knowledge remove", "NUMBER FILE...", "removes the texts of files from a record", plain(numbered(func(ctx context.Context, c *cli, id int64, args []string) error {
		return eachSource(ctx, c, id, args, "removed", "is not there", c.Knowledge.RemoveSource)
	}))},
	{"knowledge search", "TEXT...", "looks for places in the account's texts", func(f *flag.FlagSet) action {
		top := f.Int("top", 0, "how many `places`; 0 is 5")
		return func(ctx context.Context, c *cli, args []string) error {
			found, err := c.Knowledge.Search(ctx, management.SearchInput{Query: strings.Join(args, " "), TopN: *top, IncludeSources: new(true)})
			if err != nil {
				return err
			}
			return printList(c, each(found.Chapters),
				column[management.Chapter]{"TITLE", func(p *management.Chapter) string { return p.Title }},
				column[management.Chapter]{"HEADING", func(p *management.Chapter) string { return p.Heading }},
				column[management.Chapter]{"TEXT", func(p *management.Chapter) string { return p.Text }},
			)
		}
	}},
	{"knowledge delete", "NUMBER", "deletes a record with its texts", removal(func(ctx context.Context, c *cli, args []string, opts []management.Option) error {
		return numbered(func(ctx context.Context, c *cli, id int64, _ []string) error {
			return printDone(c, "deleted knowledge record "+args[0], c.Knowledge.Delete(ctx, id, opts...))
		})(ctx, c, args)
	}, force)},

	{"threads list", "", "lists what was talked about", func(f *flag.FlagSet) action {
		agent := texts(f, "agent", "`id` of the agent")
		user := f.String("user", "", "`id` of the user; an empty one is anonymous visitors")
		status := f.String("status", "", "active or completed")
		since := f.Duration("since", 0, "changed within this `time`, as in 24h")
		return func(ctx context.Context, c *cli, _ []string) error {
			filter := management.ThreadFilter{UserID: given(f, "user", user), Status: *status}
			if *since > 0 {
				filter.UpdatedFrom = time.Now().Add(-*since)
			}
			if len(*agent) > 1 {
				return errSeveralAgents
			}
			if len(*agent) == 1 {
				filter.AgentID = (*agent)[0]
			}
			return printList(c, c.Threads.List(ctx, filter),
				column[management.Thread]{"THREAD", func(t *management.Thread) string { return t.ID }},
				column[management.Thread]{"TITLE", func(t *management.Thread) string { return t.Title }},
				column[management.Thread]{"STATUS", func(t *management.Thread) string { return t.Status }},
				column[management.Thread]{"AGENT", func(t *management.Thread) string { return t.AgentID }},
				column[management.Thread]{"UPDATED", func(t *management.Thread) string { return string(t.UpdatedAt) }},
			)
		}
	}},
	{"threads get", "ID", "shows a thread with its analysis", plain(func(ctx context.Context, c *cli, args []string) error {
		t, err := c.Threads.Get(ctx, args[0])
		return printRecord(c, t, err)
	})},
	{"threads transcript", "ID", "prints what was said", plain(func(ctx context.Context, c *cli, args []string) error {
		t, err := c.Threads.Transcript(ctx, args[0])
		if err != nil || c.json {
			return printRecord(c, t, err)
		}
		return printText(c, t.Text)
	})},
	{"threads messages", "ID", "lists the messages of a thread with their ratings", plain(func(ctx context.Context, c *cli, args []string) error {
		return printList(c, c.Messages.List(ctx, management.MessageFilter{ThreadID: args[0]}),
			column[management.Message]{"MESSAGE", func(m *management.Message) string { return m.ID }},
			column[management.Message]{"BY", func(m *management.Message) string { return m.Type }},
			column[management.Message]{"RATING", func(m *management.Message) string { return rating(m.IsPositive) }},
			column[management.Message]{"TEXT", func(m *management.Message) string { return m.Text() }},
		)
	})},
	{"threads rename", "ID TITLE", "gives a thread a title", plain(func(ctx context.Context, c *cli, args []string) error {
		t, err := c.Threads.Rename(ctx, args[0], args[1])
		return printRecord(c, t, err)
	})},
	{"threads push", "ID TEXT", "puts a message of the agent into a thread; a live session says it", func(f *flag.FlagSet) action {
		system := f.Bool("system", false, "for the model alone, not spoken")
		return func(ctx context.Context, c *cli, args []string) error {
			pushed, err := c.Threads.Push(ctx, args[0], management.PushInput{Content: args[1], SystemMessage: *system})
			return printRecord(c, pushed, err)
		}
	}},
	{"threads delete", "ID...", "deletes threads with their messages", removal(func(ctx context.Context, c *cli, args []string, opts []management.Option) error {
		deleted, err := c.Threads.Delete(ctx, args, opts...)
		if err != nil {
			return err
		}
		return printList(c, each(deleted), column[management.Thread]{"DELETED", func(t *management.Thread) string { return t.ID }})
	})},
	{"threads report", "", "prints messages as CSV, with what users have written; -summary counts them", func(f *flag.FlagSet) action {
		summary := f.Bool("summary", false, "print figures instead")
		return func(ctx context.Context, c *cli, _ []string) error {
			if *summary {
				s, err := c.Messages.ReportSummary(ctx, management.MessageFilter{})
				return printRecord(c, s, err)
			}
			report, err := c.Messages.Report(ctx, management.MessageFilter{})
			if err == nil {
				_, err = c.stdout.Write(report)
			}
			return err
		}
	}},

	{"tokens admin", "", "mints an admin token and prints it", mint(func(ctx context.Context, c *cli, in management.TokenInput) (management.Token, error) {
		return c.Tokens.Admin(ctx, management.AdminTokenInput{UserID: in.UserID, TTL: in.TTL})
	})},
	{"tokens conversation", "", "mints a token for talking to an intellect and prints it", mint(func(ctx context.Context, c *cli, in management.TokenInput) (management.Token, error) {
		return c.Tokens.Conversation(ctx, in)
	}, "config", "agent")},
	{"tokens agent", "", "mints a visitor's token for talking to an agent and prints it", mint(func(ctx context.Context, c *cli, in management.TokenInput) (management.Token, error) {
		return c.Tokens.Agent(ctx, in)
	}, "config", "agent")},
	{"tokens widget", "WIDGETID", "exchanges a widget id for a token and prints it", plain(func(ctx context.Context, c *cli, args []string) error {
		token, err := c.Tokens.Widget(ctx, args[0])
		return printToken(c, token, err)
	})},
	{"tokens end", "", "revokes the token read from standard input", plain(func(ctx context.Context, c *cli, _ []string) error {
		text, err := io.ReadAll(c.stdin)
		if err != nil {
			return err
		}
		return printDone(c, "ended", c.Tokens.End(ctx, management.RawToken(string(bytes.TrimSpace(text)))))
	})},

	{"doctor", "", "checks the account for inconsistencies; changes nothing", func(f *flag.FlagSet) action {
		agents := texts(f, "agent", "`id` of an agent, instead of the whole account")
		return func(ctx context.Context, c *cli, _ []string) error {
			d, err := c.Doctor(ctx, management.DoctorInput{AgentIDs: *agents})
			if err != nil {
				return err
			}
			if c.json {
				err = printRecord(c, d, nil)
			} else {
				err = printDiagnosis(c, d)
			}
			if err == nil && d.Summary.Errors > 0 {
				err = errFindings
			}
			return err
		}
	}},
}
