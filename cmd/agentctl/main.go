// Command agentctl builds agents, talks to them and reads what was said, from a terminal or
// a script. It is package management, and a native session, with flags: see
// docs/agentctl.md.
//
// The admin secret is read from the environment or a file, never from a flag, which other
// users of the machine could read.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// Exit statuses.
const (
	statusOK     = 0
	statusFailed = 1 // the service refused, or doctor has found an error
	statusUsage  = 2 // the command line is wrong
)

// usageError is a mistake on the command line.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

// errFindings is the error of a check that found errors and has already printed them.
var errFindings = errors.New("there are errors")

// run executes one command line and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.Reader, root.Writer, root.ErrWriter = stdin, stdout, stderr
	err := root.Run(ctx, append([]string{root.Name}, args...))
	var usage usageError
	switch {
	case err == nil:
		return statusOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "agentctl: %s\nRun agentctl -h for the commands.\n", usage.text)
		return statusUsage
	case errors.Is(err, errFindings):
		return statusFailed
	}
	fmt.Fprintln(stderr, "agentctl:", explain(err))
	return statusFailed
}

// explain returns the text of an error, with what can be done about it on the command line.
func explain(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return fault.Redact(err.Error())
	}
	text := string(f.Code) + ": " + printable(f.Message())
	if f.RequestID != "" {
		text += " (request " + printable(f.RequestID) + ")"
	}
	// Without it, a file that does not exist is one that can't be read.
	var file *fs.PathError
	if errors.As(f, &file) {
		return text + ": " + printable(file.Error())
	}
	switch f.Code {
	case fault.ConfirmationRequired:
		return text + "; here that is -yes"
	case fault.ProtectedResource:
		return text + "; here that is -allow-protected"
	case fault.ToolInUse, fault.SkillInUse, fault.KnowledgeInUse:
		return text + "; here that is -force"
	case fault.Conflict: // also a name that is in use
		if strings.HasSuffix(f.Message(), "pass Force") {
			return text + "; here that is -force"
		}
	case fault.NoSecret:
		return text + "; set " + envSecret + " or " + envSecretFile + ", or pass -secret-file"
	case fault.NetworkError:
		return text + "; check that the service is running and that the addresses are right"
	}
	return text
}

const notes = `The account and its service come from the environment:

` + envPartner + `         the account's number
` + envSecret + `       its admin secret, or
` + envSecretFile + `  a file that has nothing else in it
` + envRegion + `             nvp1 (US, the default) or frp2 (EU)
` + envAgentic + `, ` + envGenie + `, ` + envOVP + `, ` + envMessaging + `
                                addresses of a service outside the regions
` + envService + `       what "localservice -json" prints, instead of all that

Flags may be written with one dash or two, before or after other arguments. Deletes need
-yes. The exit status is 0, 1 when the service refuses or doctor finds an error, and 2 for
a wrong command line.`

// newRoot returns agentctl with all its commands, in the order of the help. It keeps the
// values of flags, so each run has its own.
func newRoot() *cli.Command {
	root := &cli.Command{
		Name: "agentctl", Usage: "builds agents, talks to them and reads what was said", Description: notes,
		Version:               version(),
		Flags:                 accountFlags(),
		HideHelpCommand:       true, // -h has it, and "help" may be an argument
		EnableShellCompletion: true,
		ConfigureShellCompletionCommand: func(c *cli.Command) {
			c.Hidden, c.Usage = false, "prints a script with which a shell completes command lines"
		},
		Commands: []*cli.Command{
			provision(), agents(), avatars(), intellects(), tools(), skills(), knowledge(),
			insights(), rules(), emails(), threads(), feedback(), tokens(), doctor(), talk(), replayRecording(),
		},
	}
	root.Action = missing
	_ = root.Walk(func(c *cli.Command) error { // a function without errors
		c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error { return explainUsage(c, err) }
		c.DisableSliceFlagSeparator = true
		return nil
	})
	return root
}

// version returns the version of the module that go install was given.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// group is a command that consists of others.
func group(name, about string, commands ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Usage: about, Commands: commands, Action: missing}
}

// missing is the action of a group, which runs when none of its commands is named.
func missing(_ context.Context, c *cli.Command) error {
	var names []string
	for _, command := range c.VisibleCommands() {
		names = append(names, command.Name)
	}
	list := strings.Join(names, ", ")
	switch {
	case c != c.Root():
		return usageError{c.Name + " needs one of " + list}
	case c.Args().Present():
		return usageError{"there is no command " + strconv.Quote(c.Args().First()) + "; there are " + list}
	}
	return usageError{"a command is missing; there are " + list}
}

// explainUsage says what the library refuses about a command line.
func explainUsage(c *cli.Command, err error) error {
	text := err.Error()
	if strings.Contains(text, "strconv.ParseInt") {
		_, flag, _ := strings.Cut(text, "for flag ")
		flag, _, _ = strings.Cut(flag, ":")
		text = flag + " must be a number"
	}
	text = strings.ToLower(text[:1]) + text[1:]
	if name := words(c); name != "" {
		text = name + ": " + text
	}
	return usageError{text}
}

// words are the words of a command line that name c.
func words(c *cli.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.FullName(), c.Root().Name), " ")
}
