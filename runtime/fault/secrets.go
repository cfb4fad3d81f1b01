package fault

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// minKnown is the minimum length of a secret that is found by its value. Shorter values
// may be ordinary words.
const minKnown = 8

// known are the values of all Secrets, after withoutGaps. The list is replaced as a
// whole, so that Redact takes no lock.
var known struct {
	writing sync.Mutex
	values  atomic.Pointer[[]string]
}

// Secrets are the values that a session must not disclose: its token, its TURN login,
// the variables that are marked secret. Redact removes them from any text, also from that
// of another session, until Forget is called. The zero value has none.
type Secrets struct{ values []string }

// NewSecrets returns an empty set, which is cleared only when owner is garbage-collected,
// because errors of a session may be printed after its end.
func NewSecrets[T any](owner *T) *Secrets {
	s := new(Secrets)
	runtime.AddCleanup(owner, (*Secrets).Forget, s)
	return s
}

// Add keeps the values. Those shorter than eight bytes are left out.
func (s *Secrets) Add(values ...string) {
	known.writing.Lock()
	defer known.writing.Unlock()
	for _, value := range values {
		if value = withoutGaps(value, nil); len(value) >= minKnown && !slices.Contains(s.values, value) {
			s.values = append(s.values, value)
			publish(append(knownValues(), value))
		}
	}
}

// AddNamed keeps the values of those names that mark a secret, such as apiKey.
func (s *Secrets) AddNamed(values map[string]any) {
	for name, value := range values {
		if text, ok := value.(string); ok && secretName(name) {
			s.Add(text)
		}
	}
}

// Forget removes all values.
func (s *Secrets) Forget() {
	known.writing.Lock()
	defer known.writing.Unlock()
	values := knownValues()
	for _, value := range s.values { // another session may have added the same
		if i := slices.Index(values, value); i >= 0 {
			values = slices.Delete(values, i, i+1)
		}
	}
	s.values = nil
	publish(values)
}

func publish(values []string) { known.values.Store(&values) }

// knownValues returns a copy of the list.
func knownValues() []string {
	if values := known.values.Load(); values != nil {
		return slices.Clone(*values)
	}
	return nil
}

// findKnown finds the values of all Secrets, also where they are broken into lines or
// into several strings.
func (f *finder) findKnown() {
	values := known.values.Load()
	if values == nil || len(*values) == 0 {
		return
	}
	at := make([]int, 0, len(f.text))
	text := withoutGaps(f.text, &at)
	for _, value := range *values {
		for i := 0; ; i += len(value) {
			next := strings.Index(text[i:], value)
			if next < 0 {
				break
			}
			i += next
			f.mark(at[i], at[i+len(value)-1]+1)
		}
	}
}

// withoutGaps returns s without line breaks and similar separators, and appends to at, if
// it is not nil, the offset of each remaining byte. The plus sign is a separator because it
// encodes a space in forms.
func withoutGaps(s string, at *[]int) string {
	var text strings.Builder
	for i := range len(s) {
		if strings.IndexByte(" \t\r\n\"'`,+\\", s[i]) < 0 {
			text.WriteByte(s[i])
			if at != nil {
				*at = append(*at, i)
			}
		}
	}
	return text.String()
}
