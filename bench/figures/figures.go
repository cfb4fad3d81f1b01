// Package figures contains the shared parts of the benchmarks: how they are run, medians,
// and the rows of a table that compares the runtime with a plain JavaScript client and a
// goal. It must not depend on what is measured.
package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
)

// Row is one line of the table.
type Row struct {
	What string
	Unit string
	// Ours and JavaScript are medians; Alone is set when only Ours was measured.
	Ours, JavaScript float64
	Alone            bool
	// Runs is how many times each was measured.
	Runs int
	Goal Goal
}

// Alone returns a row of what has no plain JavaScript client to compare with: the median of values.
func Alone(what, unit string, values ...float64) Row {
	return Row{What: what, Unit: unit, Ours: Median(values), Alone: true, Runs: len(values)}
}

// Goal bounds a row; the zero value is no goal.
type Goal struct {
	// Of is what the bound is compared with.
	Of    Measure
	Bound float64
	// Why explains a bound that depends on the run, as in "download + 0.3 s".
	Why string
}

// Measure is the kind of a goal.
type Measure string

// The kinds of goals.
const (
	Ratio   Measure = "ratio" // Ours divided by JavaScript, at most
	AtMost  Measure = "at most"
	AtLeast Measure = "at least"
)

// Ratio returns Ours divided by JavaScript, 0 when JavaScript is 0 or was not measured.
func (r Row) Ratio() float64 {
	if r.JavaScript == 0 {
		return 0
	}
	return r.Ours / r.JavaScript
}

// Met reports whether the goal is reached; it is true for a row without a goal.
func (r Row) Met() bool {
	switch r.Goal.Of {
	case Ratio:
		return r.JavaScript > 0 && r.Ratio() <= r.Goal.Bound
	case AtMost:
		return r.Ours <= r.Goal.Bound
	case AtLeast:
		return r.Ours >= r.Goal.Bound
	}
	return true
}

// Median returns the median, which for an even number of values is the mean of the middle two.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Head begins the Markdown table of rows.
const Head = "| What | Ours | JavaScript | Ratio | Goal | Met | Runs |\n| --- | --- | --- | --- | --- | --- | --- |\n"

// String returns the row as a line of the table.
func (r Row) String() string {
	beside, ratio, met := "–", "–", "–"
	if !r.Alone {
		beside = number(r.JavaScript) + " " + r.Unit
	}
	if r.JavaScript != 0 {
		ratio = fmt.Sprintf("%.2f", r.Ratio())
	}
	if r.Goal.Of != "" {
		met = map[bool]string{true: "yes", false: "**no**"}[r.Met()]
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %d |\n", r.What, r.Figure(), beside, ratio, r.goal(), met, r.Runs)
}

// Figure returns Ours with its unit.
func (r Row) Figure() string { return number(r.Ours) + " " + r.Unit }

// goal returns the text of the goal's cell.
func (r Row) goal() string {
	var text string
	switch r.Goal.Of {
	case Ratio:
		text = fmt.Sprintf("≤ %.2f", r.Goal.Bound)
	case AtMost:
		text = "≤ " + number(r.Goal.Bound) + " " + r.Unit
	case AtLeast:
		text = "≥ " + number(r.Goal.Bound) + " " + r.Unit
	default:
		return "–"
	}
	if r.Goal.Why != "" {
		text += " (" + r.Goal.Why + ")"
	}
	return text
}

// number formats v with about three significant digits, because the measurements are not more
// precise.
func number(v float64) string {
	switch {
	case v == math.Trunc(v) || v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Report prints rows as a table, and saves them.
func Report(path string, rows []Row) error {
	fmt.Print(Head)
	for _, row := range rows {
		fmt.Print(row)
	}
	return Save(path, rows)
}

// Save writes rows to a file for [Load], unless path is empty.
func Save(path string, rows []Row) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// Load reads what [Save] has written.
func Load(path string) (rows []Row, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return rows, json.Unmarshal(data, &rows)
}
