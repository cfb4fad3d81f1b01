// Reports the level of each block of its input.
registerProcessor(
  "meter",
  class extends AudioWorkletProcessor {
    process([[samples]]) {
      let sum = 0
      for (const x of samples ?? []) sum += x * x
      this.port.postMessage({ at: currentTime, level: samples ? Math.sqrt(sum / samples.length) : 0 })
      return true
    }
  },
)
