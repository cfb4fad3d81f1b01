package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/bench/figures"
)

// summary is what a visitor gets, in ten lines. A name in braces is the row whose figure
// stands there; one that begins with "plain: " is the figure of the plain client.
const summary = `- **Bytes before the first frame**: {bytes before the first frame, modules and program}, modules and program; {bytes of modules and program, both parts} in all.
  A conversation in text: {bytes before the first answer of a chat, modules and program} before the first answer.
- **First visit** over 9 Mbit/s and 60 ms, from the import to the first frame: {import to first frame, cold, 9 Mbit/s and 60 ms}; in text, to the first answer: {import to first answer of a chat, cold, 9 Mbit/s and 60 ms}.
- **… with TLS**, and handshakes and media on that line too: {import to first frame, cold, TLS, 9 Mbit/s and 60 ms for everything}.
- **… on a phone** (processor × 4): {import to first frame, cold, 9 Mbit/s and 60 ms, processor × 4}.
- **… on a line without limits**: {import to first frame, cold, no limits}.
- **Later visit**, from the import to the first frame: {import to first frame, warm visit}.
- **Loaded before the click**, from the click to the first frame: {connect to first frame, loaded, first in the page}; on a phone {connect to first frame, loaded, processor × 4}.
- **Prepared** (prepare(), as when the pointer comes near): {connect to first frame, prepared, first in the page}; on a phone {connect to first frame, prepared, processor × 4}.
- **An element in view for 3 s** on that line with TLS, from the click: {click to first frame of an element that was in view for 3 s, cold, TLS, 9 Mbit/s and 60 ms for everything, preload="visible"}.
- **A plain client** of 130 lines, without recovery, limits and checks, needs {plain: import to first frame, cold, 9 Mbit/s and 60 ms}, {plain: import to first frame, cold, TLS, 9 Mbit/s and 60 ms for everything}, {plain: import to first frame, cold, 9 Mbit/s and 60 ms, processor × 4}, {plain: import to first frame, cold, no limits} and {plain: import to first frame, warm visit} for the five visits.
`

var placeholder = regexp.MustCompile(`\{(plain: )?([^}]+)\}`)

// summarise returns the summary with the figures of rows. It fails when a row is missing.
func summarise(rows []figures.Row) (string, error) {
	byName := map[string]figures.Row{}
	for _, row := range rows {
		byName[row.What] = row
	}
	var missing []string
	text := placeholder.ReplaceAllStringFunc(summary, func(s string) string {
		parts := placeholder.FindStringSubmatch(s)
		row, ok := byName[parts[2]]
		if !ok {
			missing = append(missing, parts[2])
		}
		if parts[1] != "" {
			row.Ours = row.JavaScript
		}
		return row.Figure()
	})
	if missing != nil {
		return "", fmt.Errorf("there is no row %s", strings.Join(missing, "; "))
	}
	return text, nil
}
