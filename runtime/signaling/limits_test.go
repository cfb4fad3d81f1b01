package signaling

import (
	"reflect"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestWithDefaultsFillsZerosOnly(t *testing.T) {
	got := Limits{Overall: time.Minute, WHEPTries: 1}.WithDefaults()
	if got.Overall != time.Minute || got.WHEPTries != 1 {
		t.Errorf("a limit that was given has changed: %+v", got)
	}
	expect.Equal(t, got.ServerConnect, 10*time.Second, "ServerConnect is")
	limits := reflect.ValueOf(got)
	for i := range limits.NumField() {
		if limits.Field(i).IsZero() {
			t.Errorf("%s has no default", limits.Type().Field(i).Name)
		}
	}
}
