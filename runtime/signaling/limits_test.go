package signaling

import (
	"reflect"
	"testing"
	"time"
)

func TestWithDefaultsFillsZerosOnly(t *testing.T) {
	got := Limits{Overall: time.Minute, WHEPTries: 1}.WithDefaults()
	if got.Overall != time.Minute || got.WHEPTries != 1 {
		t.Errorf("a limit that was given has changed: %+v", got)
	}
	if want := 10 * time.Second; got.ServerConnect != want {
		t.Errorf("ServerConnect is %v, want %v", got.ServerConnect, want)
	}
	limits := reflect.ValueOf(got)
	for i := range limits.NumField() {
		if limits.Field(i).IsZero() {
			t.Errorf("%s has no default", limits.Type().Field(i).Name)
		}
	}
}
