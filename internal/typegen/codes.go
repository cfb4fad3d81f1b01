package main

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

const codesIntro = `# Errors and warnings

<!-- Generated from runtime/fault/codes.go by "go generate ./runtime/event"; don't edit. -->

Every error of the runtime is one type: ` + "`fault.Error`" + ` in Go, ` + "`AgentError`" + ` (a real ` + "`Error`" + `) in JavaScript.
Switch on its ` + "`code`" + `; the texts are for people and may change.

| Field | Content |
| --- | --- |
| ` + "`code`" + ` | one of the codes below |
| ` + "`title`, `detail`" + ` | short and long text |
| ` + "`type`" + ` | address of the code in this document, or ` + "`about:blank`" + ` |
| ` + "`status`" + ` | HTTP status, or the number in the lists below |
| ` + "`phase`" + ` | part of connecting that failed: ` + "`serverConnect`, `join`, `joinComplete`, `agent`, `asr`, `whep`, `connect`, `reconnect`" + ` |
| ` + "`retryable`" + ` | the same call may succeed later, as with the codes below that say so; ` + "`false`" + ` does not exclude it |
| ` + "`instance`, `requestId`" + ` | path of the request, trace id of the service |
| ` + "`headers`" + ` | a few diagnostic reply headers |
| ` + "`body`" + ` | the reply or extra data |
| ` + "`timings`" + ` | milliseconds per step, on a failed connect |
| ` + "`cause`" + ` | the inner error |

Tokens, passwords, TURN credentials, 32-digit hexadecimal secrets, private network addresses and request variables are
removed from every text and body before it leaves the runtime.
`

// codesDoc returns the text of errors.md.
func codesDoc() string {
	var b strings.Builder
	b.WriteString(codesIntro)
	fatal := strings.ReplaceAll(strings.Join(quoted(fault.FatalCodes[:]), ", "), `"`, "`")
	fmt.Fprintf(&b, "\nAfter these the server has ended the session (`FATAL_ERROR_CODES`): %s.\n", fatal)
	for _, group := range fault.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n", group)
		for _, info := range fault.Codes() {
			if info.Group != group {
				continue
			}
			fmt.Fprintf(&b, "- <a id=%q></a>`%s` (%s): %s.", info.Code, info.Code, info.Title, info.Meaning)
			if info.Status != 0 {
				fmt.Fprintf(&b, " Status: %d.", info.Status)
			}
			if info.Retry != fault.RetryNo {
				fmt.Fprintf(&b, " Retryable: %s.", info.Retry)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// codeTypes returns the text of codes.ts, with the types of the phases of a connect. The union types list all codes, so that a misspelt
// code does not compile.
func (t *types) codeTypes() (string, error) {
	var errors, warnings strings.Builder
	for _, group := range fault.Groups {
		b := &errors
		if group == fault.GroupWarning {
			b = &warnings
		}
		fmt.Fprintf(b, "  // %s\n", group)
		for _, info := range fault.Codes() {
			if info.Group == group {
				fmt.Fprintf(b, "  | %q\n", info.Code)
			}
		}
	}
	timings, err := t.timings()
	return `
/**
 * Every error code of the runtime; docs/errors.md has their meanings. A server may send
 * another one: handle it where a switch has its default.
 */
export type ErrorCode =
` + errors.String() + `
/** The part of connecting that failed. */
export type ErrorPhase = ` + strings.Join(quoted(fault.Phases), " | ") + `

/** Code of a warning: one that is never thrown, or that of an error which the session survived. */
export type WarningCode =
` + warnings.String() + `  | ErrorCode
` + timings, err
}
