// What the agent starts by itself, in the reference client's form.
import { localError } from "../core/errors.js"
import type { ToolCall } from "../generated/events.js"
import { isObject } from "../segments/plain.js"
import type { AgentAction } from "../generated/settings.js"
import { isKnownRuntime, namesOf } from "./runtimes.js"
import { parseToolCall, withMetadata, type CompatToolCall, type SegmentLike } from "./tools.js"

/** The kinds of actions. */
export type CompatActionType = "tool-call" | "navigate" | "structured-data-form" | "render-genui"

/** Something that the agent starts by itself. */
export interface CompatAction {
  type: CompatActionType
  /** The name of the tool, or of the runtime without `-tool`. */
  runtime: string
  /** The same as the service sends it. */
  runtimeName: string
  /** `""` for a tool call. */
  widgetName: string
  /** The call, or the content of the segment. */
  payload: unknown
}

/** The action that a segment would start; null for none. */
export function classifyAgentAction(segment: SegmentLike | null | undefined): CompatAction | null {
  if (!isObject(segment)) return null
  const { type, content, payload } = segment as Record<string, unknown>
  if (type === "tool") {
    const call = parseToolCall(segment)
    return call && { type: "tool-call", runtime: call.name, runtimeName: call.name, widgetName: "", payload: call }
  }
  const names = namesOf(segment)
  const { runtime } = names
  if (type === "navigate") return { type: "navigate", ...names, payload: content ?? payload ?? null }
  if (runtime === "user-properties-form") return { type: "structured-data-form", ...names, payload: content ?? null }
  return runtime !== "" ? { type: "render-genui", ...names, payload: content ?? null } : null
}

const types: Readonly<Record<AgentAction["type"], CompatActionType>> = {
  toolCall: "tool-call", navigate: "navigate", structuredDataForm: "structured-data-form", genui: "render-genui",
}

/** The name of a kind of action of the runtime in the reference client. */
export const typeOf = (type: string): string => (Object.hasOwn(types, type) ? types[type as AgentAction["type"]] : type)

/** A call of the runtime in the reference client's form. */
export function callOf({ name, args, raw, fusedArgs, toolMetadata: { id, type, waitForResponse } }: ToolCall): CompatToolCall {
  return withMetadata({ name, args, raw, ...(fusedArgs && { fusedArgs }) }, { id, type, wait_for_response: waitForResponse })
}

/** An action of the runtime in the reference client's form, in which a link is drawn like any widget. */
export function actionOf({ type, toolName = "", runtime = toolName, runtimeName = runtime, widgetName = "", payload, call }: AgentAction): CompatAction & { source: "agent" } {
  return { type: isKnownRuntime(runtime) && type === "navigate" ? "render-genui" : (typeOf(type) as CompatActionType), runtime, runtimeName, widgetName, payload: call ? callOf(call) : (payload ?? null), source: "agent" }
}

/** What is allowed of a kind of action. */
type Allowed = boolean | "off" | "on" | null | undefined

/** What the agent may start by itself; what is not set is allowed. A kind may also have the name that actions have. */
export interface CompatPolicy {
  navigate?: Allowed
  genui?: Allowed
  "render-genui"?: Allowed
  structuredDataForm?: Allowed
  "structured-data-form"?: Allowed
  /** A list names the only tools that are allowed. */
  toolCall?: Allowed | readonly string[]
  "tool-call"?: Allowed | readonly string[]
}

const keys: Readonly<Record<keyof CompatPolicy, CompatActionType>> = {
  navigate: "navigate", genui: "render-genui", "render-genui": "render-genui", structuredDataForm: "structured-data-form",
  "structured-data-form": "structured-data-form", toolCall: "tool-call", "tool-call": "tool-call",
}

/** Returns a policy by the kinds of actions. Throws `bad_request` for one that would not veto what it names. */
export function policyOf(policy: CompatPolicy | null | undefined): ReadonlyMap<string, unknown> {
  if (policy == null) return new Map()
  if (!isObject(policy)) throw localError("bad_request", "the policy of actions must be an object")
  return new Map(Object.entries(policy).filter(([, allowed]) => allowed != null).map(([key, allowed]) => {
    const type = Object.hasOwn(keys, key) ? keys[key as keyof CompatPolicy] : undefined
    if (type === undefined) throw localError("bad_request", `the policy of actions has no key ${key}; use navigate, genui, structuredDataForm, toolCall`)
    const fits = typeof allowed === "boolean" || allowed === "off" || allowed === "on" || (type === "tool-call" && Array.isArray(allowed))
    if (!fits) throw localError("bad_request", `${key} of the policy of actions must be true, false or "off"${type === "tool-call" ? ", or the names of tools" : ""}`)
    return [type, allowed]
  }))
}

/** Why a policy refuses an action; undefined when it allows it. */
export function refusal(policy: ReadonlyMap<string, unknown>, { type, runtime }: CompatAction): string | undefined {
  // A link is a widget that leads away: either switch turns it off.
  for (const each of runtime === "show-link" ? [type, "navigate"] : [type]) {
    const allowed = policy.get(each)
    if (allowed === false || allowed === "off") return `${each} is switched off`
    if (Array.isArray(allowed) && !allowed.includes(runtime)) return `the tool ${runtime} is not on the list`
  }
  return undefined
}
