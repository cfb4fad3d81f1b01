/** Options of every asynchronous method. */
export interface CallOptions {
  /** Ends the call with code `aborted`. */
  signal?: AbortSignal | undefined
}

/** What one signal aborts, and the listener that does it. */
interface Reactions {
  readonly all: Set<() => void>
  readonly run: () => void
}

// One listener for each signal: Node.js, and so jsdom, warns of a signal with more than ten.
const known = new WeakMap<AbortSignal, Reactions>()

/** Calls react when signal is aborted, but not for one that is aborted already. Returns a function that prevents it. */
export function onAbort(signal: AbortSignal | null | undefined, react: () => void): () => void {
  if (!signal) return () => {}
  const { all, run } = known.get(signal) ?? listen(signal)
  const own = () => react() // the same function may be added twice
  all.add(own)
  return () => {
    if (!all.delete(own) || all.size > 0) return
    known.delete(signal)
    signal.removeEventListener("abort", run)
  }
}

function listen(signal: AbortSignal): Reactions {
  const all = new Set<() => void>()
  const run = () => {
    known.delete(signal)
    for (const each of [...all]) each()
  }
  known.set(signal, { all, run })
  signal.addEventListener("abort", run, { once: true })
  return { all, run }
}
