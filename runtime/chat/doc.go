// Package chat is the conversation in text: the same brain and the same threads
// as a live session, over a streamed HTTP reply, without a socket, media or a
// permission prompt (session-api part A.2, wire-protocol §9 and §10).
//
// There are three ways to hear an answer, which go together: every event goes to
// Options.OnEvent, [Session.SendText] waits for one turn, and [Session.Stream]
// iterates over its segments. [Session.Close] is for a program, which it keeps until
// the service was told of the end; [Session.Disconnect] never waits.
//
// A [Session] is one serial queue that owns the session's state; each turn is
// read by a goroutine of its own, which hands the queue one segment after the
// other. What callers may read at any time is a [Snapshot].
//
// The package must not import runtime/avatar, runtime/media, runtime/control or
// internal/socketio: it is what a page without a face loads.
package chat
