// Command chatwasm is chat.wasm, the program for pages without an avatar: what every
// program has (internal/page), and nothing more.
//
// It must not reach media, the avatar session or the control socket; internal/archtest
// checks that.
package main

import "github.com/agentruntime/agentruntime/internal/page"

// version is set by the linker.
var version = "dev"

func main() { page.Main(version, nil) }
