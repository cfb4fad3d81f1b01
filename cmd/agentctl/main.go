// Command agentctl builds agents and reads what was said to them, from a terminal or a
// script. It is package management with flags: see docs/management.md.
//
// The admin secret is read from the environment or a file, never from a flag, which other
// users of the machine could read.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
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
func run(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := execute(ctx, args, getenv, stdin, stdout, stderr)
	var usage usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
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
	switch f.Code {
	case fault.ConfirmationRequired:
		return text + "; here that is -yes"
	case fault.ProtectedResource:
		return text + "; here that is -allow-protected"
	case fault.ToolInUse, fault.SkillInUse, fault.KnowledgeInUse:
		return text + "; here that is -force"
	case fault.NoSecret:
		return text + "; set " + envSecret + " or " + envSecretFile + ", or pass -secret-file"
	case fault.NetworkError:
		return text + "; check that the service is running and that the addresses are right"
	}
	return text
}

// The environment variables.
const (
	envPartner    = "AGENTRUNTIME_PARTNER_ID"
	envSecret     = "AGENTRUNTIME_ADMIN_SECRET"
	envSecretFile = "AGENTRUNTIME_ADMIN_SECRET_FILE"
	envService    = "AGENTRUNTIME_SERVICE_FILE"
	envRegion     = "AGENTRUNTIME_REGION"
	envAgentic    = "AGENTRUNTIME_AGENTIC_URL"
	envGenie      = "AGENTRUNTIME_GENIE_URL"
	envOVP        = "AGENTRUNTIME_OVP_URL"
	envMessaging  = "AGENTRUNTIME_MESSAGING_URL"
)

const notes = `
The account and its service come from the environment:

  ` + envPartner + `         the account's number
  ` + envSecret + `       its admin secret, or
  ` + envSecretFile + `  a file that has nothing else in it
  ` + envRegion + `             nvp1 (US, the default) or frp2 (EU)
  ` + envAgentic + `, ` + envGenie + `, ` + envOVP + `, ` + envMessaging + `
                                  addresses of a service outside the regions
  ` + envService + `       what "localservice -json" prints, instead of all that

Deletes need -yes. The exit status is 0, 1 when the service refuses or doctor finds an
error, and 2 for a wrong command line.
`

// settings are the global flags: the service to use, and the form of the output.
type settings struct {
	json                    bool
	partner                 int64
	region                  string
	secretFile, serviceFile string
}

// cli is the client and the streams of a running command.
type cli struct {
	*management.Client
	json   bool
	stdin  io.Reader
	stdout io.Writer
}

func execute(ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) error {
	s := settings{secretFile: getenv(envSecretFile), serviceFile: getenv(envService), region: getenv(envRegion)}
	global := flag.NewFlagSet("agentctl", flag.ContinueOnError)
	global.SetOutput(io.Discard)
	s.register(global)
	if err := global.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			help(stdout, commands)
			return err
		}
		return usageError{err.Error()}
	}
	rest := global.Args()
	if len(rest) == 0 {
		return usageError{"a command is missing"}
	}
	c, rest, err := find(rest)
	if err != nil {
		return err
	}
	own := flag.NewFlagSet(c.name, flag.ContinueOnError)
	own.SetOutput(io.Discard)
	s.register(own) // global flags may follow the command too
	do := c.prepare(own)
	positional, err := interleaved(own, rest)
	if errors.Is(err, flag.ErrHelp) {
		help(stdout, []command{*c})
		return err
	}
	if err != nil {
		return usageError{c.name + ": " + err.Error()}
	}
	if least, most := c.arity(); len(positional) < least || most >= 0 && len(positional) > most {
		return usageError{"usage: agentctl " + c.name + " " + c.args}
	}
	options, err := s.options(getenv)
	if err != nil {
		return err
	}
	client, err := management.New(options)
	if err != nil {
		return err
	}
	defer client.Close()
	return do(ctx, &cli{client, s.json, stdin, stdout}, positional)
}

func (s *settings) register(f *flag.FlagSet) {
	f.BoolVar(&s.json, "json", s.json, "print JSON: one object, or one on each line of a list")
	f.Int64Var(&s.partner, "partner", s.partner, "the account's `number`")
	f.StringVar(&s.region, "region", s.region, "`code` of the region")
	f.StringVar(&s.secretFile, "secret-file", s.secretFile, "`file` with the admin secret")
	f.StringVar(&s.serviceFile, "service-file", s.serviceFile, "`file` with what localservice -json prints")
}

// interleaved parses flags before, between and after other arguments, which it returns.
func interleaved(f *flag.FlagSet, args []string) (positional []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		rest := f.Args()
		if read := len(args) - len(rest); read > 0 && args[read-1] == "--" { // no flags follow
			return append(positional, rest...), nil
		}
		if len(rest) == 0 {
			return positional, nil
		}
		positional, args = append(positional, rest[0]), rest[1:]
	}
}

// serviceFile is the part of the local service's output that is needed.
type serviceFile struct {
	PartnerID    int64  `json:"partnerId"`
	AdminSecret  string `json:"adminSecret"`
	AgenticURL   string `json:"agenticUrl"`
	GenieURL     string `json:"genieUrl"`
	OVPURL       string `json:"ovpUrl"`
	MessagingURL string `json:"messagingUrl"`
}

// options returns the options of the client: flags have priority, then the environment,
// then the file of a local service.
func (s *settings) options(getenv func(string) string) (management.Options, error) {
	var file serviceFile
	if s.serviceFile != "" {
		text, err := os.ReadFile(s.serviceFile)
		if err != nil {
			return management.Options{}, err
		}
		if err := json.Unmarshal(text, &file); err != nil {
			return management.Options{}, fmt.Errorf("%s is not what localservice -json prints: %w", s.serviceFile, err)
		}
	}
	o := management.Options{PartnerID: s.partner, UserID: "agentctl", Secret: file.AdminSecret}
	if text := getenv(envPartner); o.PartnerID == 0 && text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return o, usageError{envPartner + " must be a number"}
		}
		o.PartnerID = n
	}
	if o.PartnerID == 0 {
		o.PartnerID = file.PartnerID
	}
	if o.PartnerID == 0 {
		return o, usageError{"which account? Set " + envPartner + " or pass -partner"}
	}
	if secret := getenv(envSecret); secret != "" {
		o.Secret = secret
	}
	if s.secretFile != "" {
		text, err := os.ReadFile(s.secretFile)
		if err != nil {
			return o, err
		}
		if o.Secret = string(bytes.TrimSpace(text)); o.Secret == "" {
			return o, usageError{s.secretFile + " is empty; it must have the admin secret in it"}
		}
	}
	if s.region != "" {
		o.Region = &s.region
	}
	for _, address := range []struct {
		to         **string
		env, other string
	}{
		{&o.AgenticURL, envAgentic, file.AgenticURL},
		{&o.GenieURL, envGenie, file.GenieURL},
		{&o.OVPURL, envOVP, file.OVPURL},
		{&o.MessagingURL, envMessaging, file.MessagingURL},
	} {
		if value := getenv(address.env); value != "" {
			*address.to = &value
		} else if address.other != "" {
			*address.to = &address.other
		}
	}
	return o, nil
}

// find returns the command that args begin with, and the remaining args.
func find(args []string) (*command, []string, error) {
	var near []string
	for n := range commands {
		words := strings.Fields(commands[n].name)
		if len(args) >= len(words) && slices.Equal(words, args[:len(words)]) {
			return &commands[n], args[len(words):], nil
		}
		if words[0] == args[0] && len(words) > 1 {
			near = append(near, words[1])
		}
	}
	if near != nil {
		return nil, nil, usageError{args[0] + " needs one of " + strings.Join(near, ", ")}
	}
	var first []string
	for _, c := range commands {
		first = append(first, strings.Fields(c.name)[0])
	}
	return nil, nil, usageError{"there is no command " + strconv.Quote(args[0]) + "; there are " + strings.Join(slices.Compact(first), ", ")}
}

// help prints commands with their flags.
func help(w io.Writer, list []command) {
	fmt.Fprintln(w, "Usage: agentctl [flags] command [arguments]")
	for _, c := range list {
		fmt.Fprintf(w, "\n  %s\n        %s\n", strings.TrimSpace(c.name+" "+c.args), c.about)
		f := flag.NewFlagSet("", flag.ContinueOnError)
		c.prepare(f)
		f.VisitAll(func(f *flag.Flag) { printFlag(w, f) })
	}
	fmt.Fprintln(w, "\nFlags of all commands:")
	f := flag.NewFlagSet("", flag.ContinueOnError)
	new(settings).register(f)
	f.VisitAll(func(f *flag.Flag) { printFlag(w, f) })
	fmt.Fprint(w, notes)
}

func printFlag(w io.Writer, f *flag.Flag) {
	value, usage := flag.UnquoteUsage(f)
	fmt.Fprintf(w, "        %-22s %s\n", strings.TrimSpace("-"+f.Name+" "+value), usage)
}
