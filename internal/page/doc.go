// Package page is what a Go program hands to the loader in js/: how it starts
// and ends, what the page can call of it, the sessions that the page holds, and
// the exports that every program has ([Common]).
//
// It owns the form in which calls, options, events and streams cross to
// TypeScript. What differs between sessions is in tables ([Methods]), so that a
// further kind of session, or a further export, is a row. It must not hold any
// logic of a session, and it must not import what only the larger of the two
// programs has: the avatar session, media, the control socket.
package page
