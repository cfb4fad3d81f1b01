package netem

import (
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/expect"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Conditions{
		"":     {},
		"none": {},
		"delay=80ms,jitter=20ms,loss=2%,bandwidth=1mbit": {
			Delay: 80 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.02, Bandwidth: 1_000_000,
		},
		" delay=1s , cut ":     {Delay: time.Second, Cut: true},
		"loss=0.5":             {Loss: 0.5},
		"loss=100%":            {Loss: 1},
		"bandwidth=1.5mbit":    {Bandwidth: 1_500_000},
		"bandwidth=64kbit":     {Bandwidth: 64_000},
		"bandwidth=12345bit":   {Bandwidth: 12_345},
		"cut=false,delay=10ms": {Delay: 10 * time.Millisecond},
	} {
		if got, err := Parse(in); got != want || err != nil {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", in, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"delay", "delay=", "delay=80", "delay=-1ms", "delay=2h", "jitter=x", "loss=101%", "loss=-1%", "loss=NaN", "loss=x",
		"bandwidth=1", "bandwidth=0mbit", "bandwidth=-1mbit", "bandwidth=NaNmbit", "bandwidth=infmbit", "speed=1",
		"cut=maybe", "delay=1ms,delay=2ms", ",", "delay=1ms,",
	} {
		if got, err := Parse(in); err == nil || got != (Conditions{}) {
			t.Errorf("Parse(%q) = %+v, %v; want an error", in, got, err)
		}
	}
}

func TestStringNamesWhatIsSet(t *testing.T) {
	c := Conditions{Delay: 80 * time.Millisecond, Jitter: time.Second, Loss: 0.02, Bandwidth: 1_500_000, Cut: true}
	expect.Equal(t, c.String(), "delay=80ms,jitter=1s,loss=0.02,bandwidth=1500kbit,cut", "String()")
	expect.Equal(t, (Conditions{}).String(), "none", "perfect link is")
}

func FuzzParseRoundTrip(f *testing.F) {
	f.Add("delay=80ms,jitter=20ms,loss=2%,bandwidth=1mbit")
	f.Add("cut,loss=1e-9")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(c.String()); again != c || err != nil {
			t.Errorf("Parse(%q) = %+v, but its String %q parses to %+v, %v", s, c, c.String(), again, err)
		}
	})
}
