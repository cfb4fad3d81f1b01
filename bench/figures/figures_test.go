package figures

import (
	"path/filepath"
	"reflect"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 100}, 3.5}} {
		if got := Median(test.values); got != test.want {
			t.Errorf("median of %v: %v, want %v", test.values, got, test.want)
		}
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
		if got := test.row.Met(); got != test.want {
			t.Errorf("%+v is met: %v", test.row, got)
		}
	}
}

func TestTable(t *testing.T) {
	rows := []Row{
		{What: "frame", Unit: "ms", Ours: 150.4, JavaScript: 100, Runs: 5, Goal: Goal{Of: Ratio, Bound: 1.1}},
		{What: "cold", Unit: "ms", Ours: 1000, Alone: true, Runs: 3, Goal: Goal{Of: AtMost, Bound: 1210, Why: "910 ms + 300 ms"}},
		{What: "heap", Unit: "MB", Ours: 12.34, JavaScript: 1.234, Runs: 1},
		{What: "blocked", Unit: "ms", Ours: 1, Runs: 1},
	}
	text := Head
	for _, row := range rows {
		text += row.String()
	}
	const want = `| What | Ours | JavaScript | Ratio | Goal | Met | Runs |
| --- | --- | --- | --- | --- | --- | --- |
| frame | 150 ms | 100 ms | 1.50 | ≤ 1.10 | **no** | 5 |
| cold | 1000 ms | – | – | ≤ 1210 ms (910 ms + 300 ms) | yes | 3 |
| heap | 12.3 MB | 1.23 MB | 10.00 | – | – | 1 |
| blocked | 1 ms | 0 ms | – | – | – | 1 |
`
	if text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
}

func TestSavedRowsAreLoaded(t *testing.T) {
	rows := []Row{{What: "frame", Unit: "ms", Ours: 1, JavaScript: 2, Runs: 3, Goal: Goal{Of: Ratio, Bound: 1.1}}}
	file := filepath.Join(t.TempDir(), "rows.json")
	if err := Save(file, rows); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(file); err != nil || !reflect.DeepEqual(got, rows) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSelect(t *testing.T) {
	names := []string{"near", "far"}
	for _, test := range []struct {
		list string
		want []string
		ok   bool
	}{{"", nil, true}, {"far", []string{"far"}, true}, {"far,near", []string{"far", "near"}, true}, {"fat", nil, false}, {"far,", nil, false}} {
		got, err := Select(test.list, names)
		if !reflect.DeepEqual(got, test.want) || (err == nil) != test.ok {
			t.Errorf("%q: %q, %v", test.list, got, err)
		}
	}
}
