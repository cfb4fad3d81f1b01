package figures

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 100}, 3.5}} {
		expect.Equal(t, Median(test.values), test.want, "median of %v", test.values)
	}
}

func TestGoalIsMet(t *testing.T) {
	for _, test := range []struct {
		row  Row
		want bool
	}{
		{Row{Ours: 9}, true},
		{Row{Ours: 110, JavaScript: 100, Goal: Goal{Of: Ratio, Bound: 1.1}}, true},
		{Row{Ours: 111, JavaScript: 100, Goal: Goal{Of: Ratio, Bound: 1.1}}, false},
		{Row{Ours: 1, Goal: Goal{Of: Ratio, Bound: 1.1}}, false},
		{Row{Ours: 250, Goal: Goal{Of: AtMost, Bound: 250}}, true},
		{Row{Ours: 251, Goal: Goal{Of: AtMost, Bound: 250}}, false},
		{Row{Ours: 250, Goal: Goal{Of: AtLeast, Bound: 250}}, true},
		{Row{Ours: 249, Goal: Goal{Of: AtLeast, Bound: 250}}, false},
	} {
		expect.Equal(t, test.row.Met(), test.want, "%+v is met", test.row)
	}
}
