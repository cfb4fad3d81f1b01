// @ts-nocheck: the types of the audio thread are not those of pages
// Reports the level of each block of its input, its time in the context, and when it was processed.
registerProcessor(
  "meter",
  class extends AudioWorkletProcessor {
    process([[samples]]) {
      let sum = 0
      for (const x of samples ?? []) sum += x * x
      this.port.postMessage({ at: currentTime, wall: Date.now(), level: samples ? Math.sqrt(sum / samples.length) : 0 })
      return true
    }
  },
)
