// Command chatwasm is chat.wasm, the part of agentruntime that a page without an
// avatar loads: what every program has (internal/page), and nothing more.
//
// It must not reach media, the avatar session or the control socket; internal/archtest
// holds it to that.
package main
