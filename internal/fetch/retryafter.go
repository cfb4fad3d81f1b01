package fetch

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns the wait that the header Retry-After asks for: a number of seconds, or a
// date such as "Fri, 31 Dec 1999 23:59:59 GMT" (RFC 9110, 10.2.3). It is zero for a date in the
// past and for an invalid value.
//
// It parses the only date format that servers may send by hand, because time.Parse would link the
// code for all other formats into the page's program.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	fields := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,:", r) })
	if len(fields) != 8 || fields[7] != "GMT" {
		return 0
	}
	month := 1 + slices.Index(months[:], fields[2])
	var n [5]int // day, year, hour, minute, second
	for i, field := range []string{fields[1], fields[3], fields[4], fields[5], fields[6]} {
		v, err := strconv.ParseUint(field, 10, 14)
		if err != nil {
			return 0
		}
		n[i] = int(v)
	}
	if month == 0 {
		return 0
	}
	return max(0, time.Date(n[1], time.Month(month), n[0], n[2], n[3], n[4], 0, time.UTC).Sub(now))
}

var months = [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
