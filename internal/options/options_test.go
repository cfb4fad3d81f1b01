package options

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/must"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

type limits struct {
	Overall time.Duration `json:"overall" default:"30s"`
	Backoff int           `json:"backoff"`
}

type sample struct {
	Path   string         `json:"path" default:"/end"`
	Policy string         `json:"policy" enum:"relay,all"`
	Level  *float64       `json:"level" default:"0.5" max:"2.5"`
	Limits limits         `json:"timeouts"`
	Period *time.Duration `json:"periodMs" default:"12s"`
	Listen func()         `json:"-"`
}

type exported struct {
	Shared
	Own string `json:"own"`
}

type Shared struct {
	On   *bool  `json:"on" default:"true"`
	Name string `json:"name"`
}

func TestEveryDefaultIsFilledIn(t *testing.T) {
	var s sample
	must.Do(t, Complete(&s))
	level, period := 0.5, 12*time.Second
	if want := (sample{Path: "/end", Level: &level, Period: &period, Limits: limits{Overall: 30 * time.Second}}); !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, want %+v", s, want)
	}
	var e exported
	if err := Complete(&e); err != nil || !*e.On {
		t.Errorf("embedded: %+v, %v", e, err)
	}
}

func TestWhatIsGivenStays(t *testing.T) {
	off, zero, never := false, 0.0, time.Duration(0)
	s := sample{Path: "/other", Policy: "all", Level: &zero, Period: &never, Limits: limits{Overall: time.Second}}
	want := s
	if err := Complete(&s); err != nil || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, %v", s, err)
	}
	e := exported{Shared: Shared{On: &off}}
	if err := Complete(&e); err != nil || *e.On {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestValuesThatAreNotAllowed(t *testing.T) {
	negative, high := -0.5, 2.75
	for message, o := range map[string]any{
		"policy must be one of relay, all":    &sample{Policy: "host"},
		"level must be a number, 0 or more":   &sample{Level: &negative},
		"level must be at most 2.5":           &sample{Level: &high},
		"backoff must be a number, 0 or more": &sample{Limits: limits{Backoff: -1}},
	} {
		err := Complete(o)
		if !errors.Is(err, fault.BadRequest) || fault.From(err).Detail != message {
			t.Errorf("%v, want %q", err, message)
		}
	}
	highest := 2.5
	must.Do(t, Complete(&sample{Level: &highest}))
	below := -1
	if err := Complete(&struct {
		Tries *int `json:"tries" check:"integer"`
	}{&below}); err != nil {
		t.Error(err)
	}
}

func TestWhatIsSharedFillsWhatIsNotGiven(t *testing.T) {
	on, off := true, false
	own := exported{Shared: Shared{On: &off}, Own: "own"}
	Inherit(&own, exported{Shared: Shared{On: &on, Name: "shared"}, Own: "shared"})
	if *own.On || own.Name != "shared" || own.Own != "own" {
		t.Errorf("%+v", own)
	}
}
