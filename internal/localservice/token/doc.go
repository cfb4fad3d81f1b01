// Package token mints, reads and ends the session tokens of the local service
// (service.md, Authentication; protocol §1.3).
//
// A token is real: its privileges are encrypted and authenticated with a key
// derived from the partner's admin secret, it expires, it can be ended, and the
// restrictions it carries are enforced on every use. It is
// independent of routes: callers get the claims from [Authority.Check] and decide
// what that kind of token may do.
package token
