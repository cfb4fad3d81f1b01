// Package jsbridge connects Go and the page's JavaScript: calls that can fail,
// promises, abort signals, events, conversion of values and ownership of callbacks.
// Except for this comment, the package is built for js/wasm only.
//
// It works around the pitfalls of syscall/js in one place. It must not depend on
// sessions, sockets, media or the meaning of options, and imports no packages of this
// module but runtime/fault, internal/jsonbounds and internal/jsontext.
//
// # Calls into JavaScript
//
// An exception in js.Value.Get, Set, Index, Length, Delete or InstanceOf unwinds the Go
// stack without running recover or deferred functions. Use them only for objects created
// by Go. For objects of the page use [Get], [Set], [Call], [Invoke] and [New], which
// return exceptions as an [*Error].
//
// # Calls from JavaScript
//
// A callback must not block, because nothing else in the tab runs until it returns: it
// copies its arguments, starts a goroutine and returns. It cannot throw either: an
// asynchronous export returns a [Promise], a synchronous one a [Result]. A panic in a
// callback is logged once with its stack and becomes an internal_error; other sessions
// continue.
//
// Every callback is a [Func] with an owner that releases it, normally a [Scope];
// [LiveFuncs] counts the ones that are not released yet.
//
// # Events
//
// Listeners are stored in TypeScript (js/src/core/emitter.ts): [Emit] makes one call per
// event with the name and the converted payload, however many listeners there are. A
// listener therefore needs no Func, and its exceptions stay in JavaScript.
//
// # The end of the program
//
// After the end of the Go program, this package cannot run. The loader in js/ keeps the
// list of pending calls and rejects them.
package jsbridge
