package quota

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestCount(t *testing.T) {
	var c Count
	abuser, newcomer := map[string]int{"token a": 2, "address x": 3}, map[string]int{"token b": 2, "address x": 3}
	for i, want := range []bool{true, true, false} {
		if got := c.Take(abuser); got != want {
			t.Errorf("number %d: %t", i, got)
		}
	}
	if !c.Take(newcomer) || c.Take(newcomer) {
		t.Error("want one more for the address")
	}
	c.Free(abuser)
	if !c.Take(newcomer) {
		t.Error("what was freed can't be taken")
	}
	for range 2 {
		c.Free(newcomer)
	}
	c.Free(abuser)
	if len(c.taken) != 0 {
		t.Errorf("left are %v", c.taken)
	}
	for range 10 {
		if !c.Take(map[string]int{"token": 0}) {
			t.Error("0 is no limit")
		}
	}
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Rate{Window: time.Hour}
		one := map[string]int{"token": 1}
		if !r.Take(one) || r.Take(one) {
			t.Error("want one within an hour")
		}
		time.Sleep(time.Hour)
		if !r.Take(one) {
			t.Error("want one in the next hour")
		}
	})
}
