// Package archtest tests the rules of docs/architecture.md that a machine can
// check: where syscall/js may be imported, how platform files are named, that every
// package has a comment about its purpose, and what the WebAssembly programs must not
// link. It reads source files and the linker's output, and must not import the packages
// that it tests.
package archtest
