//go:build js && wasm

// Command wasm is agentruntime.wasm, the full program: the exports of every program
// (internal/page), and the sessions with media.
//
// It declares the options and methods of those sessions in a page. It must not contain
// the logic of a session: a method checks its arguments and calls the runtime.
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
