// Command chatwasm is chat.wasm, the program for pages without an avatar: only the exports
// of every program (internal/page).
//
// It must not link media, the avatar session or the control socket; internal/archtest
// checks that.
package main

import "github.com/agentruntime/agentruntime/internal/page"

// version is set by the linker.
var version = "dev"

func main() { page.Main(version, nil) }
