//go:build js && wasm

// Command wasm is agentruntime.wasm, the full program: what every program has
// (internal/page), and the sessions with media.
//
// It owns what is particular to those sessions in a page: their options and
// methods. It must not hold any logic of a session: a method checks its arguments
// and calls the runtime.
package main

import "github.com/agentruntime/agentruntime/internal/page"

// version is set by the linker.
var version = "dev"

func main() {
	sessions := newAvatarSessions()
	page.Main(version, map[string]page.Open{
		"avatarSession": sessions.open,
		"agentSession":  sessions.openAgent,
	})
}
