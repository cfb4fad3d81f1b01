package main

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

// call is a command that runs: the client, its flags, and the streams.
type call struct {
	*management.Client
	config management.Config // the addresses of the client
	flags  *cli.Command
	json   bool
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// action runs a command with its arguments, whose number has been checked.
type action func(ctx context.Context, c *call, args []string) error

// command is a command that calls the service. Its arguments are as in the help: WORD,
// [WORD] and WORD...
func command(name, args, about string, do action, flags ...cli.Flag) *cli.Command {
	return &cli.Command{Name: name, ArgsUsage: args, Usage: about, Flags: flags, Action: func(ctx context.Context, c *cli.Command) error {
		given := c.Args().Slice()
		if least, most := arity(args); len(given) < least || most >= 0 && len(given) > most {
			return usageError{strings.TrimSpace("usage: agentctl " + words(c) + " " + args)}
		}
		options, err := accountOptions(c)
		if err != nil {
			return err
		}
		client, err := management.New(options)
		if err != nil {
			return err
		}
		defer client.Close()
		root := c.Root()
		return do(ctx, &call{client, options.Config, c, c.Bool("json"), root.Reader, root.Writer, root.ErrWriter}, given)
	}}
}

// arity returns how many arguments a command takes; most is -1 for no limit.
func arity(args string) (least, most int) {
	for word := range strings.FieldsSeq(args) {
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

// confirmation is a flag that sets an option of the client.
type confirmation struct {
	name, about string
	option      management.Option
}

var (
	permanent      = confirmation{"yes", "delete for good", management.ConfirmPermanent}
	force          = confirmation{"force", "delete even if something still uses it", management.Force}
	allowProtected = confirmation{"allow-protected", "delete even if a tag marks it as in production", management.AllowProtected}
)

// removal is the command "delete" of a group. It must be confirmed by -yes; more adds other
// flags.
func removal(args, about string, do func(ctx context.Context, c *call, args []string, opts []management.Option) error, more ...confirmation) *cli.Command {
	confirmations := append([]confirmation{permanent}, more...)
	flags := make([]cli.Flag, len(confirmations))
	for n, f := range confirmations {
		flags[n] = boolFlag(f.name, f.about)
	}
	return command("delete", args, about, func(ctx context.Context, c *call, args []string) error {
		var opts []management.Option
		for _, f := range confirmations {
			if c.flags.Bool(f.name) {
				opts = append(opts, f.option)
			}
		}
		return do(ctx, c, args, opts)
	}, flags...)
}

// textFlag is a flag with a text. An empty one is refused: it is an unset variable of a script,
// and the command would run as if the flag was not given.
func textFlag(name, about string) *cli.StringFlag {
	return &cli.StringFlag{Name: name, Usage: about, Validator: func(text string) error { return notBlank("it", text) }}
}

// emptyFlag is a textFlag whose text may be empty.
func emptyFlag(name, about string) *cli.StringFlag {
	f := textFlag(name, about)
	f.Validator = nil
	return f
}

func boolFlag(name, about string) *cli.BoolFlag { return &cli.BoolFlag{Name: name, Usage: about} }

func numberFlag(name, about string) *cli.Int64Flag {
	return &cli.Int64Flag{Name: name, Usage: about, HideDefault: true, Validator: func(n int64) error { return positiveFlag(n) }}
}

func timeFlag(name, about string) *cli.DurationFlag {
	return &cli.DurationFlag{Name: name, Usage: about, HideDefault: true, Validator: func(d time.Duration) error { return positiveFlag(int64(d)) }}
}

// listFlag is a flag that may be repeated.
func listFlag(name, about string) *cli.StringSliceFlag {
	return &cli.StringSliceFlag{Name: name, Usage: about + "; may be repeated", Validator: noneBlank}
}

func noneBlank(texts []string) error {
	for _, text := range texts {
		if err := notBlank("it", text); err != nil {
			return err
		}
	}
	return nil
}

// notBlank refuses an empty text, which the message calls name.
func notBlank(name, text string) error {
	if strings.TrimSpace(text) == "" {
		return usageError{name + " must not be empty"}
	}
	return nil
}

func positiveFlag(n int64) error {
	if n <= 0 {
		return usageError{"it must be positive"}
	}
	return nil
}

// required marks a flag without which the command does not run.
func required[T, C any, V cli.ValueCreator[T, C]](f *cli.FlagBase[T, C, V]) *cli.FlagBase[T, C, V] {
	f.Required, f.Usage = true, f.Usage+"; required"
	return f
}

// text returns the value of a flag, or nil when the flag was not given.
func (c *call) text(flag string) *string {
	if !c.flags.IsSet(flag) {
		return nil
	}
	return new(c.flags.String(flag))
}

// list returns the values of a flag that may be repeated, or nil when it was not given.
func (c *call) list(flag string) []string {
	if !c.flags.IsSet(flag) {
		return nil
	}
	return c.flags.StringSlice(flag)
}

// number reads the id of an intellect or another record.
func number(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, usageError{strconv.Quote(text) + " must be a number"}
	}
	return n, nil
}

// named is an action on something whose id, a text or a number, is its first argument.
func named[ID string | int64](do func(ctx context.Context, c *call, id ID, args []string) error) action {
	return func(ctx context.Context, c *call, args []string) error {
		var id ID
		switch id := any(&id).(type) {
		case *string:
			*id = args[0]
		case *int64:
			var err error
			if *id, err = number(args[0]); err != nil {
				return err
			}
		}
		return do(ctx, c, id, args[1:])
	}
}
