// Package reach tests what the WebAssembly programs link: by what they never
// reach they stay small. It reads what the linker says of the commands, and must
// not import them.
package reach
