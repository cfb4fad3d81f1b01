// Command wasm is agentruntime.wasm, the whole of agentruntime as a page loads
// it: what every program has (internal/page), and sessions with media.
//
// It owns the list of exports and the form of an avatar session's options. It
// must not hold any logic of a session: a method checks its arguments, calls the
// runtime and returns what came of it.
package main
