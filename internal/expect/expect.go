// Package expect compares values in tests. A difference is an error of the test, with what was got and what was wanted, and
// the test goes on.
package expect

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Equal compares two values. The format and its arguments say what they are.
func Equal[T comparable](t testing.TB, got, want T, format string, args ...any) {
	t.Helper()
	if got != want {
		report(t, got, want, format, args...)
	}
}

// List is Equal for slices; an empty one may be nil.
func List[E comparable](t testing.TB, got, want []E, format string, args ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		report(t, got, want, format, args...)
	}
}

// Len compares the number of elements of a slice.
func Len[E any](t testing.TB, got []E, want int, format string, args ...any) {
	t.Helper()
	if len(got) != want {
		t.Errorf("%s: got %d, want %d of them: %s", fmt.Sprintf(format, args...), len(got), want, shown(got))
	}
}

// Error compares an error, by [errors.Is].
func Error(t testing.TB, got, want error, format string, args ...any) {
	t.Helper()
	if !errors.Is(got, want) {
		report(t, got, want, format, args...)
	}
}

// Fail is Error for a call that has a value too: expect.Fail(f())(t, want, "a wrong name").
func Fail[T any](_ T, got error) func(t testing.TB, want error, format string, args ...any) {
	return func(t testing.TB, want error, format string, args ...any) {
		t.Helper()
		Error(t, got, want, format, args...)
	}
}

func report(t testing.TB, got, want any, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	gotText, isText := got.(string)
	wantText, both := want.(string)
	if isText && both && len(gotText)+len(wantText) > longTexts {
		what, got, want = firstDifference(what, strings.Split(gotText, "\n"), strings.Split(wantText, "\n"))
	}
	t.Errorf("%s: got %s, want %s", what, shown(got), shown(want))
}

// longTexts is the length of both texts together, in bytes, above which only the first line that differs is shown: whole
// files would hide the sentence of the test.
const longTexts = 4000

// firstDifference returns the first line that differs, with its number, from 1, beside what differs.
func firstDifference(what string, got, want []string) (where string, gotLine, wantLine any) {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	line := func(lines []string) string {
		if at == len(lines) {
			return "(the end)"
		}
		return lines[at]
	}
	return fmt.Sprintf("%s: line %d", what, at+1), line(got), line(want)
}

// shown returns texts in quotes, and structs with the names of their fields.
func shown(v any) string {
	if kind := reflect.ValueOf(v).Kind(); kind == reflect.String || kind == reflect.Slice && reflect.TypeOf(v).Elem().Kind() == reflect.String {
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", v)
}
