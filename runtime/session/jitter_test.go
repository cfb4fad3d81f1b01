package session

import (
	"fmt"
	"testing"
	"time"
)

// TestJitterIsEachClientsOwn: the numbers of a client can be computed again, and those of ten
// thousand clients whose ids differ in little are different and evenly distributed.
func TestJitterIsEachClientsOwn(t *testing.T) {
	again := NewJitter("client0000000007", "socket")
	seen := map[float64]bool{}
	var tenths [10]int
	for i := range 10_000 {
		j := NewJitter(fmt.Sprintf("client%010d", i), "socket")
		first, second := j.Next(), j.Next()
		if seen[first] || first == second {
			t.Fatalf("client %d has the number of another, or one number only", i)
		}
		seen[first] = true
		tenths[int(first*10)]++
		if i == 7 && (first != again.Next() || second != again.Next()) {
			t.Error("the numbers of one client differ")
		}
	}
	for i, n := range tenths {
		if n < 850 || n > 1150 {
			t.Errorf("%d of 10,000 numbers are in tenth %d", n, i)
		}
	}
	if NewJitter("a", "socket").Next() == NewJitter("a", "capacity").Next() {
		t.Error("two purposes have the same numbers")
	}
}

func TestAround(t *testing.T) {
	j := NewJitter("a", "b")
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		wait := j.Apply(time.Second, 0.5)
		least, most = min(least, wait), max(most, wait)
	}
	if least < 500*time.Millisecond || least > 510*time.Millisecond || most < 1490*time.Millisecond || most > 1500*time.Millisecond {
		t.Errorf("from %v to %v, want the whole of 0.5 s to 1.5 s", least, most)
	}
}
