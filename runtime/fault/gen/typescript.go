package main

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

const header = `// Generated from runtime/fault/codes.go by "go generate ./runtime/fault"; don't edit.
`

// typeScript renders the codes as types. A server may send other codes, so the code of
// an error is an open set; the closed one is for exhaustive tables and switches.
func typeScript() string {
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
	return header + `
/** Every error code of the runtime; docs/errors.md has their meanings. */
export type KnownErrorCode =
` + errors.String() + `
/** Code of an error: one of the runtime, or another one of a server. */
export type ErrorCode = KnownErrorCode | (string & {})

/** Code of a warning: one that is never thrown, or that of an error which the session survived. */
export type WarningCode =
` + warnings.String() + `  | ErrorCode
`
}
