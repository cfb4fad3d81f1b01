package brain

import (
	"strings"
	"testing"
)

func TestConditions(t *testing.T) {
	vars := map[string]any{"sys__avatar_enabled": true, "plan": "gold", "count": 2.0, "none": 0.0, "empty": ""}
	for condition, want := range map[string]bool{
		"": true, " ": true, "sys__avatar_enabled": true, "not sys__avatar_enabled": false, "missing": false, "empty": false, "none": false,
		"count": true, "plan == 'gold'": true, `plan == "silver"`: false, "plan != 'silver'": true, "count == 2": true,
		"sys__avatar_enabled and plan == 'silver'": false, "missing or plan == 'gold'": true,
		"not (missing or empty) and count": true, "sys__avatar_enabled == true": true, "missing == false": false,
		"a.b == 'x'": false, "true": true, "False": false, "plan == 'and'": false,
	} {
		if got, err := Holds(condition, vars); err != nil || got != want {
			t.Errorf("%q: %t, %v; want %t", condition, got, err, want)
		}
	}
	for _, condition := range []string{
		"and", "plan ==", "(plan", "plan)", "plan gold", "{{ plan }}", "plan = 'gold'", "'open", "not", "plan or", strings.Repeat("not ", 100) + "plan",
		strings.Repeat("(", 100) + "plan" + strings.Repeat(")", 100),
	} {
		if got, err := Holds(condition, vars); err == nil {
			t.Errorf("%q: %t, want an error", condition, got)
		}
	}
}
