package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// column is one column of a table of T.
type column[T any] struct {
	title string
	text  func(*T) string
}

// maxCell is how much of a text a cell of a table shows, in characters.
const maxCell = 60

// printList prints a list as a table, or as one line of JSON for each object as it arrives.
func printList[T any](c *call, objects iter.Seq2[*T, error], columns ...column[T]) error {
	if c.json {
		lines := json.NewEncoder(c.stdout)
		for object, err := range objects {
			if err != nil {
				return err
			}
			if err := lines.Encode(object); err != nil {
				return err
			}
		}
		return nil
	}
	table := newTable(c.stdout)
	titles := make([]string, len(columns))
	for n, column := range columns {
		titles[n] = column.title
	}
	table.row(titles)
	for object, err := range objects {
		if err != nil {
			return table.end(err)
		}
		cells := make([]string, len(columns))
		for n, column := range columns {
			cells[n] = cell(column.text(object))
		}
		table.row(cells)
	}
	return table.end(nil)
}

// each iterates over a list that is already in memory.
func each[T any](list []T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for n := range list {
			if !yield(&list[n], nil) {
				return
			}
		}
	}
}

// printRecord prints one object: as JSON, or as a table of its fields.
func printRecord(c *call, record any, err error) error {
	if err != nil {
		return err
	}
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if c.json || json.Unmarshal(text, &fields) != nil {
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.stdout, indented.String())
		return err
	}
	table := newTable(c.stdout)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := string(fields[name])
		var plain string
		if json.Unmarshal(fields[name], &plain) == nil {
			value = plain
		}
		table.row([]string{name, printable(value)})
	}
	return table.end(nil)
}

// printText prints a text, which may have several lines.
func printText(c *call, text string) error {
	for line := range strings.Lines(text) {
		if _, err := fmt.Fprintln(c.stdout, printable(strings.TrimRight(line, "\r\n"))); err != nil {
			return err
		}
	}
	return nil
}

// printDone prints what was done, with -json as a JSON object.
func printDone(c *call, what string, err error) error {
	if err != nil {
		return err
	}
	if c.json {
		return json.NewEncoder(c.stdout).Encode(map[string]string{"done": what})
	}
	_, err = fmt.Fprintln(c.stdout, what)
	return err
}

type table struct {
	*tabwriter.Writer
	err error
}

func newTable(w io.Writer) *table {
	const padding = 2
	return &table{Writer: tabwriter.NewWriter(w, 0, 0, padding, ' ', 0)}
}

func (t *table) row(cells []string) {
	if _, err := fmt.Fprintln(t.Writer, strings.Join(cells, "\t")); err != nil && t.err == nil {
		t.err = err
	}
}

// end prints the table, even if err cut it short, and returns the first error.
func (t *table) end(err error) error {
	flushed := t.Flush()
	switch {
	case err != nil:
		return err
	case t.err != nil:
		return t.err
	}
	return flushed
}

// cell is a short text on one line.
func cell(text string) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	if utf8.RuneCountInString(text) > maxCell {
		text = string([]rune(text)[:maxCell-1]) + "…"
	}
	return text
}

// printable replaces control characters, because most of the text is from users and could
// control the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text)
}
