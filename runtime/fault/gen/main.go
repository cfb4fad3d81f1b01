// Command gen generates docs/errors.md and the TypeScript types js/src/codes.ts from
// the table of package fault.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

func main() {
	root := flag.String("root", "../..", "the module's directory; go generate runs in the package's")
	flag.Parse()
	for path, text := range files() {
		if err := os.WriteFile(filepath.Join(*root, path), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// files returns the text of each file, by its path from the root of the module.
func files() map[string]string {
	return map[string]string{"docs/errors.md": markdown(), "js/src/codes.ts": typeScript()}
}

const intro = `# Errors and warnings

<!-- Generated from runtime/fault/codes.go by "go generate ./runtime/fault"; don't edit. -->

Every error of the runtime is one type: ` + "`fault.Error`" + ` in Go, ` + "`AgentError`" + ` (a real ` + "`Error`" + `) in JavaScript.
Switch on its ` + "`code`" + `; the texts are for people and may change.

| Field | Content |
| --- | --- |
| ` + "`code`" + ` | one of the codes below |
| ` + "`title`, `detail`" + ` | short and long text |
| ` + "`type`" + ` | address of the code in this document, or ` + "`about:blank`" + ` |
| ` + "`status`" + ` | HTTP status, or the number in the tables below |
| ` + "`phase`" + ` | part of connecting that failed: ` + "`serverConnect`, `join`, `joinComplete`, `agent`, `asr`, `whep`, `connect`, `reconnect`" + ` |
| ` + "`retryable`" + ` | the same call may succeed later; ` + "`false`" + ` does not exclude it |
| ` + "`instance`, `requestId`" + ` | path of the request, trace id of the service |
| ` + "`headers`" + ` | a few diagnostic reply headers |
| ` + "`body`" + ` | the reply or extra data |
| ` + "`timings`" + ` | milliseconds per step, on a failed connect |
| ` + "`cause`" + ` | the inner error |

Tokens, passwords, TURN credentials, 32-digit hexadecimal secrets, private network addresses and request variables are
removed from every text and body before it leaves the runtime.
`

// markdown renders the document.
func markdown() string {
	var b strings.Builder
	b.WriteString(intro)
	var fatal []string
	for _, code := range fault.FatalCodes {
		fatal = append(fatal, "`"+string(code)+"`")
	}
	fmt.Fprintf(&b, "\nAfter these the server has ended the session (`FATAL_ERROR_CODES`): %s.\n", strings.Join(fatal, ", "))
	for _, group := range fault.Groups {
		fmt.Fprintf(&b, "\n## %s\n\n| Code | Title | Meaning | Status | Retryable |\n| --- | --- | --- | --- | --- |\n", group)
		for _, info := range fault.Codes() {
			if info.Group != group {
				continue
			}
			status := ""
			if info.Status != 0 {
				status = fmt.Sprint(info.Status)
			}
			fmt.Fprintf(&b, "| <a id=%q></a>`%s` | %s | %s | %s | %s |\n",
				info.Code, info.Code, info.Title, info.Meaning, status, info.Retry)
		}
	}
	return b.String()
}
