/** The name under which the worklet's processor is registered. */
export const gateName = "kaltura-noise-gate"

/** The settings of the gate. */
export interface GateParameters {
  /** The level below which the microphone is silent, in dB of full scale: -100 to 0. Default -50. */
  thresholdDb?: number | undefined
  /** How long it takes to open, in milliseconds: 0 to 200. Default 5. */
  attackMs?: number | undefined
  /** How long it takes to close, in milliseconds: 0 to 2000. Default 150. */
  releaseMs?: number | undefined
  /** How slowly the gate gets used to a louder background, in milliseconds: 100 to 10000. Default 2000. */
  floorAdaptMs?: number | undefined
}

/** The parameters of the worklet, with their defaults and ranges. */
export const parameters = [
  { name: "thresholdDb", defaultValue: -50, minValue: -100, maxValue: 0 },
  { name: "attackMs", defaultValue: 5, minValue: 0, maxValue: 200 },
  { name: "releaseMs", defaultValue: 150, minValue: 0, maxValue: 2000 },
  { name: "floorAdaptMs", defaultValue: 2000, minValue: 100, maxValue: 10_000 },
] as const satisfies readonly { name: keyof GateParameters; defaultValue: number; minValue: number; maxValue: number }[]

/** How far above the background speech has to be to open the gate, and below that to close it, in dB. */
const aboveFloorDb = 6
const hysteresisDb = 3
const silenceDb = -100

/**
 * A gate that is open while the level is above the threshold and above the background. The
 * background falls with the level at once and rises slowly, while the gate is closed.
 */
export class Gate {
  readonly #rate: number
  #floorDb = silenceDb
  #open = false
  #gain = 0

  /** `rate` is in samples per second. */
  constructor(rate: number) {
    this.#rate = rate
  }

  /** Whether the last block was let through. */
  get open(): boolean {
    return this.#open
  }

  /** Processes one block of samples of each channel. */
  process(input: readonly Float32Array[], output: readonly Float32Array[], { thresholdDb, attackMs, releaseMs, floorAdaptMs }: Required<{ [Name in keyof GateParameters]: number }>): void {
    const length = output[0]?.length ?? 0
    const level = levelOf(input)
    const opensAt = Math.max(thresholdDb, this.#floorDb + aboveFloorDb)
    this.#open = level >= (this.#open ? opensAt - hysteresisDb : opensAt)
    const blockMs = (1000 * length) / this.#rate
    if (level < this.#floorDb) this.#floorDb = Math.max(silenceDb, level)
    else if (!this.#open) this.#floorDb += (level - this.#floorDb) * Math.min(1, blockMs / floorAdaptMs)
    const ms = this.#open ? attackMs : releaseMs
    const step = ms === 0 ? 1 : 1000 / (ms * this.#rate)
    for (let at = 0; at < length; at++) {
      this.#gain = this.#open ? Math.min(1, this.#gain + step) : Math.max(0, this.#gain - step)
      for (let channel = 0; channel < output.length; channel++) output[channel]![at] = (input[channel]?.[at] ?? 0) * this.#gain
    }
  }
}

/** The level of a block, in dB of full scale. */
function levelOf(channels: readonly Float32Array[]): number {
  let sum = 0
  let count = 0
  for (const samples of channels) {
    for (const sample of samples) sum += sample * sample
    count += samples.length
  }
  return count === 0 || sum === 0 ? silenceDb : 10 * Math.log10(sum / count)
}
