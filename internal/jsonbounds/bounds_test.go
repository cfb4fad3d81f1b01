package jsonbounds

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		text         string
		depth, items int
		want         error
	}{
		{`{"a":[1]}`, 2, 0, nil},
		{`{"a":[1]}`, 1, 0, ErrDepth},
		{`[[],[],[]]`, 2, 0, nil},
		{`{"a":"[[[[\"[["}`, 1, 0, nil},
		{` [1,2,3]`, 0, 3, nil},
		{` [1,2,3]`, 0, 2, ErrItems},
		{`[[1,2,3]]`, 0, 2, nil},
		{`["a,b,c"]`, 0, 1, nil},
		{`{"a":1,"b":2}`, 0, 1, nil},
		{`"\`, 1, 1, nil},
		{strings.Repeat("[", 1_000_000), 64, 0, ErrDepth},
		{strings.Repeat("[", 1_000_000), 0, 0, nil},
	} {
		if got := Check([]byte(test.text), test.depth, test.items); got != test.want {
			t.Errorf("%.20s with %d levels and %d items: %v, want %v", test.text, test.depth, test.items, got, test.want)
		}
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]int{
		"": 1, "1": 1, `"a,[{\",["`: 1, `[1,2]`: 3, `{"a":[],"b":{}}`: 5, strings.Repeat("[],", 1000): 2001,
	} {
		expect.Equal(t, Values([]byte(text)), want, "%.20s", text)
	}
}
