// Package jsbridge is the border between Go and the page's JavaScript: calls
// that can fail, promises, abort signals, events, values and the ownership of
// callbacks. Everything but this comment is built for js/wasm only.
//
// It owns the knowledge of syscall/js and its traps, so that nobody else needs
// it. It must not know sessions, sockets, media or any option's meaning, and it
// imports nothing of the project but runtime/fault.
//
// # Calls into JavaScript
//
// js.Value.Get, Set, Index, Length, Delete and InstanceOf let an exception tear
// through the Go stack: recover sees nothing and no defer runs. They are for
// objects made here. Everything that belongs to the page goes through [Get],
// [Set], [Call], [Invoke] and [New], which return what was thrown as an [*Error].
//
// # Calls from JavaScript
//
// A callback must not wait: nothing else in the tab runs until it returns. It
// copies its arguments, hands over to a goroutine and returns. A callback cannot
// throw either: an asynchronous export returns a [Promise], a synchronous one
// [Result]. A panic in any of them is logged once with its stack and becomes an
// internal_error; the page and the other sessions live on.
//
// Every callback is a [Func] with an owner that releases it, normally a [Scope];
// [LiveFuncs] counts the ones that are not released yet.
//
// # Events
//
// The table of listeners lives in TypeScript (js/src/emitter.ts), not here:
// [Emitter] makes one call per event with the name and the converted payload, no
// matter how many listeners there are, and none when a page adds or removes one.
// A listener costs no Func, keeps its identity for off, and a throw stays in
// JavaScript.
//
// # The end of the program
//
// When the Go program ends, nothing here can run any more. The loader in js/
// keeps the list of open calls and rejects them.
package jsbridge
