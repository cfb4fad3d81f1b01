// Command wasm is agentruntime as a page loads it: built for js/wasm, it hands
// its exports to the loader in js/ and waits until it is disposed.
//
// It owns the list of exports and the form of their options. It must not hold any
// logic of a session: an export checks its arguments, calls the runtime and
// returns a promise. The exports go through one object that the loader made for
// this instance; nothing global appears on the page.
package main
