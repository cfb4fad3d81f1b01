package netem

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits of what Parse accepts. They keep a mistyped condition from holding traffic for hours.
const (
	maxDelay     = time.Minute
	minBandwidth = 1_000             // bits per second
	maxBandwidth = 1_000_000_000_000 // bits per second
)

// perfectName is how a perfect link is written.
const perfectName = "none"

// bandwidthUnits are tried in this order, longest suffix first.
var bandwidthUnits = []struct {
	suffix string
	bits   int64
}{{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

// Parse reads conditions such as "delay=80ms,jitter=20ms,loss=2%,bandwidth=1mbit" or "cut". Parts that are left out are zero; ""
// and "none" are a perfect link. Durations are Go durations of at most a minute, loss is a percentage or a share ("0.02"),
// bandwidth takes bit, kbit, mbit or gbit per second, at least 1kbit.
func Parse(s string) (Conditions, error) {
	var c Conditions
	if s = strings.TrimSpace(s); s == "" || s == perfectName {
		return c, nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if seen[name] {
			return Conditions{}, fmt.Errorf("link conditions: %q is given twice", name)
		}
		seen[name] = true
		if err := c.parse(name, value); err != nil {
			return Conditions{}, fmt.Errorf("link conditions: %s: %w", name, err)
		}
	}
	return c, nil
}

func (c *Conditions) parse(name, value string) (err error) {
	switch name {
	case "delay":
		c.Delay, err = parseDelay(value)
	case "jitter":
		c.Jitter, err = parseDelay(value)
	case "loss":
		c.Loss, err = parseLoss(value)
	case "bandwidth":
		c.Bandwidth, err = parseBandwidth(value)
	case "cut":
		c.Cut = true
		if value != "" {
			c.Cut, err = strconv.ParseBool(value)
		}
	default:
		err = errors.New("unknown condition; known are delay, jitter, loss, bandwidth, cut")
	}
	return err
}

func parseDelay(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > maxDelay {
		return 0, fmt.Errorf("%q is not a duration from 0s to %v", s, maxDelay)
	}
	return d, nil
}

func parseLoss(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || math.IsNaN(share) || share < 0 || share > 1 {
		return 0, fmt.Errorf("%q is not a share from 0%% to 100%%", s)
	}
	return share, nil
}

func parseBandwidth(s string) (int64, error) {
	for _, unit := range bandwidthUnits {
		number, ok := strings.CutSuffix(s, unit.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		bits := n * float64(unit.bits)
		if err != nil || math.IsNaN(bits) || bits < minBandwidth || bits > maxBandwidth {
			break
		}
		return int64(bits), nil
	}
	return 0, fmt.Errorf("%q is not a rate from 1kbit to 1000gbit", s)
}

// String returns c in the form that [Parse] reads; a perfect link is "none".
func (c Conditions) String() string {
	var parts []string
	if c.Delay != 0 {
		parts = append(parts, "delay="+c.Delay.String())
	}
	if c.Jitter != 0 {
		parts = append(parts, "jitter="+c.Jitter.String())
	}
	if c.Loss != 0 {
		parts = append(parts, "loss="+strconv.FormatFloat(c.Loss, 'g', -1, 64))
	}
	if c.Bandwidth != 0 {
		parts = append(parts, "bandwidth="+formatBandwidth(c.Bandwidth))
	}
	if c.Cut {
		parts = append(parts, "cut")
	}
	if len(parts) == 0 {
		return perfectName
	}
	return strings.Join(parts, ",")
}

// formatBandwidth uses the largest unit that needs no fraction.
func formatBandwidth(bits int64) string {
	for _, unit := range bandwidthUnits {
		if bits%unit.bits == 0 {
			return strconv.FormatInt(bits/unit.bits, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(bits, 10) // not reached: every number is a multiple of 1 bit
}
