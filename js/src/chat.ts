/**
 * agentruntime/chat: the part of the package for pages without an avatar. It loads
 * chat.wasm, and never agentruntime.wasm.
 *
 * What it has in common with `agentruntime` is the same: classes, and the running
 * program, when a page imports both.
 */
export * from "./common.js"
export { appInit, load } from "./small.js"
export type { LoadOptions } from "./runtime.js"
