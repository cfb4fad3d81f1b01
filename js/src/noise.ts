/**
 * agentruntime/noise: a noise gate for the microphone, to be used as the option `noiseProcessor`
 * (docs/parts.md#noise-suppressor). It silences what is quieter than speech; it does not
 * remove noise from speech, which browsers do themselves (`micConstraints`).
 */
import { localError, messageOf } from "./core/errors.js"
import { gateName, parameters, type GateParameters } from "./noise/gate.js"
import { checkFunction, numberOf, partError } from "./core/part.js"

export type { GateParameters } from "./noise/gate.js"

/** Options of {@link createNoiseSuppressor}. */
export interface NoiseSuppressorOptions extends GateParameters {
  /** Default: a new one, which `stop()` closes. */
  audioContext?: AudioContext | undefined
  /** Returns the context when it is needed, instead of `audioContext`. */
  getAudioContext?: (() => AudioContext) | undefined
  /** Default: `AudioWorkletNode`. */
  audioWorkletNodeConstructor?: typeof AudioWorkletNode | undefined
  /** The address of the worklet's module. Default: the file `noiseworklet.js` of the package, beside this module. */
  workletUrl?: string | URL | undefined
}

/** What `noiseProcessor` returns: the stream to send, and the function that ends the processing. */
export interface SuppressedStream {
  readonly stream: MediaStream
  /** Ends the processing, and the microphone's own tracks. */
  stop(): void
}

// Worklet modules by their context, which keeps them.
const loaded = new WeakMap<BaseAudioContext, Map<string, Promise<void>>>()

/**
 * Returns a function for the option `noiseProcessor`. Throws `bad_request` for a parameter out of
 * range. The function rejects with `bad_request` where audio worklets are not supported, and
 * with `noise_processor_failed` when the worklet's module can't be loaded.
 */
export function createNoiseSuppressor(options: NoiseSuppressorOptions = {}): (stream: MediaStream) => Promise<SuppressedStream> {
  const { audioContext, getAudioContext, audioWorkletNodeConstructor, workletUrl } = options ?? {}
  checkFunction("getAudioContext", getAudioContext)
  checkFunction("audioWorkletNodeConstructor", audioWorkletNodeConstructor)
  const values = Object.fromEntries(parameters.map(({ name, defaultValue, minValue, maxValue }) => [name, numberOf(name, options[name], defaultValue, minValue, maxValue)]))
  return async (stream) => {
    const own = audioContext ?? getAudioContext?.()
    const Context = globalThis.AudioContext
    const Node = audioWorkletNodeConstructor ?? globalThis.AudioWorkletNode
    const context = own ?? (typeof Context === "function" ? new Context() : undefined)
    if (!context?.audioWorklet || typeof Node !== "function") {
      throw localError("bad_request", "this browser has no audio worklets; leave noiseProcessor out")
    }
    try {
      // The literal form is what bundlers look for, to copy the file.
      await moduleIn(context, String(workletUrl ?? new URL("./noiseworklet.js", import.meta.url)))
      const source = context.createMediaStreamSource(stream)
      const gate = new Node(context, gateName, { numberOfInputs: 1, numberOfOutputs: 1, parameterData: values })
      const sink = context.createMediaStreamDestination()
      source.connect(gate)
      gate.connect(sink)
      if (context.state === "suspended") context.resume().catch(() => {}) // it plays nothing, and resumes with the first click
      return {
        stream: sink.stream,
        stop() {
          for (const node of [source, gate]) node.disconnect()
          for (const track of [...stream.getTracks(), ...sink.stream.getTracks()]) track.stop()
          if (!own) context.close().catch(() => {})
        },
      }
    } catch (cause) {
      if (!own) context.close().catch(() => {})
      throw cause
    }
  }
}

/** Loads the worklet's module, once for each context. */
function moduleIn(context: AudioContext, url: string): Promise<void> {
  const modules = loaded.get(context) ?? new Map<string, Promise<void>>()
  loaded.set(context, modules)
  const known = modules.get(url)
  if (known) return known
  const loading = context.audioWorklet.addModule(url).catch((cause: unknown) => {
    modules.delete(url) // another try may succeed
    throw partError("noise_processor_failed", "Noise processor failed", `the module of the noise gate could not be loaded: ${messageOf(cause)}`, { cause, retryable: true })
  })
  modules.set(url, loading)
  return loading
}
