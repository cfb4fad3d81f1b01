package management

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// oneOf checks a value of a small set.
func oneOf(field, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return badRequest(field + " must be one of " + strings.Join(allowed, ", "))
}

// oneOfOrEmpty is oneOf for a value that may be left out.
func oneOfOrEmpty(field, value string, allowed []string) error {
	if value == "" {
		return nil
	}
	return oneOf(field, value, allowed)
}

// ifSet checks a field of a patch, unless it is nil.
func ifSet[T any](field *T, check func(T) error) error {
	if field == nil {
		return nil
	}
	return check(*field)
}

// nonEmpty is [required] for [ifSet].
func nonEmpty(name string) func(string) error {
	return func(value string) error { return required(name, value) }
}

// among is [oneOf] for [ifSet].
func among(name string, allowed []string) func(string) error {
	return func(value string) error { return oneOf(name, value, allowed) }
}

// uniqueIDs refuses empty and repeated ids.
func uniqueIDs(field string, ids []string) error {
	for n, id := range ids {
		if id == "" || strings.ContainsAny(id, " \t\r\n") {
			return badRequest(indexed(field, n) + " must be an id")
		}
		if slices.Contains(ids[:n], id) {
			return badRequest(field + " must have each id once; " + id + " is there twice")
		}
	}
	return nil
}

func positive(field string, id int64) error {
	if id <= 0 {
		return badRequest(field + " must be a positive integer")
	}
	return nil
}

// indexed names an element of a list in a message.
func indexed(field string, n int) string { return field + "[" + strconv.Itoa(n) + "]" }

// httpURL checks an address that the service will call.
func httpURL(field, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fault.New(fault.InvalidURL, field+" must be an absolute http or https address")
	case u.User != nil:
		return fault.New(fault.InvalidURL, field+" must not have a user or a password in it; use a secret in a header")
	}
	return nil
}

// The name of a secret has the form of a variable's name in a program.
var secretNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

func secretName(name string) bool { return secretNames.MatchString(name) }
