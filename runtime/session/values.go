package session

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/runtime/converse"
	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Merged returns vars with more over them, as a new map: requests under way hold
// the old one (wire-protocol §10.2).
func Merged[V any](vars, more map[string]V) map[string]V {
	merged := make(map[string]V, len(vars)+len(more))
	maps.Copy(merged, vars)
	maps.Copy(merged, more)
	return merged
}

// pageContext is the variable of a dynamic prompt (wire-protocol §10.4).
const pageContext = "page_context"

// DynamicPrompt returns the variables that tell the brain what the visitor has
// before them. The error is bad_request.
func DynamicPrompt(data any) (map[string]any, error) {
	b, err := json.Marshal(converse.Scrub(data))
	if err != nil {
		return nil, fault.New(fault.BadRequest, "the data is no JSON").Because(err)
	}
	return map[string]any{pageContext: string(b)}, nil
}

// PartnerOf reads the partner id from a token, "" if it is not readable
// (wire-protocol §1.3).
func PartnerOf(token string) string {
	text, _, _ := strings.Cut(token, ".")
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	}
	if err != nil {
		return ""
	}
	parts := strings.SplitN(string(b), "|", 3)
	if len(parts) < 3 || parts[0] != "v2" || strings.Trim(parts[1], "0123456789") != "" {
		return ""
	}
	return parts[1]
}

// RandomID returns n characters of [a-z0-9]. They tell sessions and turns apart
// and open nothing; crypto/rand would add 44 kB to the page after brotli.
func RandomID(n int) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rand.IntN(len(alphabet))]
	}
	return string(b)
}

// stamp returns t as RFC 3339 in UTC, with milliseconds. The formats of package
// time would be a fiftieth of what a small page downloads.
func stamp(t time.Time) string {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	number := func(n, digits int) string {
		s := strconv.Itoa(n)
		return strings.Repeat("0", max(0, digits-len(s))) + s
	}
	return number(year, 4) + "-" + number(int(month), 2) + "-" + number(day, 2) + "T" +
		number(hour, 2) + ":" + number(minute, 2) + ":" + number(second, 2) + "." +
		number(t.Nanosecond()/int(time.Millisecond), 3) + "Z"
}
