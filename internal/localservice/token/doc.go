// Package token mints, reads and ends the session tokens of the local service
// (service.md, Authentication; wire-protocol §1.3).
//
// A token is real: its privileges are encrypted and authenticated with a key
// derived from the partner's admin secret, it expires, it can be ended, and the
// restrictions it carries are enforced on every use. It must not know which
// routes exist: callers ask [Authority.Check] who somebody is and decide what
// that kind of caller may do.
package token
