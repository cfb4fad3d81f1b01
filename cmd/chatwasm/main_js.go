//go:build js && wasm

package main

import "github.com/agentruntime/agentruntime/internal/page"

// version is set by the linker.
var version = "dev"

func main() { page.Main(version, page.Common()) }
