package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// refusalsText returns the text of refusals.ts: how a refused reply is read, for the
// management client in TypeScript.
func refusalsText() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`import type { ErrorCode } from "./codes.js"`)

	// What a refusal may become, in the order of the tables.
	codes := []fault.Code{fault.ServerError, fault.OtherError, fault.APIException}
	line("\n/** The names and texts that have a code of their own, wherever they are in the body of a refusal. The first one that is found counts, before the status. */")
	line("export const refusalNames: readonly (readonly [string, ErrorCode])[] = [")
	for _, row := range fault.RefusalNames {
		line("  [%q, %q],", row.Name, row.Code)
		codes = append(codes, row.Code)
	}
	line("]\n\n/** The codes of statuses. Any other status is `server_error` from 500 on, and `error` below. */")
	line("export const statusCodes: Readonly<Record<number, ErrorCode>> = {")
	for _, row := range fault.StatusCodes {
		line("  %d: %q,", row.Status, row.Code)
		codes = append(codes, row.Code)
	}
	line("}\n\n/** The title of each code that a refusal may have, and its meaning, for a refusal without a text. */")
	line("export const refusalTexts: Readonly<Partial<Record<ErrorCode, readonly [title: string, meaning: string]>>> = {")
	slices.Sort(codes)
	for _, code := range slices.Compact(codes) {
		info, _ := fault.Lookup(code)
		line("  %s: [%q, %q],", code, info.Title, info.Meaning)
	}
	line("}\n\n/** The status of the refusals that are retryable. */\nexport const refusedForNow = %d", fault.RefusedForNow)
	line("\n/** The keys of an object that describes an outcome and nothing else. */\nexport const outcomeKeys: readonly string[] = [%s]", strings.Join(quoted(fault.OutcomeKeys[:]), ", "))
	line("\n/** The reply headers that are kept on an error. */\nexport const diagnosticHeaders: readonly string[] = [%s]", strings.Join(quoted(fault.DiagnosticHeaders[:]), ", "))
	line("\n/** How many characters of the service's text are kept. */\nexport const maxMessage = %d", fault.MaxMessage)
	line("\n/** How much of a refused reply is read and kept. */\nexport const maxRefusal = %d", fault.MaxRefusal)
	return b.String()
}
