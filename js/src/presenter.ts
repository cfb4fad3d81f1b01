/**
 * agentruntime/presenter: an agent that presents a deck (docs/parts.md#presenter). It tells the
 * agent which slide the visitor sees, turns the slides that the agent asks for, and
 * remembers what was covered. It draws nothing.
 */
export * from "./presenter/presenter.js"
export { parseSlideNumber } from "./presenter/slidenumber.js"
export { followVideo, type FollowVideoOptions } from "./presenter/video.js"
