package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

func doctor() *cli.Command {
	return command("doctor", "", "checks the account for inconsistencies; changes nothing", func(ctx context.Context, c *call, _ []string) error {
		d, err := c.Doctor(ctx, management.DoctorInput{AgentIDs: c.list("agent")})
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
	}, listFlag("agent", "`id` of an agent, instead of the whole account"))
}

// printFindings prints findings, and returns errFindings when one is an error.
func printFindings(c *call, findings []management.Finding) error {
	if err := printList(c, each(findings),
		column[management.Finding]{"SEVERITY", func(f *management.Finding) string { return string(f.Severity) }},
		column[management.Finding]{"CODE", func(f *management.Finding) string { return f.Code }},
		column[management.Finding]{"OBJECT", func(f *management.Finding) string { return f.Object }},
		column[management.Finding]{"FIELD", func(f *management.Finding) string { return f.Field }},
		column[management.Finding]{"DETAIL", func(f *management.Finding) string { return f.Detail }},
	); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f management.Finding) bool { return f.Severity == management.SeverityError }) {
		return errFindings
	}
	return nil
}

// printDiagnosis prints a diagnosis for people.
func printDiagnosis(c *call, d *management.Diagnosis) error {
	if len(d.Findings) > 0 {
		if err := printFindings(c, d.Findings); err != nil && !errors.Is(err, errFindings) { // the summary follows
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
