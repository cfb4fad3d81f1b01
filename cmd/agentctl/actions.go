package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/management"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// errSeveralAgents is returned for several agents: the service filters by one (service.md,
// "Threads").
var errSeveralAgents = fault.New(fault.ValidationError, "threads can be filtered by one agent only; run the command once for each agent")

// mint is a command that makes a token; flags are its flags besides user and ttl.
func mint(do func(context.Context, *cli, management.TokenInput) (management.Token, error), flags ...string) func(*flag.FlagSet) action {
	return func(f *flag.FlagSet) action {
		var in management.TokenInput
		f.StringVar(&in.UserID, "user", "", "`id` of the user")
		f.DurationVar(&in.TTL, "ttl", 0, "how `long` it is valid; 0 is 1h for an admin's and 30m for others")
		if slices.Contains(flags, "config") {
			f.Int64Var(&in.ConfigID, "config", 0, "`number` of the intellect; 0 is that of the agent")
		}
		if slices.Contains(flags, "agent") {
			f.StringVar(&in.AgentID, "agent", "", "`id` of the agent")
		}
		return func(ctx context.Context, c *cli, _ []string) error {
			token, err := do(ctx, c, in)
			return printToken(c, token, err)
		}
	}
}

// printToken prints a token's text: alone, for use in a script, or in JSON with its kind
// and expiry.
func printToken(c *cli, t management.Token, err error) error {
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

// sources reads files as the texts of a knowledge record.
func sources(paths []string) ([]management.Source, error) {
	list := make([]management.Source, len(paths))
	for n, path := range paths {
		var err error
		if list[n], err = source(path); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// eachSource adds or removes the texts of files, one after the other.
func eachSource(
	ctx context.Context, c *cli, id int64, paths []string, done, not string,
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

func rating(positive *bool) string {
	switch {
	case positive == nil:
		return ""
	case *positive:
		return "good"
	}
	return "bad"
}

// printFindings prints findings, and returns errFindings when one is an error.
func printFindings(c *cli, findings []management.Finding) error {
	if err := printList(c, each(findings), findingColumns...); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f management.Finding) bool { return f.Severity == management.SeverityError }) {
		return errFindings
	}
	return nil
}

// printDiagnosis prints a diagnosis for people.
func printDiagnosis(c *cli, d *management.Diagnosis) error {
	if len(d.Findings) > 0 {
		if err := printList(c, each(d.Findings), findingColumns...); err != nil {
			return err
		}
		fmt.Fprintln(c.stdout)
	}
	for _, kind := range slices.Sorted(maps.Keys(d.Skipped)) {
		fmt.Fprintf(c.stdout, "not checked: %s (%s)\n", kind, printable(d.Skipped[kind]))
	}
	total := 0
	for _, n := range d.Checked {
		total += n
	}
	_, err := fmt.Fprintf(c.stdout, "%d objects checked, %d errors, %d warnings\n", total, d.Summary.Errors, d.Summary.Warnings)
	return err
}
