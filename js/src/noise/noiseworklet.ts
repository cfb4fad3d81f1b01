// The module of the audio worklet: it runs on the audio thread, where it has no page.
import { Gate, gateName, parameters, type GateParameters } from "./gate.js"

declare const sampleRate: number
declare function registerProcessor(name: string, processor: unknown): void
declare const AudioWorkletProcessor: new () => object

class NoiseGate extends AudioWorkletProcessor {
  static readonly parameterDescriptors = parameters.map((parameter) => ({ ...parameter, automationRate: "k-rate" }))
  readonly #gate = new Gate(sampleRate)

  process([input = []]: Float32Array[][], [output = []]: Float32Array[][], values: Record<keyof GateParameters, Float32Array>): boolean {
    const [thresholdDb, attackMs, releaseMs, floorAdaptMs] = parameters.map(({ name, defaultValue }) => values[name][0] ?? defaultValue) as [number, number, number, number]
    this.#gate.process(input, output, { thresholdDb, attackMs, releaseMs, floorAdaptMs })
    return true
  }
}

registerProcessor(gateName, NoiseGate)
