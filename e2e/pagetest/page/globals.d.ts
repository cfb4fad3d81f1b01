// What the scripts of the tests share in their pages without importing it, for the checker of types.
import type { Recording } from "./tools.js"

declare global {
  // Left by one script of a test for the next; a failed test lists the events of talk.
  var talk: Recording & { [other: string]: any }
  var element: any
  var samples: any[]
  var on: Record<string, unknown>
  var level: () => number
  var real: any
  var fake: any
  var drive: Record<string, (...args: any[]) => unknown>
  // Of watch.js.
  var watched: { peers: RTCPeerConnection[]; microphones: MediaStreamTrack[]; count(): Record<"peers" | "sockets" | "contexts" | "microphones" | "timers" | "listeners", number> }

  // What every page of the tests has.
  interface Document {
    getElementById(id: "video"): HTMLVideoElement
    querySelector(selector: "main"): HTMLElement
  }
}
