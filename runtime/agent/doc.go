// Package agent is one conversation over either transport: a face and a voice, or
// text, and the switch between them (session-api part A.3).
//
// A [Session] owns the thread, the variables, the handlers of client commands and
// the texts that were not answered for; a transport (*[avatar.Session] or
// *[chat.Session]) carries the turns. During a switch there are two: the old one is
// let go when the new one is up, so that a switch that fails loses nothing. What a
// transport tells is passed on as it is.
//
// The state belongs to a serial queue. A connect and a switch run on the goroutine
// of their caller, step by step, and post to the queue what changes the state.
//
// The package must not import syscall/js, and must not know how a transport
// reaches the service.
package agent
