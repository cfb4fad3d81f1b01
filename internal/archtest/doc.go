// Package archtest tests the rules of docs/architecture.md that a machine can
// check: where syscall/js may be imported, how platform files are named, that
// every package says what it is for, and what the WebAssembly programs must not
// link. It reads source files and the linker's output, and must not import what
// it tests.
package archtest
