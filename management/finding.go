package management

import (
	"cmp"
	"slices"
)

// Severity is how much a [Finding] matters.
type Severity string

// The severities.
const (
	// SeverityError means that something does not work.
	SeverityError Severity = "error"
	// SeverityWarning means that something probably does not do what was intended.
	SeverityWarning Severity = "warning"
)

// Finding is one result of a lint or an audit.
type Finding struct {
	// Code is the stable name to switch on, such as tool_not_found; each is described
	// in docs/management.md.
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	// Object is the checked object, as in "intellect 1001"; "" if a text was checked.
	Object string `json:"object,omitempty"`
	// Field is the place in the object, as in "prompts[2].value".
	Field string `json:"field,omitempty"`
	// Detail describes the problem for people. It never contains the value of a secret.
	Detail string `json:"detail"`
}

// findings are the results of one check so far.
type findings []Finding

func (f *findings) add(code string, severity Severity, field, detail string) {
	*f = append(*f, Finding{Code: code, Severity: severity, Field: field, Detail: detail})
}

// hasErrors reports whether one of findings is a [SeverityError].
func hasErrors(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == SeverityError })
}

// sortFindings puts errors first and keeps the order of the rest.
func sortFindings(findings []Finding) {
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) })
}
