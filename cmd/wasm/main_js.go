//go:build js && wasm

package main

import "github.com/agentruntime/agentruntime/internal/page"

// version is set by the linker.
var version = "dev"

func main() {
	exports := page.Common()
	sessions := newAvatarSessions()
	exports.Sessions["avatarSession"] = sessions.open
	exports.Sessions["agentSession"] = sessions.openAgent
	page.Main(version, exports)
}
