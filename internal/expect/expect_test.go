package expect_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

// reports is a test that keeps what is reported to it.
type reports struct {
	testing.TB
	texts []string
}

func (*reports) Helper() {}

func (r *reports) Errorf(format string, args ...any) {
	r.texts = append(r.texts, fmt.Sprintf(format, args...))
}

func TestWhatDiffersIsReported(t *testing.T) {
	type size struct{ Width, Height int }
	r := &reports{}
	expect.Equal(r, "a", "a", "text")
	expect.Equal(r, "a", "b", "text %d", 1)
	expect.Equal(r, size{1, 2}, size{}, "size")
	expect.List(r, []string{}, nil, "list")
	expect.List(r, []string{"a"}, []string{"a", "b"}, "list")
	expect.Len(r, []int{1}, 1, "numbers")
	expect.Len(r, []int{1}, 2, "numbers")
	cause := fmt.Errorf("the end: %w", context.Canceled)
	expect.Error(r, cause, context.Canceled, "error")
	expect.Error(r, cause, context.DeadlineExceeded, "error")
	expect.Fail(1, cause)(r, context.Canceled, "call")
	expect.Fail(1, error(nil))(r, context.Canceled, "call")
	lines := strings.Repeat("a line\n", 500)
	expect.Equal(r, lines+"b\nc", lines+"d\nc", "file")
	expect.Equal(r, lines, lines+"\n", "file")
	want := []string{
		`text 1: got "a", want "b"`,
		"size: got {Width:1 Height:2}, want {Width:0 Height:0}",
		`list: got ["a"], want ["a" "b"]`,
		"numbers: got 1, want 2 of them: [1]",
		"error: got the end: context canceled, want context deadline exceeded",
		"call: got <nil>, want context canceled",
		`file: line 501: got "b", want "d"`,
		`file: line 502: got "(the end)", want ""`,
	}
	if !slices.Equal(r.texts, want) {
		t.Errorf("reported %q, want %q", r.texts, want)
	}
}
