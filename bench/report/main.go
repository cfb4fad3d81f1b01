// Command report puts the rows of the benchmarks into one table, prints it, and writes it
// into docs/performance.md, with a summary for visitors at its top. The rest of that
// document is kept.
//
// Usage, from the root of the module; make bench does this:
//
//	go run ./bench/report -table bench build/bench/*.json
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/bench/figures"
	"github.com/agentruntime/agentruntime/internal/chromium"
)

const doc = "docs/performance.md"

func main() {
	log.SetFlags(0)
	table := flag.String("table", "bench", "the make `target` whose table it is")
	flag.Parse()
	if err := run(*table, flag.Args(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(table string, files []string, w io.Writer) error {
	var rows []figures.Row
	for _, file := range files {
		more, err := figures.Load(file)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	// Rows with a goal come first; otherwise the order is kept.
	slices.SortStableFunc(rows, func(a, b figures.Row) int { return none(a) - none(b) })
	text := machine() + "\n\n" + figures.Head
	for _, row := range rows {
		text += row.String()
	}
	old, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	changed, err := replace(string(old), mark(table), text)
	if err != nil {
		return err
	}
	if table == "bench" {
		brief, err := summarise(rows)
		if err != nil {
			return err
		}
		if changed, err = replace(changed, summaryMark, brief); err != nil {
			return err
		}
	}
	if err := os.WriteFile(doc, []byte(changed), 0o644); err != nil {
		return err
	}
	for _, what := range unexplained(changed) {
		log.Printf("%s must say under %q what stands in the way of: %s", doc, obstacles, what)
	}
	_, err = io.WriteString(w, text)
	return err
}

// none is 1 for a row without a goal, otherwise 0.
func none(r figures.Row) int {
	if r.Goal.Of == "" {
		return 1
	}
	return 0
}

// machine describes when and on what machine the table was measured.
func machine() string {
	model := "unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, ok := strings.Cut(string(info), "model name\t: "); ok {
			model, _, _ = strings.Cut(rest, "\n")
		}
	}
	browser := "no Chromium"
	if path, err := chromium.Find(); err == nil {
		if out, err := exec.Command(path, "--version").Output(); err == nil {
			browser, _, _ = strings.Cut(strings.TrimSpace(string(out)), " built on")
		}
	}
	return fmt.Sprintf("Run of %s: %d cores of %s (%s), %s, %s.", time.Now().Format(time.DateOnly),
		runtime.NumCPU(), model, runtime.GOOS, browser, strings.Replace(runtime.Version(), "go", "Go ", 1))
}

// replace replaces the text between a mark and the next end mark.
func replace(doc, mark, text string) (string, error) {
	head, rest, found := strings.Cut(doc, mark)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("the document has no %q with an end", mark)
	}
	return head + mark + "\n" + text + "\n" + end + tail, nil
}

func mark(table string) string { return "<!-- make " + table + " writes this table -->\n" }

const summaryMark = "<!-- make bench writes this summary -->\n"

const end = "<!-- end of the table -->\n"

// obstacles is the heading of a hand-written list with the reasons for missed goals:
// "- **Row.What**: …".
const obstacles = "## What stands in the way"

// unexplained returns the rows whose goals are not met and that are not in that list.
func unexplained(doc string) (rows []string) {
	_, list, _ := strings.Cut(doc, obstacles)
	for line := range strings.Lines(doc) {
		what, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if strings.Contains(line, "| **no** |") && !strings.Contains(list, "**"+what+"**") {
			rows = append(rows, what)
		}
	}
	return rows
}
