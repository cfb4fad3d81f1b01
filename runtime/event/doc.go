// Package event declares what sessions of more than one kind tell their
// listeners, each event once: the live session, the chat session and the agent
// session emit the same types, so that one listener serves all of them
// (session-api A.1.5, A.2.3, A.3.3).
//
// What only one kind emits stands in the events.go of that package, beside the
// list of those here that it emits too. The package must not know how a session
// works.
package event
