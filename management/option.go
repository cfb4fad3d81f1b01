package management

import (
	"strconv"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// Option changes one call.
type Option interface{ set(*settings) }

// Confirmation is an [Option] for a call that removes something.
type Confirmation uint8

// The confirmations.
const (
	// ConfirmPermanent is required by every delete, which fails with
	// confirmation_required without it.
	ConfirmPermanent Confirmation = 1 << iota
	// Force deletes an object that is still in use: a tool, skill or knowledge record of
	// an intellect, or an insight setting of a lifecycle rule. In
	// [Intellects.SetCapabilities] it permits a change of a disabled capability.
	Force
	// AllowProtected deletes an agent with a protected tag ([MatchProtectedTag]).
	AllowProtected
	// SkipProtectedCheck deletes an agent without reading its tags first.
	SkipProtectedCheck
)

// IdempotencyKey is an [Option] for creates, deletes and pushes: the service executes
// the calls with one key once, and repeats its first reply. Without it every call has a
// random key of its own.
type IdempotencyKey string

// PageSize is an [Option] for lists: how many objects are requested at once, 1 to
// [MaxPageSize]. It changes how many requests there are, not what a loop gets.
type PageSize int

// settings are the combined options of a call.
type settings struct {
	confirmed Confirmation
	key       string
	pageSize  int // 0 means the default
}

func settingsOf(opts []Option) (s settings) {
	for _, o := range opts {
		if o != nil {
			o.set(&s)
		}
	}
	return s
}

func (c Confirmation) set(s *settings)   { s.confirmed |= c }
func (k IdempotencyKey) set(s *settings) { s.key = string(k) }

func (p PageSize) set(s *settings) {
	s.pageSize = int(p)
	if p == 0 {
		s.pageSize = -1 // refused, not the default
	}
}

// has reports whether all of want were given.
func (s settings) has(want Confirmation) bool { return s.confirmed&want == want }

// confirm refuses a delete that was not confirmed.
func (s settings) confirm(what string) error {
	if s.has(ConfirmPermanent) {
		return nil
	}
	return fault.New(fault.ConfirmationRequired, "deleting "+what+" is permanent; pass ConfirmPermanent to do it")
}

func (s settings) checkPageSize() error {
	if s.pageSize < 0 || s.pageSize > MaxPageSize {
		return badRequest("PageSize must be from 1 to " + strconv.Itoa(MaxPageSize))
	}
	return nil
}
