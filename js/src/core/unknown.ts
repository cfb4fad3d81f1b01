import { localError } from "./errors.js"
import { nearest } from "./nearest.js"
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
