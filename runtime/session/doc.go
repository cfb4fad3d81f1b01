// Package session is what sessions of every kind are made of: the serial queue
// that owns a session's state, the way events, warnings and logs leave it
// ([Base]), the brain's client commands ([Tools]), the stall watchdog and the
// variables.
//
// It must not know how a session reaches the service, nor anything of media.
package session
