import { nearest } from "../core/nearest.js"
import { givenOf, plainOf } from "../core/options.js"
import type { Check } from "../generated/settings.js"
import { bad, isObject } from "./fault.js"

/** What the properties of an input must be, by their names; `any` is checked where it is used. A type without one of its names here does not compile. */
export type Checks<Input> = Readonly<Record<keyof Input, Check | "any">>

/** The last argument of every call. */
export interface CallSettings {
  /** Ends the call with code `aborted`. */
  signal?: AbortSignal | undefined
}

/** The types of these settings. */
export const callChecks: Checks<CallSettings> = { signal: "object" }

/**
 * Returns an input that was checked. Throws `bad_request` unless it is an object, for a property of another type, and for
 * one that does not exist, such as a typo, which would otherwise have no effect. `what` begins the message.
 */
export function given<Input extends object>(what: string, value: Input | null | undefined, checks: Checks<Input>): Input {
  const names = Object.keys(checks)
  if (!isObject(value)) throw bad(`${what} must be an object { ${names.join(", ")} }`)
  const set = givenOf(value)
  const unknown = Object.keys(set).find((name) => !names.includes(name))
  if (unknown !== undefined) {
    const near = nearest(unknown, names)
    throw bad(`${what} must not have ${unknown}: ${near === undefined ? `use only ${names.join(", ")}` : `did you mean ${near}?`}`)
  }
  plainOf(set, Object.fromEntries(Object.entries(checks).filter((entry): entry is [string, Check] => entry[1] !== "any")))
  return value
}

/** The settings of a call, `{}` if there are none. Throws like {@link given}. */
export function settingsOf<Settings extends object>(value: Settings | null | undefined, checks: Checks<Settings>): Settings {
  return given("the settings", value ?? ({} as Settings), checks)
}

/** A copy with some properties of an input. */
export const picked = <Input extends object>(value: Input, checks: Checks<Input>): Input => Object.fromEntries(Object.entries(value).filter(([name]) => name in checks)) as Input
