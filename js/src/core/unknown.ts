import { localError } from "./errors.js"
import { sessionNames } from "../generated/names.js"

/**
 * Throws `bad_request` for a name that is not known, such as a typo, which would otherwise be
 * an option that is absent. Undefined and null values are ignored. `place` is in front of the
 * names in the message.
 */
export function checkNames(given: object, known: readonly string[], place = ""): void {
  for (const [name, value] of Object.entries(given)) {
    if (value == null || known.includes(name)) continue
    const near = nearest(name, known)
    const advice = place === "" && ofAppInit.includes(name) ? ": it is one of appInit, which returns what a session needs" : near === undefined ? "" : `: did you mean ${place}${near}?`
    throw localError("bad_request", `there is no option ${place}${name}${advice}`)
  }
}

/** Options of `appInit` that a page may give to a session by mistake. */
const ofAppInit: readonly string[] = ["agenticUrl", "keepToken", "ovpUrl", "widgetId"]

/** Options of the reference client with which a page replaces parts of it. */
export const injected = [
  "socketFactory",
  "rtcConstructor",
  "rtcRtpReceiverConstructor",
  "mediaStreamConstructor",
  "fetch",
  "getUserMedia",
  "getAudioContext",
  "now",
  "transportFactories",
] as const

/** The names that a session accepts: its options, and those that it ignores. */
export const sessionOptions: readonly string[] = ["token", ...sessionNames, ...injected]

/**
 * A reply of `appInit` that a server passes on, without what it may have besides: the service may add flags at any time.
 * Throws `bad_request` for anything else, such as a `Response` that was not read.
 */
export function knownReply<T extends object>(reply: T | null | undefined): T {
  if (typeof reply !== "object" || !("ks" in { ...reply })) throw localError("bad_request", "init must be the reply of appInit, an object with ks")
  return Object.fromEntries(Object.entries(reply as T).filter(([name]) => sessionOptions.includes(name))) as T
}

/** The known name that differs in the fewest letters, if they are few. */
function nearest(name: string, known: readonly string[]): string | undefined {
  let limit = Math.min(4, name.length / 2)
  let best: string | undefined
  for (const each of known) {
    if (Math.abs(each.length - name.length) >= limit) continue
    const letters = distance(name.toLowerCase(), each.toLowerCase())
    if (letters < limit) [best, limit] = [each, letters]
  }
  return best
}

/** How many letters must be added, removed or replaced to make one text of the other. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i)
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j++) next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + Number(from[i] !== to[j])))
    row = next
  }
  return row.at(-1)!
}
